import {
  canonical,
  canonicalJson,
  codeSystem,
  comparableUnit,
  fromBaseUnits,
  inBaseUnits,
  isJson,
  type Json,
  meaningOf,
  measureOf,
  objectsOf,
  PREFERRED_UNITS,
  significantDigits,
  sorted,
  textOf,
  ucumUnit,
  valueElement,
} from '#record-summary/fhir';
import { lookupTable } from '../../../lib/lookup-table.ts';
import { reactionKey } from './assertions.ts';
import { FILLED } from './filled-elements.ts';
import { mainElement } from './fingerprints.ts';
import { type Resolve, rewriteReferences } from './references.ts';

/** A delivery of a group, with all that folding needs. */
export interface Member {
  source: string;
  /** File name of the document that contained it. */
  fileName: string;
  /** Whether it was converted from a C-CDA document. */
  isConverted?: boolean;
  content: Json;
}

/**
 * Folds the deliveries of one thing, the leading one first, into one resource.
 * The leading delivery's content stands; the others add identifiers, security
 * labels, and elements that it lacks (`FILLED`). Keys are in
 * canonical order.
 *
 * @param patientId our id of the person; references to the person's Patients at
 *   a source become references to it
 */
export function foldGroup(
  id: string,
  members: readonly Member[],
  patientId: string,
  resolve: Resolve,
): Json {
  const [leader, ...others] = members;
  if (leader === undefined) throw new Error('a group has at least one member');
  const type = textOf(leader.content.resourceType) ?? '';
  const content =
    type === 'Observation'
      ? withDerivedValues(withPreciseValues(members))
      : leader.content;
  const folded: Record<string, unknown> = rewriteReferences(
    leader,
    content,
    patientId,
    resolve,
  );
  for (const other of others) {
    for (const element of FILLED[type] ?? []) {
      const value = other.content[element];
      if (
        value === undefined ||
        folded[element] !== undefined ||
        folded[`_${element}`] !== undefined
      )
        continue;
      if (element === 'reaction' && leader.content.code === undefined) continue;
      if (
        element === 'referenceRange' &&
        scaleOf(other.content) !== scaleOf(leader.content)
      )
        continue;
      // It follows from the section of the document, in which questionnaires
      // stand among results of the laboratory.
      if (
        element === 'category' &&
        type === 'DiagnosticReport' &&
        other.isConverted === true
      )
        continue;
      // A reference to a contained resource of the other delivery could not be
      // resolved here.
      if (!pointsInside(value))
        folded[element] = rewriteReferences(other, value, patientId, resolve);
    }
  }
  if (type === 'AllergyIntolerance' && leader.content.code !== undefined)
    uniteReactions(folded, others, patientId, resolve);
  if (others.length > 0) uniteCodes(folded, mainElement(type), others);
  if (others.length > 0) unite(folded, members, patientId, resolve);
  folded.id = id;
  folded.meta = canonical(metaOf(members));
  // Its members are in canonical order.
  return sorted(folded);
}

/**
 * Adds the reactions that the leading delivery does not name, and the severity of
 * those of which it states none.
 */
function uniteReactions(
  folded: Record<string, unknown>,
  others: readonly Member[],
  patientId: string,
  resolve: Resolve,
): void {
  for (const other of others) {
    const known = objectsOf(folded.reaction);
    const theirs = objectsOf(other.content.reaction).map(
      (each) => rewriteReferences(other, each, patientId, resolve) as Json,
    );
    const severityOf = (reaction: Json) =>
      theirs.find((each) => reactionKey(each) === reactionKey(reaction))
        ?.severity;
    const names = new Set(known.map(reactionKey));
    const united = known
      .map((each) =>
        each.severity === undefined && severityOf(each) !== undefined
          ? { ...each, severity: severityOf(each) }
          : each,
      )
      .concat(theirs.filter((each) => !names.has(reactionKey(each))));
    if (united.length > 0) folded.reaction = united;
  }
}

/**
 * Adds the codes of systems in which the leading delivery names the thing not
 * at all, and further codes beside all of its own.
 */
function uniteCodes(
  folded: Record<string, unknown>,
  element: string,
  others: readonly Member[],
): void {
  const concept = folded[element];
  if (!isJson(concept)) return;
  const coding = [...objectsOf(concept.coding)];
  const codesIn = (of: readonly Json[], name: string) =>
    of
      .filter(({ system }) => codeSystem(system) === name)
      .flatMap(({ code }) => textOf(code) ?? []);
  for (const { content } of others) {
    const own = content[element];
    if (!isJson(own)) continue;
    const theirs = objectsOf(own.coding);
    const known = [...coding];
    const isNew = ({ system, code }: Json): boolean => {
      if (code === undefined || system === undefined) return false;
      const name = codeSystem(system);
      const ours = codesIn(known, name);
      const all = codesIn(theirs, name);
      return (
        !ours.includes(String(code)) && ours.every((each) => all.includes(each))
      );
    };
    coding.push(...theirs.filter(isNew).map((each) => canonical(each) as Json));
  }
  if (coding.length > objectsOf(concept.coding).length)
    folded[element] = { ...concept, coding };
}

