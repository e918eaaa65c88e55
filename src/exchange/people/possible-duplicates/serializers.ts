import type { PossibleDuplicateResponse } from '../../../contract/possible-duplicates.ts';
import type { StoredDuplicate } from './duplicate-store.ts';

/** The pairs of a patient as the answer to a create names them. */
export const namedDuplicates = (rows: readonly StoredDuplicate[], patientId: string) =>
  rows.map(({ id, patient_id, other_patient_id, grade, agrees, contradicts }) => ({
    ...{ id, grade, agrees, contradicts },
    patientId: patient_id === patientId ? other_patient_id : patient_id,
  }));

export const serializeDuplicate = (row: StoredDuplicate): PossibleDuplicateResponse => ({
  id: row.id,
  status: row.status,
  patientIds: [row.patient_id, row.other_patient_id],
  grade: row.grade,
  score: row.score,
  agrees: row.agrees,
  contradicts: row.contradicts,
  foundAt: row.found_at.toISOString(),
  ...(row.decided_at === null ? {} : { decidedAt: row.decided_at.toISOString() }),
});
