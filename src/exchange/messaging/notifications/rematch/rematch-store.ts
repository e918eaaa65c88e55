import { sql } from 'kysely';
import type { SystemTx } from '../../../platform/database/database.ts';
import { byteaArray, textArray } from '../../../platform/database/pg-arrays.ts';
import type { InboundOutcome } from '../tables.ts';

/** Subjects without a message for this long are not matched again. */
const RECENT = sql`s.updated_at > now() - interval '90 days'`;

export interface PatientToMatch {
  id: string;
  /** Undefined when the patient was deleted. */
  birthDate?: string;
  zip?: string;
  matchedUntil: string | null;
  since: Date;
}

export interface SubjectToMatch {
  id: string;
  sender: string;
  since: Date;
}

/** Patients whose matching data is new, from the oldest on. The zip is that of findCandidates. */
export async function patientsToMatch(
  tx: SystemTx,
  { after = '0', limit }: { after?: string; limit: number },
): Promise<PatientToMatch[]> {
  const { rows } = await sql<PatientToMatch>`
    select w.id::text as id, p.dob as "birthDate", left(p.addresses -> 0 ->> 'zip', 5) as zip,
      w.matched_until as "matchedUntil", w.noted_at as since
    from patient_to_match w left join patient p on p.id = w.patient_id
    where w.id > ${after}::bigint order by w.id limit ${limit}
  `.execute(tx.db);
  return rows;
}

/** Those of the keys (hex) under which recent subjects are found. */
export async function knownMatchKeys(tx: SystemTx, keys: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql<{ key: string }>`
    select encode(k.key, 'hex') as key
    from unnest(${byteaArray(keys.map((key) => Buffer.from(key, 'hex').toString('latin1')))}::bytea[]) as k(key)
    where exists (select from inbound_subject s where s.match_keys @> array[k.key] and ${RECENT})
  `.execute(tx.db);
  return new Set(rows.map(({ key }) => key));
}

/** Recent subjects under a key (hex), in the order of their ids. */
export async function subjectsWithKey(
  tx: SystemTx,
  { key, after, limit }: { key: string; after: string | null; limit: number },
): Promise<SubjectToMatch[]> {
  const { rows } = await sql<SubjectToMatch>`
    select s.id, s.sender, s.updated_at as since from inbound_subject s
    where s.match_keys @> array[decode(${key}, 'hex')] and ${RECENT}
      and (${after}::uuid is null or s.id > ${after}::uuid)
    order by s.id limit ${limit}
  `.execute(tx.db);
  return rows;
}

/** Recent subjects whose keys were never computed: they are older than the keys, or a previous build took them in. */
export async function subjectsWithoutKeys(
  tx: SystemTx,
  { after = null, limit }: { after?: string | null; limit: number },
): Promise<SubjectToMatch[]> {
  const { rows } = await sql<SubjectToMatch>`
    select s.id, s.sender, s.updated_at as since from inbound_subject s
    where s.match_keys is null and ${RECENT} and (${after}::uuid is null or s.id > ${after}::uuid)
    order by s.id limit ${limit}
  `.execute(tx.db);
  return rows;
}

export async function saveMatchedUntil(tx: SystemTx, id: string, subjectId: string): Promise<void> {
  await sql`update patient_to_match set matched_until = ${subjectId} where id = ${id}::bigint`.execute(tx.db);
}

export async function deletePatientsToMatch(tx: SystemTx, ids: readonly string[]): Promise<void> {
  await sql`
    delete from patient_to_match where id = any(${textArray(ids)}::text[]::bigint[])
  `.execute(tx.db);
}

/** Locks a subject's row until the transaction ends. Returns false when the subject no longer exists. */
export async function lockExistingSubject(tx: SystemTx, id: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom('inbound_subject')
    .select('id')
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  return row !== undefined;
}

/** Sets the outcome of those messages about a subject for which no patient was found before. */
export async function updateUnmatched(
  tx: SystemTx,
  subjectId: string,
  outcome: InboundOutcome,
): Promise<void> {
  await sql`
    update inbound_message set outcome = ${outcome}
    where id in (select message_id from inbound_event where subject_id = ${subjectId})
      and outcome in ('unmatched', 'ambiguous', 'incomplete')
  `.execute(tx.db);
}
