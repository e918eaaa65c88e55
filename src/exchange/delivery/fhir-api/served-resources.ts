import { sql } from 'kysely';
import type { AccountTx } from '../../platform/database/database.ts';
import { type ConsolidatedResource, readResources } from '../../records/reading/read-consolidated.ts';
import { readChangeTimes } from '../../records/reading/record-search-store.ts';
import { canonical, isJson, type Json } from '../../records/rules/json.ts';
import { provenanceOf } from '../../records/rules/provenance.ts';
import { inUsCore } from '../../records/rules/us-core/us-core.ts';

/** A consolidated resource as the FHIR API gives it: with the profiles that it conforms to; `meta.lastUpdated` is when it last changed in our record. */
export interface ServedResource extends ConsolidatedResource {
  json: Json;
  changedAt: Date;
}

/**
 * Reads these resources of a patient's record, in this order, without those that no longer exist.
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
    const { served, read } = await readSomeServed(tx, patientId, wanted.slice(from));
    all.push(...served);
    from += read;
  }
  return all;
}

/** The same for those that are not too large to hold at once. `read`: how many of them were read, at least one. */
export async function readSomeServed(
  tx: AccountTx,
  patientId: string,
  wanted: readonly { resourceType: string; id: string }[],
): Promise<{ served: ServedResource[]; read: number }> {
  if (wanted.length === 0) return { served: [], read: 0 };
  const { resources, read } = await readResources(tx, patientId, wanted);
  return { served: await asServed(tx, patientId, resources), read };
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
    const changedAt = resource.id === patientId ? await patientChangedAt(tx, patientId, known) : known;
    const content = resource.content as unknown as Json;
    served.push({ ...resource, changedAt, json: withLastUpdated(content, changedAt) });
  }
  return served;
}

/** The Provenance that is generated for a resource; undefined for a Provenance, and for what no source delivered. */
export function servedProvenance(resource: ServedResource, patientId: string): Json | undefined {
  if (resource.origins.length === 0 || resource.resourceType === 'Provenance') return undefined;
  return withLastUpdated(provenanceOf(resource, patientId), resource.changedAt);
}

/** The content has its keys in canonical order already; only what is new here is brought into it. */
function withLastUpdated(content: Json, at: Date): Json {
  const { meta, ...rest } = inUsCore(content);
  const served: Json = {
    ...rest,
    meta: { ...(isJson(meta) ? meta : {}), lastUpdated: at.toISOString() },
  };
  const keys = Object.keys(served).sort();
  return Object.fromEntries(
    keys.map((key) => [key, served[key] === content[key] ? served[key] : canonical(served[key])]),
  );
}

/** The Patient also changes with the caller's demographics. */
async function patientChangedAt(tx: AccountTx, patientId: string, record: Date): Promise<Date> {
  const { rows } = await sql<{ at: Date }>`
    select date_trunc('milliseconds', updated_at) as at from patient where id = ${patientId}`.execute(tx.db);
  const own = rows[0]?.at ?? record;
  return own > record ? own : record;
}
