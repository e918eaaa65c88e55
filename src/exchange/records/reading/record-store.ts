import { sql } from 'kysely';
import { SYSTEM_SPELLINGS } from '#record-summary/fhir';
import {
  type AccountTx,
  type SystemTx,
  takeAdminRole,
} from '../../platform/database/database.ts';
import { sqlFile, uuidArray } from '../../platform/database/pg-arrays.ts';
import { ExchangeError } from '../../platform/errors.ts';
import { replacedDocuments } from '../deliveries/delivery-store.ts';
import type { ProvenanceOrigin } from '../rules/provenance.ts';

const READ_MEMBERS = sqlFile('read-members.sql', import.meta.url);

/**
 * SQL: whether a consolidated resource may leave: the patient's and the
 * account's policy on sensitive data does not withhold it
 * (docs/sensitive-data.md). What is read of a record, for whatever purpose, is
 * read under this condition.
 */
export const mayLeave = (
  tx: AccountTx,
  patientId: string,
  id = sql`resource_id`,
) => sql<boolean>`
  ${id} not in (select withheld_resources(${tx.accountId}, ${patientId}))`;

/**
 * SQL: whether a delivery leads its consolidated resource, as the index of these
 * has it. Of `true`, Kysely makes `leads is true`, for which PostgreSQL does not
 * take that index.
 */
export const LEADS = sql<boolean>`leads`;

/**
 * Restricts what is read; an empty filter reads everything. `docs/merge.md`
 * lists which date counts for which type.
 */
export interface ConsolidatedFilter {
  /**
   * FHIR resource types. The Patient is included if it is listed here, or if no
   * types are given.
   */
  types?: readonly string[];
  /** YYYY-MM-DD, inclusive. Undated resources are kept. */
  dateFrom?: string;
  /** YYYY-MM-DD, inclusive. */
  dateTo?: string;
}

/** The position after a page; plain JSON, opaque to callers. */
export interface ConsolidatedPlace {
  resourceType: string;
  sortDate: string;
  id: string;
}

/**
 * Up to `count` consolidated resources after `after`, without the Patient: by
 * type, newest first, undated last.
 */
export async function readLeading(
  tx: AccountTx,
  patientId: string,
  filter: ConsolidatedFilter,
  after: ConsolidatedPlace | undefined,
  count: number,
): Promise<ConsolidatedPlace[]> {
  const places = filtered(tx, patientId, filter)
    .select(['resource_type as resourceType', 'sort_date as sortDate'])
    .select(sql<string>`resource_id`.as('id'))
    .orderBy('resource_type')
    .orderBy('sort_date', 'desc')
    .orderBy('resource_id', 'desc');
  if (after === undefined) return places.limit(count).execute();
  // Each begins where the index has it; of the two conditions joined by `or`,
  // PostgreSQL would read all before `after`.
  const { resourceType, sortDate, id } = after;
  const sameType = await places
    .where('resource_type', '=', resourceType)
    .where(sql<boolean>`(sort_date, resource_id) < (${sortDate}, ${id}::uuid)`)
    .limit(count)
    .execute();
  if (sameType.length === count) return sameType;
  const further = places
    .where('resource_type', '>', resourceType)
    .limit(count - sameType.length);
  return [...sameType, ...(await further.execute())];
}

/** The number of consolidated resources per type, without the Patient. */
export async function countLeading(
  tx: AccountTx,
  patientId: string,
  filter: ConsolidatedFilter,
): Promise<{ resourceType: string; count: number }[]> {
  return filtered(tx, patientId, filter)
    .select('resource_type as resourceType')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .groupBy('resource_type')
    .orderBy('resource_type')
    .execute();
}

function filtered(
  tx: AccountTx,
  patientId: string,
  { types, dateFrom, dateTo }: ConsolidatedFilter,
) {
  let query = tx.db
    .selectFrom('merged_place')
    .where('patient_id', '=', patientId)
    .where(LEADS)
    .where(mayLeave(tx, patientId))
    .where('resource_type', '<>', 'Patient');
  if (types !== undefined)
    query = query.where(
      sql<boolean>`resource_type = any(${[...types]}::text[])`,
    );
  // Undated resources always match: a missing date must not hide an allergy.
  if (dateFrom !== undefined) {
    query = query.where(
      sql<boolean>`(date_to is null or date_to >= ${dateFrom}::date)`,
    );
  }
  if (dateTo !== undefined) {
    query = query.where(
      sql<boolean>`(date_from is null or date_from <= ${dateTo}::date)`,
    );
  }
  return query;
}

export interface RecordMember extends Omit<ProvenanceOrigin, 'superseded'> {
  resourceId: string;
  isSuperseded: boolean;
  content: Record<string, unknown>;
}

/**
 * What the deliveries of the resources read at once may have as text, apart
 * from the last resource.
 */
