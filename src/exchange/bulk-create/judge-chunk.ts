import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { StoredPatient } from '../patients/patient-store.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { OvertakenError } from '../platform/database/retry.ts';
import { checkReferences } from './check-references.ts';
import type { OpenChunk } from './chunk-store.ts';
import {
  claimNewKeys,
  findKeyHolders,
  type KeyHolder,
  type ReadMode,
  readPatients,
  returnKeys,
} from './patient-store.ts';
import type { PreparedChunk, PreparedPerson, PreparedRow } from './prepare-chunk.ts';
import { createRoomCheck } from './row-content.ts';
import { type FoldedPerson, foldRows, type KnownPerson, type RowOutcome } from './rules/bulk-fold.ts';
import { findTrialKeyHolders } from './trial-store.ts';

/** What a chunk needs of its request. */
export interface BulkJob {
  requestId: string;
  /** Of rows that name none. */
  facilityId: string;
  dryRun: boolean;
}

/** A row whose person is matched; the others have errors. */
export interface MatchedRow extends PreparedRow {
  person: PreparedPerson;
}

export interface JudgedChunk extends OpenChunk {
  lines: PreparedRow[];
  /** The rows without errors, and what becomes of each. */
  matched: MatchedRow[];
  outcomes: RowOutcome[];
  persons: FoldedPerson[];
  /** Those of `persons` that are patients of the account already, held by this transaction. */
  patients: Map<string, StoredPatient>;
  /** Dry run only: rows that would have created those of `persons` who are no patients. */
  trialRows: Map<string, number>;
}

/**
 * Decides what becomes of each row, holding everybody concerned until the transaction ends. Takes what save-patient.ts
 * takes for one patient, in its order: the patients that are known, the keys of those that are not, the cohorts. A dry
 * run looks and holds nobody. Throws OvertakenError when others were faster.
 */
export async function judgeChunk(tx: AccountTx, job: BulkJob, chunk: PreparedChunk): Promise<JudgedChunk> {
  if (job.dryRun) return (await judge(tx, job, chunk, 'look')).judged;
  let { judged, references } = await judge(tx, job, chunk, 'hold');
  if (!(await claimNewKeys(tx, claimsOf(judged)))) {
    // Those who were faster have committed, and nobody gets at the other keys any more: this time it holds, if it need
    // not wait for a patient. Keys before patients is not the order of waiting.
    await returnKeys(tx, claimsOf(judged));
    ({ judged, references } = await judge(tx, job, chunk, 'hold-now'));
    if (!(await claimNewKeys(tx, claimsOf(judged)))) throw new OvertakenError('a key was taken meanwhile');
  }
  await references.holdCohorts();
  return judged;
}

async function judge(tx: AccountTx, job: BulkJob, chunk: PreparedChunk, mode: ReadMode) {
  const known = await findKnown(tx, job, [...chunk.keys], mode);
  const references = await checkReferences(tx, job.facilityId, chunk.lines);

  const lines = chunk.lines.map((line) => {
    const errors = references.errorsOf(line);
    return errors.length === 0 ? line : { ...line, errors: [...line.errors, ...errors] };
  });
  const matched = lines.filter(
    (line): line is MatchedRow => line.person !== undefined && line.errors.length === 0,
  );
  const rows = matched.map(({ row, person, cohorts }) => ({
    row,
    keys: person.keys,
    wantsTreatment: cohorts.some(({ id }) => references.treatmentCohorts.has(id)),
  }));
  const { trialRows } = known;
  const newId = createIdSource(rows.length);
  const folded = foldRows(rows, known.persons, {
    newId: ({ row }) => {
      const id = newId();
      if (job.dryRun) trialRows.set(id, row);
      return id;
    },
    whyFull: createRoomCheck(matched, known.patients, job.facilityId),
  });
  const judged: JudgedChunk = { ...chunk, ...folded, lines, matched, patients: known.patients, trialRows };
  return { judged, references };
}

/** The keys that nobody held, with who is to hold them. */
export const claimsOf = ({ persons }: Pick<JudgedChunk, 'persons'>): KeyHolder[] =>
  persons.flatMap(({ id, newKeys }) => newKeys.map((key) => ({ personId: id, key })));

/** Who holds these keys, the oldest first. */
async function findKnown(
  tx: AccountTx,
  { requestId, dryRun }: BulkJob,
  keys: readonly string[],
  mode: ReadMode,
) {
  const holders = await findKeyHolders(tx, keys);
  const trialHolders = dryRun ? await findTrialKeyHolders(tx, requestId, keys) : [];

  const keysOf = new Map<string, string[]>();
  const trialRows = new Map<string, number>();
  for (const { personId, key } of [...holders, ...trialHolders])
    keysOf.set(personId, [...(keysOf.get(personId) ?? []), key]);
  for (const { personId, firstRow } of trialHolders) if (firstRow !== null) trialRows.set(personId, firstRow);

  const patientIds = [...keysOf.keys()].filter((id) => !trialRows.has(id));
  const patients = await readPatients(tx, patientIds, mode);
  const everybody: KnownPerson[] = [
    ...patients,
    ...[...trialRows]
      .sort(([, left], [, right]) => left - right)
      .map(([id]) => ({ id, treatmentRelationship: true })),
  ];
  return {
    persons: everybody.map((person) => ({ person, keys: keysOf.get(person.id) ?? [] })),
    patients: new Map(patients.map((patient) => [patient.id, patient])),
    trialRows,
  };
}

/** Up to `count` ids in the order of time, each after the one before; of one clock reading and one draw of randomness. */
function createIdSource(count: number): () => string {
  const random = randomBytes(16 * count);
  const msecs = Date.now();
  const firstSeq = count === 0 ? 0 : random.readUInt32BE(0) >>> 1;
  let used = 0;
  return () => {
    const id = uuidv7({ msecs, seq: firstSeq + used, random: random.subarray(16 * used, 16 * used + 16) });
    used += 1;
    return id;
  };
}
