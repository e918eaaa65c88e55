import { v7 as uuidv7 } from 'uuid';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import type { Recovery } from '../../platform/recovery/recovery.ts';
import { comparePersons } from '../patients/rules/compare-persons.ts';
import {
  agreeingTraits,
  contradictingTraits,
  gradeMatch,
  MATCH_RULES_VERSION,
} from '../patients/rules/match-score.ts';
import { identifiersOf, traitsOf } from '../patients/rules/person-traits.ts';
import { mistypedDates } from '../patients/rules/typing-errors.ts';
import {
  type ComparedPatient,
  deleteNotes,
  type FoundPair,
  findCandidates,
  type NotedPatient,
  patientsToCompare,
  readCompared,
  savePairs,
} from './compare-store.ts';
import { openDuplicates, type StoredDuplicate } from './duplicate-store.ts';

/** Patients that one transaction compares. */
const AT_ONCE = 200;

/**
 * Compares patients that are new or changed with the others of their account. Triggers note them, whoever writes them
 * (migration 0071), and each round of `reconcile` takes up a slice. Two patients created at the same time find each other,
 * because each is compared after its own commit. (docs/decisions/0108-possible-duplicates.md)
 */
export function patientComparing({ store }: { store: Pick<Store, 'asSystem'> }): Recovery {
  async function compare(noted: readonly NotedPatient[]): Promise<void> {
    await store.asSystem(async (tx) => {
      const ids = [...new Set(noted.map(({ patientId }) => patientId))];
      const patients = await readCompared(tx, ids);
      const candidates = await findCandidates(
        tx,
        patients.map(({ id, dob, personalIdentifiers }) => ({
          ...{ id, mistypedDates: mistypedDates(dob) },
          identifiers: usableIdentifiers(personalIdentifiers),
        })),
      );
      await savePairs(tx, ids, pairsOf(patients, candidates), MATCH_RULES_VERSION);
      await deleteNotes(
        tx,
        noted.map(({ id }) => id),
      );
    });
  }

  /** Compares patients together; if that fails, one by one, so that one of them does not hold up the others. */
  async function compareEach(noted: readonly NotedPatient[], signal: AbortSignal): Promise<unknown[]> {
    try {
      await compare(noted);
      return [];
    } catch (error) {
      if (noted.length === 1 || signal.aborted) return noted.map(() => error);
      const failures: unknown[] = [];
      for (const one of noted) failures.push(...(await compareEach([one], signal)));
      return failures;
    }
  }

  return {
    name: 'patients to compare',
    canWait: true,
    async takeUp({ limit, signal, cursor }) {
      const taken = { found: 0, healed: 0, failures: [] as unknown[] };
      let [after, oldestSince]: [string | undefined, Date | undefined] = [cursor, undefined];
      while (taken.found < limit && !signal.aborted) {
        const size = Math.min(AT_ONCE, limit - taken.found);
        const noted = await store.asSystem((tx) => patientsToCompare(tx, { after, limit: size }));
        if (noted.length > 0) taken.failures.push(...(await compareEach(noted, signal)));
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
const usableIdentifiers = (all: ComparedPatient['personalIdentifiers']): string[] =>
  all.flatMap((each) => {
    const { ssns, licences } = identifiersOf([each]);
    return ssns.size + licences.size > 0 && !each.value.includes(',') ? [each.value] : [];
  });

/**
 * Compares one patient at once, so that the answer to a create names possible duplicates. Two that are created at the same time do
 * not see each other; `patientComparing` finds them later.
 */
export async function compareNow(tx: AccountTx, patient: ComparedPatient): Promise<StoredDuplicate[]> {
  const { id, dob } = patient;
  const candidates = await findCandidates(tx, [{ id, mistypedDates: mistypedDates(dob) }]);
  const pairs = pairsOf([patient], candidates);
  if (pairs.length === 0) return [];
  await savePairs(tx, [id], pairs, MATCH_RULES_VERSION);
  return openDuplicates(tx, id);
}

function pairsOf(
  patients: readonly ComparedPatient[],
  candidates: ReadonlyArray<ComparedPatient & { of: string }>,
): FoundPair[] {
  const byId = new Map(patients.map((patient) => [patient.id, { patient, traits: traitsOf(patient) }]));
  const pairs = new Map<string, FoundPair>();
  for (const candidate of candidates) {
    const compared = byId.get(candidate.of);
    if (compared === undefined) continue;
    const comparison = comparePersons(compared.traits, traitsOf(candidate));
    const { grade, score } = gradeMatch(comparison);
    if (grade === 'certainly-not') continue;
    const { id, accountId } = compared.patient;
    const patientIds: FoundPair['patientIds'] = id < candidate.id ? [id, candidate.id] : [candidate.id, id];
    const agrees = agreeingTraits(comparison);
    const contradicts = contradictingTraits(comparison);
    pairs.set(patientIds.join(), { id: uuidv7(), accountId, patientIds, grade, score, agrees, contradicts });
  }
  return [...pairs.values()];
}
