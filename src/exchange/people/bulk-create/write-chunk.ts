import type { AccountTx } from '../../platform/database/database.ts';
import { isSameContent } from '../patients/rules/patient-content.ts';
import { type BulkJob, claimsOf, type JudgedChunk, type MatchedRow } from './judge-chunk.ts';
import {
  addAllMemberships,
  type IdentifiedContent,
  insertPatients,
  recordBulkPatients,
  updatePatients,
} from './patient-store.ts';
import { contentAfter } from './row-content.ts';
import type { FoldedPerson } from './rules/bulk-fold.ts';
import { insertTrialKeys } from './trial-store.ts';

/** A person of the chunk with at least one row. */
interface PersonWithRows extends Pick<FoldedPerson, 'id' | 'isNew'> {
  matchedRows: MatchedRow[];
}

/** Writes the outcome of a chunk: patients and cohort memberships. A dry run writes only the trial keys. */
export async function writeChunk(tx: AccountTx, job: BulkJob, chunk: JudgedChunk): Promise<void> {
  if (job.dryRun) {
    const trials = claimsOf(chunk).map((claim) => ({
      ...claim,
      firstRow: chunk.trialRows.get(claim.personId) ?? null,
    }));
    await insertTrialKeys(tx, job.requestId, trials);
    return;
  }
  const persons: PersonWithRows[] = [];
  for (const { id, isNew, rows } of chunk.persons) {
    const matchedRows = rows.map((place) => chunk.matched[place]).filter((row) => row !== undefined);
    if (matchedRows.length > 0) persons.push({ id, isNew, matchedRows });
  }
  const { created, changed } = contentsOf(chunk, persons, job.facilityId);
  const noted = persons.map(({ id, isNew, matchedRows }) => ({
    patientId: id,
    firstRow: matchedRows[0]?.row ?? chunk.firstRow,
    isNew,
  }));
  // The statements run one after the other on one connection; the later ones are built while PostgreSQL runs the first.
  await Promise.all([
    insertPatients(tx, created),
    updatePatients(tx, changed),
    addAllMemberships(tx, persons.flatMap(membershipsOf)),
    recordBulkPatients(tx, job.requestId, noted),
  ]);
}

/** The new and changed patients after merging their rows in file order. Unchanged patients are left out. */
function contentsOf(chunk: JudgedChunk, persons: readonly PersonWithRows[], defaultFacilityId: string) {
  const created: IdentifiedContent[] = [];
  const changed: IdentifiedContent[] = [];
  for (const { id, matchedRows } of persons) {
    const patient = chunk.patients.get(id);
    const content = contentAfter(patient, matchedRows, defaultFacilityId);
    if (content === undefined) continue;
    if (patient === undefined) created.push({ id, content });
    else if (!isSameContent(patient, content)) changed.push({ id, content });
  }
  return { created, changed };
}

function membershipsOf({ id, matchedRows }: PersonWithRows) {
  if (matchedRows.every(({ cohorts }) => cohorts.length === 0)) return [];
  const cohortIds = new Set<string>();
  for (const { cohorts } of matchedRows) for (const cohort of cohorts) cohortIds.add(cohort.id);
  return [...cohortIds].map((cohortId) => ({ cohortId, patientId: id }));
}
