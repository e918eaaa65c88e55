import type { PossibleDuplicateResponse } from '../../contract/possible-duplicates.ts';
import type { StoredDuplicate } from './duplicate-store.ts';

export const serializeDuplicate = (row: StoredDuplicate): PossibleDuplicateResponse => ({
  id: row.id,
  status: row.status,
  patientIds: [row.patient_id, row.other_patient_id],
  grade: row.grade,
  score: row.score,
  agrees: row.agrees,
  foundAt: row.found_at.toISOString(),
  ...(row.decided_at === null ? {} : { decidedAt: row.decided_at.toISOString() }),
});
