import { sql } from 'kysely';
import {
  canonical,
  isJson,
  type Json,
  objectsOf,
  textOf,
} from '#record-summary/fhir';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  type ConsolidatedResource,
  readResources,
} from '../../records/reading/read-consolidated.ts';
import {
  type FoundPlace,
  findResources,
  readChangeTimes,
  searchLeading,
} from '../../records/reading/record-search-store.ts';
import { provenanceOf } from '../../records/rules/provenance.ts';
import {
  parseLocalReference,
  referencesIn,
} from '../../records/rules/references.ts';
import { matchesAll, searchEntries } from '../../records/rules/search.ts';
import { inUsCore } from '../../records/rules/us-core/us-core.ts';
import type { SearchRequest } from './rules/search-request.ts';

export interface RecordPage<Place = FoundPlace> {
  matches: ServedResource[];
  /** Undefined after the last page. */
  next?: Place;
}

/**
 * Rows looked at for one page at most: a page may come short, and even empty,
 * and still have a next one.
 */
const LOOKED_AT_MAX = 2_000;

/**
 * A page of the resources of one type in a patient's record that match the
 * search, in its order.
 */
export async function searchRecord(
  tx: AccountTx,
  {
    patientId,
    resourceType,
    request,
  }: { patientId: string; resourceType: string; request: SearchRequest },
  after: FoundPlace | undefined,
): Promise<RecordPage> {
  const {
    clauses,
    lastUpdated,
    ids,
    sort,
    count,
    keeps = () => true,
  } = request;
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
    matches.push(
      ...served.filter(
        ({ json }) => matchesAll(searchEntries(json), clauses) && keeps(json),
      ),
    );
    if (read === found.length && read < wanted) return { matches };
    place = found[read - 1];
    lookedAt += read;
    // Large resources make a short page.
    if (matches.length >= count || read < found.length) break;
  }
  return { matches, next: place };
}

/**
 * Included resources of one page at most. Fewer when they are too large to hold
 * at once.
 */
export const INCLUDED_MAX = 1_000;

/**
 * The resources that `matches` refer to at these elements, each once and
 * without the matches themselves; and how many further ones they refer to.
 */
export async function readIncluded(
  tx: AccountTx,
  patientId: string,
  matches: readonly ServedResource[],
  include: SearchRequest['include'],
  mayInclude: (resourceType: string) => boolean,
): Promise<{ resources: ServedResource[]; leftOut: number }> {
  const known = new Set(matches.map(({ id }) => id));
  const wanted = new Map<string, { resourceType: string; id: string }>();
  for (const { json } of matches)
    for (const { path, target: only } of include)
      for (const reference of path === '*'
        ? referencesIn(json)
        : referencesAt(json, path.split('.'))) {
        const target = parseLocalReference(reference);
        if (
          target === undefined ||
          known.has(target.id) ||
          !mayInclude(target.type)
        )
          continue;
        if (only !== undefined && only !== target.type) continue;
        wanted.set(target.id, { resourceType: target.type, id: target.id });
      }
  const targets = [...wanted.values()].slice(0, INCLUDED_MAX);
  const { served, read } = await readSomeServed(tx, patientId, targets);
  return { resources: served, leftOut: wanted.size - read };
}

function referencesAt(
  value: unknown,
  [name, ...rest]: readonly string[],
): string[] {
  if (name === undefined)
    return objectsOf(value).flatMap(({ reference }) => textOf(reference) ?? []);
  return objectsOf(value).flatMap((item) => referencesAt(item[name], rest));
}

/**
 * The resources with these ids by patient, without those that have gone or are
 * of another type.
 */
export async function placesOfIds(
  tx: AccountTx,
  resourceType: string,
  ids: readonly string[],
): Promise<Map<string, string[]>> {
  const byPatient = new Map<string, string[]>();
  for (const standing of await findResources(tx, ids)) {
    if (standing.goneAt !== null || standing.resourceType !== resourceType)
      continue;
    if (!ids.includes(standing.resourceId)) continue;
    byPatient.set(standing.patientId, [
      ...(byPatient.get(standing.patientId) ?? []),
      standing.resourceId,
    ]);
  }
  return byPatient;
}

/**
 * A consolidated resource as the FHIR API gives it: with the profiles that it
 * conforms to; `meta.lastUpdated` is when it last changed in our record.
 */
export interface ServedResource extends ConsolidatedResource {
  json: Json;
  changedAt: Date;
}

/**
 * Reads these resources of a patient's record, in this order, without those
 * that no longer exist.
 *
 * @throws NotFoundError when the patient does not exist
 */
export async function readServed(
  tx: AccountTx,
  patientId: string,
  wanted: readonly { resourceType: string; id: string }[],
): Promise<ServedResource[]> {
  const all: ServedResource[] = [];
  for (let from = 0; from < wanted.length; ) {
    const { served, read } = await readSomeServed(
      tx,
      patientId,
      wanted.slice(from),
    );
    all.push(...served);
    from += read;
  }
  return all;
}

/**
 * The same for those that are not too large to hold at once. `read`: how many
 * of them were read, at least one.
 */
export async function readSomeServed(
  tx: AccountTx,
  patientId: string,
  wanted: readonly { resourceType: string; id: string }[],
): Promise<{ served: ServedResource[]; read: number }> {
  if (wanted.length === 0) return { served: [], read: 0 };
  const { resources, read } = await readResources(tx, patientId, wanted);
  return { served: await asServed(tx, patientId, [...resources]), read };
}

/** Adds the times of change to resources of one record. */
export async function asServed(
  tx: AccountTx,
  patientId: string,
  resources: readonly ConsolidatedResource[],
): Promise<ServedResource[]> {
  const times = await readChangeTimes(
    tx,
    patientId,
    resources.map(({ id }) => id),
  );
  const served: ServedResource[] = [];
  for (const resource of resources) {
    const known = times.get(resource.id) ?? new Date(0);
    const changedAt =
      resource.id === patientId
        ? await patientChangedAt(tx, patientId, known)
        : known;
    const content = resource.content as unknown as Json;
    served.push({
      ...resource,
      changedAt,
      json: withLastUpdated(content, changedAt),
    });
  }
  return served;
}

/**
 * The Provenance that is generated for a resource; undefined for a Provenance,
 * and for what no source delivered.
 */
export function servedProvenance(
  resource: ServedResource,
  patientId: string,
): Json | undefined {
  if (resource.origins.length === 0 || resource.resourceType === 'Provenance')
    return undefined;
  const provenance = provenanceOf(resource, patientId);
  return withLastUpdated(provenance, resource.changedAt, provenance);
}

/**
 * The content has its keys in canonical order already; only what is new here is
 * brought into it.
 */
function withLastUpdated(
  content: Json,
  at: Date,
  claiming = inUsCore(content),
): Json {
  const { meta, ...rest } = claiming;
  const served: Json = {
    ...rest,
    meta: { ...(isJson(meta) ? meta : {}), lastUpdated: at.toISOString() },
  };
  const keys = Object.keys(served).sort();
  return Object.fromEntries(
    keys.map((key) => [
      key,
      served[key] === content[key] ? served[key] : canonical(served[key]),
    ]),
  );
}

/** The Patient also changes with the caller's demographics. */
async function patientChangedAt(
  tx: AccountTx,
  patientId: string,
  record: Date,
): Promise<Date> {
  const { rows } = await sql<{ at: Date }>`
    select date_trunc('milliseconds', updated_at) as at from patient where id = ${patientId}`.execute(
    tx.db,
  );
  const own = rows[0]?.at ?? record;
  return own > record ? own : record;
}
