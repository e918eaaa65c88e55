import { meaningOf, valueIn } from './codes.ts';
import { isJson, type Json, objectsOf } from './json.ts';
import { digitsOf, measureOf } from './measures.ts';
import type { Member } from './member.ts';

/**
 * The leading Observation with the most precise of the group's numbers. Numbers from other, converted documents are not
 * used: they often have more digits than were measured.
 *
 * @param members deliveries of one group, whose numbers agree; the leading one first
 */
export function withPreciseValues(members: readonly Member[]): Json {
  const [leader, ...others] = members;
  if (leader === undefined) return {};
  const native = others.filter(({ isConverted }) => isConverted !== true).map(({ content }) => content);
  if (native.length === 0) return leader.content;
  const precise = preciser(leader.content, native);
  if (!Array.isArray(leader.content.component)) return precise;
  const parts = native.flatMap(({ component }) => objectsOf(component));
  const component = objectsOf(leader.content.component).map((part) =>
    preciser(
      part,
      parts.filter(({ code }) => meaningOf(code) === meaningOf(part.code)),
    ),
  );
  return { ...precise, component };
}

function preciser(own: Json, others: readonly Json[]): Json {
  const known = valueIn(own);
  if (known === undefined || measureOf(known.value) === undefined) return own;
  let [best, digits] = [known, digitsIn(known.value)];
  for (const other of others) {
    const found = valueIn(other);
    if (found === undefined || digitsIn(found.value) <= digits) continue;
    [best, digits] = [found, digitsIn(found.value)];
  }
  if (best === known) return own;
  const { [known.name]: _coarse, ...rest } = own;
  return { ...rest, [best.name]: best.value };
}

function digitsIn(value: unknown): number {
  const number = isJson(value) ? value.value : value;
  return typeof number === 'number' ? digitsOf(number) : 0;
}
