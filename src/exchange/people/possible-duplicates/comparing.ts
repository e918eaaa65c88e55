import { type RawBuilder, sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import {
  agreeingTraits,
  comparePersons,
  contradictingTraits,
  gradeMatch,
  householdOf,
  identifiersOf,
  MATCH_RULES_VERSION,
  mistypedDates,
  traitsOfPerson,
  withoutShared,
} from '#person-matching';
import type {
  AccountTx,
  Store,
  SystemTx,
} from '../../platform/database/database.ts';
import {
  sqlFile,
  textArray,
  uuidArray,
} from '../../platform/database/pg-arrays.ts';
import type { Recovery } from '../../platform/recovery/recovery.ts';
import { noteHouseholds, sharedValues } from '../households/shared-values.ts';
import type { Demographics } from '../patients/rules/demographics.ts';
import { openDuplicates, type StoredDuplicate } from './duplicate-store.ts';

const CANDIDATES = sqlFile('candidates.sql', import.meta.url);
const SAVE_PAIRS = sqlFile('save-pairs.sql', import.meta.url);

/** Patients that one transaction compares. */
const AT_ONCE = 200;

/**
 * Compares patients that are new or changed with the others of their account.
 * Triggers note them, whichever code writes them, and each round of `reconcile`
 * takes up a slice. Two patients created at the same time find each other,
 * because each is compared after its own commit.
 * (docs/decisions/0108-possible-duplicates.md)
 */
export function patientComparing({
  store,
}: {
  store: Pick<Store, 'asSystem'>;
}): Recovery {
  async function compare(noted: readonly NotedPatient[]): Promise<void> {
    await store.asSystem(async (tx) => {
      const ids = [...new Set(noted.map(({ patientId }) => patientId))];
      const patients = await readCompared(tx, ids);
      const candidates = await findCandidates(tx, patients, FOR_THE_SYSTEM);
      await noteHouseholds(tx, patients);
      const pairs = await pairsAmong(tx, patients, candidates);
      await savePairs(tx, ids, pairs, MATCH_RULES_VERSION);
      await deleteNotes(
        tx,
        noted.map(({ id }) => id),
      );
    });
  }

  /**
   * Compares patients together; if that fails, one by one, so that one of them
   * does not hold up the others.
   */
  async function compareEach(
    noted: readonly NotedPatient[],
    signal: AbortSignal,
  ): Promise<unknown[]> {
    try {
      await compare(noted);
      return [];
    } catch (error) {
      if (noted.length === 1 || signal.aborted) return noted.map(() => error);
      const failures: unknown[] = [];
      for (const one of noted)
        failures.push(...(await compareEach([one], signal)));
      return failures;
    }
  }

  return {
    name: 'patients to compare',
    canWait: true,
    async takeUp({ limit, signal, cursor }) {
      const taken = { found: 0, healed: 0, failures: [] as unknown[] };
      let after = cursor;
      let oldestSince: Date | undefined;
      while (taken.found < limit && !signal.aborted) {
        const size = Math.min(AT_ONCE, limit - taken.found);
        const noted = await store.asSystem((tx) =>
          patientsToCompare(tx, { after, limit: size }),
        );
        if (noted.length > 0)
          taken.failures.push(...(await compareEach(noted, signal)));
        taken.found += noted.length;
        taken.healed = taken.found - taken.failures.length;
        oldestSince ??= noted[0]?.since;
        if (noted.length < size) return { ...taken, oldestSince };
        after = noted.at(-1)?.id;
      }
      return { ...taken, oldestSince, isBehind: true, cursor: after };
    },
  };
}

/** As they are stored; those that stand for none belong to many people. */
const usableIdentifiers = (
  all: ComparedPatient['personalIdentifiers'],
): string[] =>
  all.flatMap((each) => {
    const { ssns, licences } = identifiersOf([each]);
    return ssns.size + licences.size > 0 && !each.value.includes(',')
      ? [each.value]
      : [];
  });

/**
 * Compares one patient at once, so that the response to a create names possible
 * duplicates. Two that are created at the same time do not see each other;
 * `patientComparing` finds them later.
 */
export async function compareNow(
  tx: AccountTx,
  patient: ComparedPatient,
): Promise<StoredDuplicate[]> {
  const candidates = await findCandidates(tx, [patient], IN_THE_ACCOUNT);
  await noteHouseholds(tx, [patient]);
  const pairs = await pairsAmong(tx, [patient], candidates);
  if (pairs.length === 0) return [];
  await savePairs(tx, [patient.id], pairs, MATCH_RULES_VERSION);
  return openDuplicates(tx, patient.id);
}

/** The pairs, not counting what many people of an account share. */
async function pairsAmong(
  tx: SystemTx | AccountTx,
  patients: readonly ComparedPatient[],
  candidates: ReadonlyArray<ComparedPatient & { of: string }>,
): Promise<FoundPair[]> {
  const pairs = pairsOf(patients, candidates);
  const paired = new Set(pairs.flatMap(({ patientIds }) => patientIds));
  const shared = new Map<string, ReadonlySet<string>>();
  for (const patient of patients) {
    if (!paired.has(patient.id)) continue;
    const values = householdOf(traitsOfPerson(patient));
    shared.set(patient.id, await sharedValues(tx, patient.accountId, values));
  }
  return [...shared.values()].some(({ size }) => size > 0)
    ? pairsOf(patients, candidates, shared)
    : pairs;
}

/** @param shared of each patient, what is no household's */
function pairsOf(
  patients: readonly ComparedPatient[],
  candidates: ReadonlyArray<ComparedPatient & { of: string }>,
  shared: ReadonlyMap<string, ReadonlySet<string>> = new Map(),
): FoundPair[] {
  const byId = new Map(
    patients.map((patient) => [
      patient.id,
      {
        patient,
        traits: withoutShared(
          traitsOfPerson(patient),
          shared.get(patient.id) ?? new Set(),
        ),
      },
    ]),
  );
  const pairs = new Map<string, FoundPair>();
  for (const candidate of candidates) {
    const compared = byId.get(candidate.of);
    if (compared === undefined) continue;
    const comparison = comparePersons(
      compared.traits,
      traitsOfPerson(candidate),
    );
    const { grade, score } = gradeMatch(comparison);
    if (grade === 'certainly-not') continue;
    const { id, accountId } = compared.patient;
    const patientIds: FoundPair['patientIds'] =
      id < candidate.id ? [id, candidate.id] : [candidate.id, id];
    const agrees = agreeingTraits(comparison);
    const contradicts = contradictingTraits(comparison);
    pairs.set(patientIds.join(), {
      id: uuidv7(),
      accountId,
      patientIds,
      grade,
      score,
      agrees,
      contradicts,
    });
  }
  return [...pairs.values()];
}

/**
 * Bounds what thousands of people cost who share a made-up birth date, such as
 * 1900-01-01.
 */
const CANDIDATES_MAX = 100;

interface NotedPatient {
  /** The id of the note; a patient may have several. */
  id: string;
  patientId: string;
  since: Date;
}

/** Patients whose matching data is new, from the oldest note on. */
async function patientsToCompare(
  tx: SystemTx,
  { after = '0', limit }: { after?: string; limit: number },
): Promise<NotedPatient[]> {
  const { rows } = await sql<NotedPatient>`
    select id::text as id, patient_id as "patientId", noted_at as since from patient_to_compare
    where id > ${after}::bigint order by id limit ${limit}
  `.execute(tx.db);
  return rows;
}

async function deleteNotes(
  tx: SystemTx,
  ids: readonly string[],
): Promise<void> {
  await sql`delete from patient_to_compare where id = any(${textArray(ids)}::text[]::bigint[])`.execute(
    tx.db,
  );
}

interface ComparedPatient extends Demographics {
  id: string;
  accountId: string;
}

const PERSON = sql`p.id, p.account_id as "accountId", p.first_names as "firstNames", p.last_names as "lastNames", p.dob,
  p.gender, p.addresses, p.contacts, p.personal_identifiers as "personalIdentifiers"`;

async function readCompared(
  tx: SystemTx,
  ids: readonly string[],
): Promise<ComparedPatient[]> {
  const { rows } = await sql<ComparedPatient>`
    select ${PERSON} from patient p where p.id = any(${uuidArray(ids)}::uuid[])
  `.execute(tx.db);
  return rows;
}

/**
 * Who may be the person, by birth date and names, and who has one of
 * `wanted.identifiers`. Row-level security keeps PostgreSQL from using their
 * indexes, so an account asks functions.
 */
const DATES = sql`string_to_array(wanted.dates, ',')::date[]`;
const IDENTIFIERS = sql`string_to_array(wanted.identifiers, ',')`;
const IN_THE_ACCOUNT = {
  alike: sql`patients_born_alike(s.dob, ${DATES}, s.last_names[1], s.first_names[1])`,
  holders: sql`patients_with_identifiers(${IDENTIFIERS})`,
};
const FOR_THE_SYSTEM = {
  alike: sql`born_alike(s.account_id, s.dob, ${DATES}, s.last_names[1], s.first_names[1])`,
  holders: sql`holders_of_identifiers(s.account_id, ${IDENTIFIERS})`,
};

/**
 * For each patient, others of its account with the same birth date (of a crowd
 * those with like names, and some more), or with the same initials and one of
 * the birth dates that a typing error makes of it, or with one of the
 * identifiers. At most 100, those with the same names and zip first.
 */
async function findCandidates(
  tx: SystemTx | AccountTx,
  patients: readonly ComparedPatient[],
  by: { alike: RawBuilder<unknown>; holders: RawBuilder<unknown> },
): Promise<Array<ComparedPatient & { of: string }>> {
  const { rows } = await CANDIDATES<ComparedPatient & { of: string }>({
    ids: uuidArray(patients.map(({ id }) => id)),
    dates: textArray(patients.map(({ dob }) => mistypedDates(dob).join())),
    identifiers: textArray(
      patients.map(({ personalIdentifiers }) =>
        usableIdentifiers(personalIdentifiers).join(),
      ),
    ),
    ...by,
    person: PERSON,
    most: CANDIDATES_MAX,
  }).execute(tx.db);
  return rows;
}

interface FoundPair {
  id: string;
  accountId: string;
  /** The smaller id first. */
  patientIds: readonly [string, string];
  grade: string;
  score: number;
  agrees: readonly string[];
  contradicts: readonly string[];
}

/**
 * Writes what was found about these patients: open pairs that no longer match
 * go, new ones come; decided ones stay.
 */
async function savePairs(
  tx: SystemTx | AccountTx,
  compared: readonly string[],
  pairs: readonly FoundPair[],
  rulesVersion: number,
): Promise<void> {
  const given = sql`json_to_recordset(${JSON.stringify(
    pairs.map(({ patientIds: [first, second], ...pair }) => ({
      ...pair,
      first,
      second,
    })),
  )}::json) as given (id uuid, "accountId" uuid, first uuid, second uuid, grade text, score double precision, agrees json,
    contradicts json)`;
  await sql`
    delete from possible_duplicate d
    where d.status = 'open'
      and (d.patient_id = any(${uuidArray(compared)}::uuid[]) or d.other_patient_id = any(${uuidArray(compared)}::uuid[]))
      and not exists (select from ${given} where given.first = d.patient_id and given.second = d.other_patient_id)
  `.execute(tx.db);
  await SAVE_PAIRS({ rulesVersion, given }).execute(tx.db);
}
