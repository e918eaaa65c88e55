import { sql } from 'kysely';
import type { RecordSource } from '../../../contract/primitives.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  booleanArray,
  byteaArray,
  integerArray,
  sqlFile,
  textArray,
  textLists,
} from '../../platform/database/pg-arrays.ts';
import type { Delivery, DeliveryFacts } from '../rules/delivery-facts.ts';

const PENDING_DELIVERIES = sqlFile('pending-deliveries.sql', import.meta.url);

/** What a delivery counts whose content is compressed together with others. */
const BYTES_IN_PACK = 2_000;

/** A delivery's identity. */
export interface DeliveryPlace {
  source: RecordSource;
  resourceType: string;
  sourceId: string;
}

export interface PendingDelivery extends DeliveryPlace {
  /** Stored (compressed) size; 0 when the delivery no longer exists. */
  sizeBytes: number;
}

/**
 * Serializes changes to a patient's record; the lock is held until the
 * transaction ends.
 */
export async function lockRecord(
  tx: AccountTx,
  patientId: string,
): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`record/${patientId}`}, 0))`.execute(
    tx.db.later,
  );
}

/**
 * The same with the beginning of a transaction (`asAccount`). Throws unless the
 * id is a UUID, because it becomes part of the SQL.
 */
export function withRecordLocked(patientId: string): { begin: string } {
  if (!/^[0-9a-f-]{36}$/i.test(patientId))
    throw new TypeError('A patient id must be a UUID');
  return {
    begin: `; select pg_advisory_xact_lock(hashtextextended('record/${patientId}', 0))`,
  };
}

/**
 * Takes what the merge knows of a record out of packs, where a record at rest
 * has it (0730-origins-in-packs.sql). To be called before any of it is written;
 * the caller holds the record's lock.
 */
export async function unpackOrigins(
  tx: AccountTx,
  patientId: string,
): Promise<void> {
  await sql`select unpack_origins(${patientId})`.execute(tx.db.later);
}

/**
 * Deliveries that are new, changed, gone, or were merged by another version of
 * the rules.
 */
export async function pendingDeliveries(
  tx: AccountTx,
  patientId: string,
  rules: number,
  limit: number,
): Promise<PendingDelivery[]> {
  const { rows } = await PENDING_DELIVERIES<PendingDelivery>({
    bytesInPack: BYTES_IN_PACK,
    patientId,
    rules,
    limitTo: limit,
  }).execute(tx.db);
  return rows;
}

/**
 * The given deliveries without those that another process has merged in the
 * meantime. The record's origins are out of packs (`unpackOrigins`).
 */
export async function stillPending(
  tx: AccountTx,
  patientId: string,
  rules: number,
  places: readonly DeliveryPlace[],
): Promise<DeliveryPlace[]> {
  const { rows } = await sql<DeliveryPlace>`
    select place.source, place.resource_type as "resourceType", place.source_id as "sourceId"
    from ${placesOf(patientId, places)}
    left join lateral (select sha256 from patient_resource where ${AT_PLACE} limit 1) p on true
    left join lateral (select sha256, rules from record_origin where ${AT_PLACE} limit 1) o on true
    where p.sha256 is distinct from o.sha256 or o.rules <> ${rules}`.execute(
    tx.db,
  );
  return rows;
}

/** The given deliveries that exist, with their content. */
export async function readDeliveries(
  tx: AccountTx,
  patientId: string,
  places: readonly DeliveryPlace[],
): Promise<Delivery[]> {
  const { rows } = await sql<Delivery>`
    with delivery as materialized (
      select p.source, p.resource_type, p.source_id, p.sha256, p.converted_from, p.content, p.pack, p.place,
        exists (select from record_split where ${AT_PLACE}) as is_split
      from ${placesOf(patientId, places)}
      cross join lateral (select * from patient_resource where ${AT_PLACE} limit 1) p
    ), opened as materialized (
      select * from opened_packs(${patientId}, array(select distinct pack from delivery where pack is not null))
    )
    select source, resource_type as "resourceType", source_id as "sourceId", encode(sha256, 'hex') as sha256,
      converted_from is not null as "isConverted", is_split as "isSplit",
      case when d.pack is null then d.content else content_in(o.contents, d.place) end as content
    from delivery d left join opened o using (pack)`.execute(tx.db);
  return rows;
}

/** What the last merge stored about the given deliveries. */
export async function readOrigins(
  tx: AccountTx,
  patientId: string,
  places: readonly DeliveryPlace[],
): Promise<KnownOrigin[]> {
  const { rows } = await sql<KnownOrigin>`
    select ${ORIGIN_COLUMNS} from ${placesOf(patientId, places)}
    cross join lateral (select * from record_origin where ${AT_PLACE} limit 1) o`.execute(
    tx.db,
  );
  return rows;
}

/**
 * Deliveries that refer to one of these Medications of the same source, whose
 * keys depend on its code.
 */
export async function dependentsOf(
  tx: AccountTx,
  patientId: string,
  medications: readonly DeliveryPlace[],
): Promise<DeliveryPlace[]> {
  if (medications.length === 0) return [];
  const { rows } = await sql<DeliveryPlace>`
    select o.source, o.resource_type as "resourceType", o.source_id as "sourceId"
    from record_origin o
    join ${placesOf(patientId, medications)} on o.source = place.source and o.medication_id = place.source_id
    where o.patient_id = ${patientId}`.execute(tx.db);
  return rows;
}

/**
 * Every delivery in these families, or in the families that own one of these
 * keys.
 */
export async function readAffected(
  tx: AccountTx,
  patientId: string,
  familyIds: readonly string[],
  keys: readonly { resourceType: string; key: string }[],
): Promise<KnownOrigin[]> {
  const { rows } = await sql<KnownOrigin>`
    with affected as (
      select unnest(${familyIds}::uuid[]) as family_id
      union
      select k.resource_id from (select ${patientId}::uuid as patient_id, each.*
        from json_to_recordset(${JSON.stringify(keys)}::json) as each("resourceType" text, key text) offset 0) as n
      cross join lateral (select resource_id from record_key
        where patient_id = n.patient_id and resource_type = n."resourceType" and key = n.key limit 1) k)
    select ${ORIGIN_COLUMNS} from (select ${patientId}::uuid as patient_id, family_id from affected offset 0) as affected
    cross join lateral (select * from record_origin
      where patient_id = affected.patient_id and family_id = affected.family_id offset 0) o`.execute(
    tx.db,
  );
  return rows;
}

/** Merge facts of a delivery with the result of its grouping. */
export interface KnownOrigin
  extends Omit<DeliveryFacts, 'days' | 'source'>,
    DeliveryPlace {
  /** Version of the rules (MERGE_RULES) that produced it. */
  rules: number;
  resourceId: string | null;
  familyId: string | null;
  leads: boolean;
  superseded: boolean;
  dateFrom: string | null;
  dateTo: string | null;
}

const ORIGIN_COLUMNS = sql`o.source, o.resource_type as "resourceType", o.source_id as "sourceId",
  encode(o.sha256, 'hex') as sha256, o.resource_id as "resourceId", o.family_id as "familyId", o.rules, o.exclusion, o.keys, o.assertions,
  o.rank, o.leads, o.superseded,
  o.medication_id as "medicationId", o.sort_date as "sortDate", o.date_from as "dateFrom", o.date_to as "dateTo",
  o.search`;

export async function upsertOrigins(
  tx: AccountTx,
  patientId: string,
  origins: readonly KnownOrigin[],
): Promise<void> {
  if (origins.length === 0) return;
  const texts = (of: (origin: KnownOrigin) => string | null | undefined) =>
    sql`${textArray(origins.map((origin) => of(origin) ?? null))}::text[]`;
  await sql`
    insert into record_origin (account_id, patient_id, source, resource_type, source_id, sha256, rules, resource_id,
      family_id, exclusion, keys, assertions, rank, leads, superseded, medication_id, sort_date, date_from, date_to, search)
    select ${tx.accountId}, ${patientId}, n.source, n.resource_type, n.source_id, n.sha256, n.rules, n.resource_id::uuid,
      n.family_id::uuid, n.exclusion, n.keys::text[], n.assertions::jsonb, n.rank, n.leads, n.superseded, n.medication_id, n.sort_date,
      n.date_from::date, n.date_to::date, n.search::text[]
    from unnest(${texts(({ source }) => source)}, ${texts(({ resourceType }) => resourceType)},
      ${texts(({ sourceId }) => sourceId)},
      ${byteaArray(origins.map(({ sha256 }) => Buffer.from(sha256, 'hex').toString('latin1')))}::bytea[],
      ${integerArray(origins.map(({ rules }) => rules))}::integer[],
      ${texts(({ resourceId }) => resourceId)}, ${texts(({ familyId }) => familyId)},
      ${texts(({ exclusion }) => exclusion)}, ${textLists(origins.map(({ keys }) => keys))}::text[],
      ${texts(({ assertions }) => JSON.stringify(assertions))}, ${texts(({ rank }) => rank)},
      ${booleanArray(origins.map(({ leads }) => leads))}::boolean[],
      ${booleanArray(origins.map(({ superseded }) => superseded))}::boolean[], ${texts(({ medicationId }) => medicationId)},
      ${texts(({ sortDate }) => sortDate)}, ${texts(({ dateFrom }) => dateFrom)}, ${texts(({ dateTo }) => dateTo)},
      ${textLists(origins.map(({ search }) => search))}::text[]) as n(source, resource_type, source_id, sha256, rules,
        resource_id, family_id, exclusion, keys, assertions, rank, leads, superseded, medication_id, sort_date, date_from, date_to, search)
    on conflict (patient_id, source, resource_type, source_id) do update set
      sha256 = excluded.sha256, rules = excluded.rules, resource_id = excluded.resource_id,
      family_id = excluded.family_id, exclusion = excluded.exclusion, keys = excluded.keys, assertions = excluded.assertions,
      rank = excluded.rank, leads = excluded.leads, superseded = excluded.superseded, medication_id = excluded.medication_id,
      sort_date = excluded.sort_date, date_from = excluded.date_from, date_to = excluded.date_to,
      search = excluded.search`.execute(tx.db.later);
}

export async function deleteOrigins(
  tx: AccountTx,
  patientId: string,
  places: readonly DeliveryPlace[],
): Promise<void> {
  if (places.length === 0) return;
  await sql`
    delete from record_origin o using ${placesOf(patientId, places)}
    where o.patient_id = place.patient_id and o.source = place.source and o.resource_type = place.resource_type
      and o.source_id = place.source_id`.execute(tx.db.later);
}

export interface RecordKey {
  resourceType: string;
  key: string;
  familyId: string;
}

export async function writeKeys(
  tx: AccountTx,
  patientId: string,
  {
    gone,
    written,
  }: {
    gone: readonly Omit<RecordKey, 'familyId'>[];
    written: readonly RecordKey[];
  },
): Promise<void> {
  if (gone.length > 0)
    await sql`
      delete from record_key k
      using (select ${patientId}::uuid as patient_id, each.*
        from json_to_recordset(${JSON.stringify(gone)}::json) as each("resourceType" text, key text) offset 0) as n
      where k.patient_id = n.patient_id and k.resource_type = n."resourceType" and k.key = n.key`.execute(
      tx.db.later,
    );
  if (written.length > 0)
    await sql`
      insert into record_key (account_id, patient_id, resource_type, key, resource_id)
      select ${tx.accountId}, ${patientId}, n."resourceType", n.key, n."familyId"
      from json_to_recordset(${JSON.stringify(written)}::json) as n("resourceType" text, key text, "familyId" uuid)
      on conflict (patient_id, resource_type, key) do update set resource_id = excluded.resource_id`.execute(
      tx.db.later,
    );
}

/**
 * Looks up each delivery through the primary key. With a plain join, the
 * planner assumes one row for a patient without statistics and chooses a nested
 * loop over everything.
 */
const AT_PLACE = sql`patient_id = place.patient_id and source = place.source and resource_type = place.resource_type
    and source_id = place.source_id`;

/**
 * `offset 0` hides from the planner which patient it is: where it knows each
 * patient but a new one, it expects no row of that one, takes any index that
 * begins with the patient, and so reads the whole record for each place.
 */
const placesOf = (patientId: string, places: readonly DeliveryPlace[]) =>
  sql`(select ${patientId}::uuid as patient_id, source, "resourceType" as resource_type, "sourceId" as source_id
       from json_to_recordset(${JSON.stringify(
         places.map(({ source, resourceType, sourceId }) => ({
           source,
           resourceType,
           sourceId,
         })),
       )}::json) as n(source text, "resourceType" text, "sourceId" text) offset 0) as place`;
