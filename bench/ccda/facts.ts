import { isJson, type Json } from '#record-summary/fhir';

/**
 * Parts that say nothing of the patient, or that only the converter can name:
 * ids, profiles, narrative, targets of references.
 */
const LEFT_OUT = new Set([
  'id',
  'meta',
  'text.status',
  'text.div',
  'language',
  'resourceType',
  'fullUrl',
]);

/**
 * The leaves of a resource as `path = value`; positions in lists do not count,
 * references only by their being there.
 */
export function factsOf(resource: Json): string[] {
  const facts: string[] = [];
  const walk = (value: unknown, path: string): void => {
    if (LEFT_OUT.has(path)) return;
    if (Array.isArray(value)) for (const item of value) walk(item, path);
    else if (isJson(value)) {
      if (typeof value.reference === 'string')
        facts.push(`${path} = reference`);
      else
        for (const [name, part] of Object.entries(value))
          walk(part, path === '' ? name : `${path}.${name}`);
    } else if (value !== undefined && value !== null)
      facts.push(`${path} = ${plain(value)}`);
  };
  walk(resource, '');
  return facts;
}

/** A value for comparison: instants in UTC, words in lower case. */
function plain(value: unknown): string {
  const text = String(value);
  if (/^\d{4}-\d{2}-\d{2}T/.test(text) && !Number.isNaN(Date.parse(text)))
    return new Date(text).toISOString();
  return text.trim().toLowerCase();
}

export interface Score {
  facts: number;
  right: number;
  changed: number;
  lost: number;
}

/** @param note takes each fact that is not right */
export function compare(
  expected: Json,
  found: Json | undefined,
  note: (line: string) => void,
): Score {
  const ours = found === undefined ? [] : factsOf(found);
  const left = new Set(ours);
  const score = { facts: 0, right: 0, changed: 0, lost: 0 };
  for (const fact of factsOf(expected)) {
    score.facts += 1;
    const path = fact.slice(0, fact.indexOf(' = '));
    if (left.has(fact)) score.right += 1;
    else if (ours.some((own) => own.startsWith(`${path} = `))) {
      score.changed += 1;
      note(
        `changed ${fact}; ours: ${ours.filter((own) => own.startsWith(`${path} = `)).join(' | ')}`,
      );
    } else {
      score.lost += 1;
      note(`lost ${fact}`);
    }
  }
  return score;
}

export const sum = (scores: readonly Score[]): Score =>
  scores.reduce(
    (total, each) => ({
      facts: total.facts + each.facts,
      right: total.right + each.right,
      changed: total.changed + each.changed,
      lost: total.lost + each.lost,
    }),
    { facts: 0, right: 0, changed: 0, lost: 0 },
  );
