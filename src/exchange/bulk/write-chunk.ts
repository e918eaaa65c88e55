import type { FoldedPerson } from '../domain/bulk-fold.ts';
import { isSameContent, mergedContent, newContent, type PatientContent } from '../domain/patient-content.ts';
import {
  addAllMemberships,
  claimNewKeys,
  type IdentifiedContent,
  insertPatients,
  noteBulkPatients,
  updatePatients,
} from '../store/bulk-patients.ts';
import { insertTrialKeys } from '../store/bulk-trials.ts';
import type { AccountTx } from '../store/database.ts';
import { asKey, type BulkJob, type JudgedChunk, type MatchedRow } from './judge-chunk.ts';

/** Writes what was decided about a chunk's rows: patients, keys, cohorts; in a dry run only who would hold which key. */
export async function writeChunk(tx: AccountTx, job: BulkJob, chunk: JudgedChunk): Promise<void> {
  const told = chunk.persons.filter(({ rows }) => rows.length > 0);
  const claims = told.flatMap(({ id, newKeys }) => newKeys.map((key) => ({ personId: id, key: asKey(key) })));
  if (job.dryRun) {
    const trials = claims.map((claim) => ({
      ...claim,
      firstRow: chunk.trialRows.get(claim.personId) ?? null,
    }));
    await insertTrialKeys(tx, job.requestId, trials);
    return;
  }
  const { created, changed } = contentsOf(chunk, told, job.facilityId);
  await insertPatients(tx, created);
  await updatePatients(tx, changed);
  await claimNewKeys(tx, claims);
  await addAllMemberships(tx, membershipsOf(chunk, told));
  await noteBulkPatients(
    tx,
    job.requestId,
    told.map((person) => ({
      patientId: person.id,
      firstRow: rowsOf(chunk, person)[0]?.row ?? chunk.firstRow,
    })),
  );
}

/** The rows of a person, merged in the order of the file. Patients to whom nothing is new are left as they are. */
function contentsOf(chunk: JudgedChunk, persons: readonly FoldedPerson[], defaultFacilityId: string) {
  const created: IdentifiedContent[] = [];
  const changed: IdentifiedContent[] = [];
  for (const person of persons) {
    const patient = chunk.patients.get(person.id);
    let content: PatientContent | undefined = patient;
    for (const { person: row, facility } of rowsOf(chunk, person)) {
      const facilityId = facility?.id ?? defaultFacilityId;
      content =
        content === undefined
          ? newContent(row.given, row.facts, facilityId)
          : mergedContent(content, row.given, row.facts, facilityId);
    }
    if (content === undefined) continue;
    if (patient === undefined) created.push({ ...content, id: person.id });
    else if (!isSameContent(patient, content)) changed.push({ ...content, id: person.id });
  }
  return { created, changed };
}

function membershipsOf(chunk: JudgedChunk, persons: readonly FoldedPerson[]) {
  return persons.flatMap((person) => {
    const ids = new Set(rowsOf(chunk, person).flatMap(({ cohorts }) => cohorts.map(({ id }) => id)));
    return [...ids].map((cohortId) => ({ cohortId, patientId: person.id }));
  });
}

const rowsOf = (chunk: JudgedChunk, { rows }: FoldedPerson): MatchedRow[] =>
  rows.flatMap((place) => chunk.matched[place] ?? []);
