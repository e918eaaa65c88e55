import type { AccountTx } from '../../platform/database/database.ts';
import { type FoundPlace, findResources, searchLeading } from '../../records/reading/record-search-store.ts';
import { isJson, type Json, objectsOf, textOf } from '../../records/rules/json.ts';
import { parseLocalReference, referencesIn } from '../../records/rules/references.ts';
import { matchesAll, searchEntries } from '../../records/rules/search.ts';
import type { SearchRequest } from './rules/search-request.ts';
import { readSomeServed, type ServedResource } from './served-resources.ts';

export interface RecordPage {
  matches: ServedResource[];
  /** Undefined after the last page. */
  next?: FoundPlace;
}

/** Rows looked at for one page at most: a page may come short, and even empty, and still have a next one. */
const LOOKED_AT_MAX = 2_000;

/** A page of the resources of one type in a patient's record that match the search, in its order. */
export async function searchRecord(
  tx: AccountTx,
  { patientId, resourceType, request }: { patientId: string; resourceType: string; request: SearchRequest },
  after: FoundPlace | undefined,
): Promise<RecordPage> {
  const { clauses, lastUpdated, ids, sort, count } = request;
  const matches: ServedResource[] = [];
  let place = after;
  for (let lookedAt = 0; lookedAt < LOOKED_AT_MAX; ) {
    const wanted = count - matches.length;
    const search = { resourceType, clauses, lastUpdated, ids, sort };
    const found = await searchLeading(tx, patientId, search, place, wanted);
    const { served, read } = await readSomeServed(
      tx,
      patientId,
      found.map(({ id }) => ({ resourceType, id })),
    );
    matches.push(...served.filter(({ json }) => matchesAll(searchEntries(json), clauses)));
    if (read === found.length && read < wanted) return { matches };
    place = found[read - 1];
    lookedAt += read;
    // Large resources make a short page.
    if (matches.length >= count || read < found.length) break;
  }
  return { matches, next: place };
}

/** Included resources of one page at most. Fewer when they are too large to hold at once. */
export const INCLUDED_MAX = 1_000;

export interface Included {
  resources: ServedResource[];
  /** How many further ones the matches refer to. */
  leftOut: number;
}

/** The resources that `matches` refer to at these elements, each once and without the matches themselves. */
export async function readIncluded(
  tx: AccountTx,
  patientId: string,
  matches: readonly ServedResource[],
  paths: readonly string[],
  mayInclude: (resourceType: string) => boolean,
): Promise<Included> {
  const known = new Set(matches.map(({ id }) => id));
  const wanted = new Map<string, { resourceType: string; id: string }>();
  for (const { json } of matches)
    for (const path of paths)
      for (const reference of path === '*' ? referencesIn(json) : referencesAt(json, path.split('.'))) {
        const target = parseLocalReference(reference);
        if (target === undefined || known.has(target.id) || !mayInclude(target.type)) continue;
        wanted.set(target.id, { resourceType: target.type, id: target.id });
      }
  const targets = [...wanted.values()].slice(0, INCLUDED_MAX);
  const { served, read } = await readSomeServed(tx, patientId, targets);
  return { resources: served, leftOut: wanted.size - read };
}

function referencesAt(value: unknown, [name, ...rest]: readonly string[]): string[] {
  if (name === undefined) return objectsOf(value).flatMap(({ reference }) => textOf(reference) ?? []);
  const items: Json[] = Array.isArray(value) ? objectsOf(value) : isJson(value) ? [value] : [];
  return items.flatMap((item) => referencesAt(item[name], rest));
}

/** The resources with these ids by patient, without those that have gone or are of another type. */
export async function placesOfIds(
  tx: AccountTx,
  resourceType: string,
  ids: readonly string[],
): Promise<Map<string, string[]>> {
  const byPatient = new Map<string, string[]>();
  for (const standing of await findResources(tx, ids)) {
    if (standing.goneAt !== null || standing.resourceType !== resourceType) continue;
    if (!ids.includes(standing.resourceId)) continue;
    byPatient.set(standing.patientId, [...(byPatient.get(standing.patientId) ?? []), standing.resourceId]);
  }
  return byPatient;
}