function unite(
  folded: Record<string, unknown>,
  members: readonly Member[],
  patientId: string,
  resolve: Resolve,
): void {
  // In some types `identifier` is a single object, which is not united.
  if (!members.some(({ content }) => Array.isArray(content.identifier))) return;
  const identifiers = new Map<string, unknown>();
  for (const member of members) {
    for (const identifier of objectsOf(member.content.identifier)) {
      const name = canonicalJson([identifier.system, identifier.value]);
      if (!identifiers.has(name))
        identifiers.set(
          name,
          rewriteReferences(member, identifier, patientId, resolve),
        );
    }
  }
  folded.identifier = [...identifiers.values()];
}

/**
 * `meta`: the leader's lastUpdated, profiles and time of its document, all
 * members' labels, and the leader's file name as source.
 */
function metaOf(members: readonly Member[]): Json {
  const leading = members[0]?.content.meta;
  const { lastUpdated, profile } = isJson(leading) ? leading : {};
  return {
    ...(lastUpdated === undefined ? {} : { lastUpdated }),
    ...(profile === undefined ? {} : { profile }),
    ...labelsOf(members),
    ...(members[0]?.isConverted === true &&
      isJson(leading) &&
      leading.extension !== undefined && { extension: leading.extension }),
    source: members[0]?.fileName,
  };
}

/** The security labels and tags of all members. */
export function labelsOf(members: readonly Member[]): Json {
  const metas = members.map(({ content }) =>
    isJson(content.meta) ? content.meta : {},
  );
  const union = (name: 'security' | 'tag') => {
    const all = new Map<string, Json>();
    for (const label of metas.flatMap((meta) => objectsOf(meta[name])))
      all.set(canonicalJson(label), label);
    const sorted = [...all.entries()].sort(([left], [right]) =>
      left < right ? -1 : 1,
    );
    return sorted.length === 0
      ? {}
      : { [name]: sorted.map(([, label]) => label) };
  };
  return { ...union('security'), ...union('tag') };
}

function pointsInside(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(pointsInside);
  if (!isJson(value)) return false;
  if (typeof value.reference === 'string' && value.reference.startsWith('#'))
    return true;
  return Object.values(value).some(pointsInside);
}

/**
 * The leading Observation with the most precise of the group's numbers in its
 * unit. Numbers from other, converted documents are not used: they often have
 * more digits than were measured.
 *
 * @param members deliveries of one group, whose numbers agree; the leading one
 *   first
 */
function withPreciseValues(members: readonly Member[]): Json {
  const [leader, ...others] = members;
  if (leader === undefined) return {};
  const native = others
    .filter(({ isConverted }) => isConverted !== true)
    .map(({ content }) => content);
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
  const known = valueElement(own);
  if (known === undefined || measureOf(known.value) === undefined) return own;
  let best = known;
  let digits = digitsIn(known.value);
  for (const other of others) {
    const found = valueElement(other);
    if (
      found === undefined ||
      digitsIn(found.value) <= digits ||
      scaleOf(other) !== scaleOf(own)
    )
      continue;
    [best, digits] = [found, digitsIn(found.value)];
  }
  if (best === known) return own;
  const { [known.name]: _coarse, ...rest } = own;
  return { ...rest, [best.name]: best.value };
}

/**
 * The unit of a value, however it is spelled. The numbers of the reference
 * range beside it are in it too, and often do not say so.
 */
function scaleOf({ valueQuantity, code }: Json): string {
  const one = measureOf(
    isJson(valueQuantity) ? { ...valueQuantity, value: 1 } : 1,
    code,
  );
  return `${one?.value} ${one?.unit}`;
}

function digitsIn(value: unknown): number {
  const number = isJson(value) ? value.value : value;
  return typeof number === 'number' ? significantDigits(number) : 0;
}

const DERIVED = 'urn:medical-exchange:derived-quantity';
const PREFERRED = lookupTable(PREFERRED_UNITS);

/**
 * An Observation whose quantities carry, as an extension, the same amount in
 * the one unit that `PREFERRED_UNITS` has for what they measure: derived by us,
 * beside the source's number and unit. Those that are in that unit, or in an
 * unknown one, are as they were.
 */
function withDerivedValues(observation: Json): Json {
  const own = withDerived(observation);
  if (!Array.isArray(own.component)) return own;
  return { ...own, component: objectsOf(own.component).map(withDerived) };
}

function withDerived(part: Json): Json {
  const { valueQuantity } = part;
  const derived = isJson(valueQuantity)
    ? derivedFrom(valueQuantity)
    : undefined;
  if (!isJson(valueQuantity) || derived === undefined) return part;
  const extension = [
    ...objectsOf(valueQuantity.extension),
    { url: DERIVED, valueQuantity: derived },
  ];
  return { ...part, valueQuantity: { ...valueQuantity, extension } };
}

function derivedFrom(quantity: Json): Json | undefined {
  const text = comparableUnit(quantity);
  const unit = ucumUnit(text);
  const code = PREFERRED[unit?.dimension ?? ''];
  const preferred = code === undefined ? undefined : ucumUnit(code);
  if (
    unit === undefined ||
    preferred === undefined ||
    text === code ||
    typeof quantity.value !== 'number'
  )
    return undefined;
  const value = fromBaseUnits(inBaseUnits(quantity.value, unit), preferred);
  const { comparator } = quantity;
  return {
    value,
    unit: code,
    system: 'http://unitsofmeasure.org',
    code,
    ...(comparator !== undefined && { comparator }),
  };
}
