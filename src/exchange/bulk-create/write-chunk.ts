import { isSameContent } from '../patients/rules/patient-content.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { type BulkJob, claimsOf, type JudgedChunk, type MatchedRow } from './judge-chunk.ts';
import {
  addAllMemberships,
  type IdentifiedContent,
  insertPatients,
  noteBulkPatients,
  updatePatients,
} from './patient-store.ts';
import { contentAfter } from './row-content.ts';
import type { FoldedPerson } from './rules/bulk-fold.ts';
import { insertTrialKeys } from './trial-store.ts';

/** A person of the chunk with its rows, at least one. */
interface ToldPerson extends FoldedPerson {
  told: MatchedRow[];
}

/** Writes what was decided about a chunk's rows: patients and cohorts; in a dry run only who would hold which key. */
export async function writeChunk(tx: AccountTx, job: BulkJob, chunk: JudgedChunk): Promise<void> {
  const persons: ToldPerson[] = [];
  for (const person of chunk.persons) {
    const told = person.rows.flatMap((place) => chunk.matched[place] ?? []);
    if (told.length > 0) persons.push({ ...person, told });
  }
  if (job.dryRun) {
    const trials = claimsOf(chunk).map((claim) => ({
      ...claim,
      firstRow: chunk.trialRows.get(claim.personId) ?? null,
    }));
    await insertTrialKeys(tx, job.requestId, trials);
    return;
  }
  const { created, changed } = contentsOf(chunk, persons, job.facilityId);
  const noted = persons.map(({ id, told }) => ({ patientId: id, firstRow: told[0]?.row ?? chunk.firstRow }));
  // One after the other on their connection, but all made ready while PostgreSQL does the first.
  await Promise.all([
    insertPatients(tx, created),
    updatePatients(tx, changed),
    addAllMemberships(tx, persons.flatMap(membershipsOf)),
    noteBulkPatients(tx, job.requestId, noted),
  ]);
}

/** The rows of a person, merged in the order of the file. Patients to whom nothing is new are left as they are. */
function contentsOf(chunk: JudgedChunk, persons: readonly ToldPerson[], defaultFacilityId: string) {
  const created: IdentifiedContent[] = [];
  const changed: IdentifiedContent[] = [];
  for (const { id, told } of persons) {
    const patient = chunk.patients.get(id);
    const content = contentAfter(patient, told, defaultFacilityId);
    if (content === undefined) continue;
    if (patient === undefined) created.push({ id, content });
    else if (!isSameContent(patient, content)) changed.push({ id, content });
  }
  return { created, changed };
}

function membershipsOf({ id, told }: ToldPerson) {
  const cohortIds = new Set<string>();
  for (const { cohorts } of told) for (const cohort of cohorts) cohortIds.add(cohort.id);
  return [...cohortIds].map((cohortId) => ({ cohortId, patientId: id }));
}