const READ_BYTES_MAX = 8_000_000;
/**
 * Stored larger than this, a value may be compressed to a hundredth of its
 * text.
 */
const STORED_AS_TEXT_MAX = 2_000;

/**
 * The deliveries of these consolidated resources, in order of rank: the leading
 * one of each comes first, those that a newer version has superseded last.
 * Stops with the resource that makes them too large to hold more at once, and
 * always reads one. The Patient does not count.
 *
 * @returns with `read`, the number of the resources whose deliveries were read,
 *   and `bytes`, what these may have as text
 */
export async function readMembers(
  tx: AccountTx,
  patientId: string,
  resourceIds: readonly string[],
): Promise<{ members: RecordMember[]; read: number; bytes: number }> {
  const { rows } = await READ_MEMBERS<
    RecordMember & { place: number; through: number }
  >({
    resourceIds: uuidArray(resourceIds),
    patientId,
    accountId: tx.accountId,
    mayLeave: mayLeave(tx, patientId),
    storedAsTextMax: STORED_AS_TEXT_MAX,
    most: READ_BYTES_MAX,
  }).execute(tx.db);
  const last = rows.find(({ through }) => through >= READ_BYTES_MAX);
  const bytes = rows.reduce((most, { through }) => Math.max(most, through), 0);
  return { members: rows, read: last?.place ?? resourceIds.length, bytes };
}

export interface SourceReference {
  source: string;
  type: string;
  id: string;
}

/**
 * The consolidated ids of resources given by their ids at the source, also of
 * withheld ones; without those not delivered or excluded.
 */
export async function resolveReferences(
  tx: AccountTx,
  patientId: string,
  targets: readonly SourceReference[],
): Promise<(SourceReference & { resourceId: string; mayLeave: boolean })[]> {
  if (targets.length === 0) return [];
  const { rows } = await sql<
    SourceReference & { resourceId: string; mayLeave: boolean }
  >`
    with n as materialized (select ${patientId}::uuid as patient_id, each.*
      from json_to_recordset(${JSON.stringify(targets)}::json) as each(source text, type text, id text))
    select source, type, id, resource_id as "resourceId", ${mayLeave(tx, patientId)} as "mayLeave"
    from (
      select n.source, n.type, n.id, o.resource_id from n
      cross join lateral (select resource_id from record_origin
        where patient_id = n.patient_id and source = n.source and resource_type = n.type and source_id = n.id
        limit 1) o
      union all
      select n.source, n.type, n.id, o.resource_id
      from n join packed_place o on o.source = n.source and o.resource_type = n.type and o.source_id = n.id
      where o.patient_id = ${patientId}
    ) as known
    where resource_id is not null`.execute(tx.db);
  return rows;
}

/**
 * The DocumentReferences of documents that their source has replaced, also where
 * only the header of the newer document says so.
 */
export async function readReplacedReferences(
  tx: AccountTx,
  patientId: string,
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select o.resource_id as id from (${replacedDocuments(patientId)}) as replaced
    join merged_place o on o.patient_id = ${patientId} and o.source = replaced.source
      and o.resource_type = 'DocumentReference' and o.source_id = replaced.source_id
    where o.resource_id is not null`.execute(tx.db);
  return rows.map(({ id }) => id);
}

/**
 * That what a policy on sensitive data withholds has not changed since
 * something was made to be handed out.
 *
 * @param of whose record it holds: a patient's, or those of an export's patients
 * @throws ExchangeError 410
 */
export async function requireUnchanged(
  tx: AccountTx,
  madeAt: Date,
  of: { patientId: string } | { exportId: string },
): Promise<void> {
  const changedAt =
    'exportId' in of
      ? sql`export_sensitivity_changed_at(${of.exportId})`
      : sql`sensitivity_changed_at(${tx.accountId}, ${of.patientId})`;
  const { rows } = await sql<{
    at: Date | null;
  }>`select ${changedAt} as at`.execute(tx.db);
  if ((rows[0]?.at ?? madeAt) > madeAt)
    throw new ExchangeError(
      410,
      'What is withheld as sensitive has changed since this was made; start again',
    );
}

/**
 * Gives the codes of a FHIR ValueSet (JSON text) a security label. Returns how
 * many it lists; 0 for anything else.
 */
export async function labelCodes(
  tx: SystemTx,
  label: string,
  valueSet: string,
): Promise<number> {
  if (!/^\s*\{/.test(valueSet)) return 0;
  await takeAdminRole(tx);
  const { rows } = await sql<{ codes: number }>`
    select load_sensitive_codes(${label}, ${valueSet}::jsonb, ${JSON.stringify(SYSTEM_SPELLINGS)}::jsonb) as codes`.execute(
    tx.db,
  );
  return rows[0]?.codes ?? 0;
}
