import { sql } from 'kysely';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';
import { textArray, uuidArray } from '../../platform/database/pg-arrays.ts';
import type { Demographics } from '../patients/rules/demographics.ts';

/** Bounds what thousands of people cost who share a made-up birth date, such as 1900-01-01. */
const CANDIDATES_MAX = 100;

export interface NotedPatient {
  /** Of the note; a patient may have several. */
  id: string;
  patientId: string;
  since: Date;
}

/** Patients whose matching data is new, from the oldest note on. */
export async function patientsToCompare(
  tx: SystemTx,
  { after = '0', limit }: { after?: string; limit: number },
): Promise<NotedPatient[]> {
  const { rows } = await sql<NotedPatient>`
    select id::text as id, patient_id as "patientId", noted_at as since from patient_to_compare
    where id > ${after}::bigint order by id limit ${limit}
  `.execute(tx.db);
  return rows;
}

export async function deleteNotes(tx: SystemTx, ids: readonly string[]): Promise<void> {
  await sql`delete from patient_to_compare where id = any(${textArray(ids)}::text[]::bigint[])`.execute(
    tx.db,
  );
}

export interface ComparedPatient extends Demographics {
  id: string;
  accountId: string;
}

const PERSON = sql`p.id, p.account_id as "accountId", p.first_names as "firstNames", p.last_names as "lastNames", p.dob,
  p.gender, p.addresses, p.contacts, p.personal_identifiers as "personalIdentifiers"`;

export async function readCompared(tx: SystemTx, ids: readonly string[]): Promise<ComparedPatient[]> {
  const { rows } = await sql<ComparedPatient>`
    select ${PERSON} from patient p where p.id = any(${uuidArray(ids)}::uuid[])
  `.execute(tx.db);
  return rows;
}

/**
 * For each patient, the others of its account with the same birth date, or with the same initials and one of the birth dates
 * that a typing error makes of it, or with one of the identifiers. At most 100, those with the same names and zip first.
 *
 * @param patients `identifiers`: only in a system transaction, because row-level security keeps PostgreSQL from using their index
 */
export async function findCandidates(
  tx: SystemTx | AccountTx,
  patients: ReadonlyArray<{ id: string; mistypedDates: readonly string[]; identifiers?: readonly string[] }>,
): Promise<Array<ComparedPatient & { of: string }>> {
  const { rows } = await sql<ComparedPatient & { of: string }>`
    select s.id as of, found.* from unnest(
      ${uuidArray(patients.map(({ id }) => id))}::uuid[],
      ${textArray(patients.map(({ mistypedDates }) => mistypedDates.join()))}::text[],
      ${textArray(patients.map(({ identifiers = [] }) => identifiers.join()))}::text[]
    ) as wanted (id, dates, identifiers)
    join patient s on s.id = wanted.id
    cross join lateral (
      select ${PERSON} from (
        select same.* from patient same
        where same.account_id = s.account_id and same.dob = s.dob
        union all
        select mistyped.* from patient mistyped
        where mistyped.account_id = s.account_id and mistyped.dob = any(string_to_array(wanted.dates, ',')::date[])
          and lower(left(mistyped.last_names[1], 1)) = lower(left(s.last_names[1], 1))
          and lower(left(mistyped.first_names[1], 1)) = lower(left(s.first_names[1], 1))
        union all
        select known.* from unnest(string_to_array(nullif(wanted.identifiers, ''), ',')) as own (value)
        join patient known on known.account_id = s.account_id and known.dob <> s.dob
          and known.personal_identifiers <> '[]'
          and known.personal_identifiers @> jsonb_build_array(jsonb_build_object('value', own.value))
      ) p where p.id <> s.id
      order by (lower(p.last_names[1]) = lower(s.last_names[1]))::integer
        + (lower(p.first_names[1]) = lower(s.first_names[1]))::integer
        + (p.addresses -> 0 ->> 'zip' is not distinct from s.addresses -> 0 ->> 'zip')::integer desc, p.created_at, p.id limit ${CANDIDATES_MAX}
    ) found
  `.execute(tx.db);
  return rows;
}

export interface FoundPair {
  id: string;
  accountId: string;
  /** The smaller id first. */
  patientIds: readonly [string, string];
  grade: string;
  score: number;
  agrees: readonly string[];
  contradicts: readonly string[];
}

/** Writes what was found about these patients: open pairs that no longer match go, new ones come; decided ones stay. */
export async function savePairs(
  tx: SystemTx | AccountTx,
  compared: readonly string[],
  pairs: readonly FoundPair[],
  rulesVersion: number,
): Promise<void> {
  const given = sql`json_to_recordset(${JSON.stringify(
    pairs.map(({ patientIds: [first, second], ...pair }) => ({ ...pair, first, second })),
  )}::json) as given (id uuid, "accountId" uuid, first uuid, second uuid, grade text, score double precision, agrees json,
    contradicts json)`;
  await sql`
    delete from possible_duplicate d
    where d.status = 'open'
      and (d.patient_id = any(${uuidArray(compared)}::uuid[]) or d.other_patient_id = any(${uuidArray(compared)}::uuid[]))
      and not exists (select from ${given} where given.first = d.patient_id and given.second = d.other_patient_id)
  `.execute(tx.db);
  await sql`
    insert into possible_duplicate as d
      (id, account_id, patient_id, other_patient_id, grade, score, agrees, contradicts, rules_version)
    select given.id, given."accountId", given.first, given.second, given.grade, given.score,
      array(select json_array_elements_text(given.agrees)), array(select json_array_elements_text(given.contradicts)),
      ${rulesVersion}::integer
    from ${given}
    -- Patients that are being deleted are left out.
    where (select count(*) from (select from patient p where p.id in (given.first, given.second) for key share) there) = 2
    on conflict (patient_id, other_patient_id) do update
    set grade = excluded.grade, score = excluded.score, agrees = excluded.agrees, contradicts = excluded.contradicts,
      rules_version = excluded.rules_version
    where d.status = 'open'
  `.execute(tx.db);
}
