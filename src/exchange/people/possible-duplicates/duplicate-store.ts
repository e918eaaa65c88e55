import { type Selectable, sql } from 'kysely';
import {
  POSSIBLE_DUPLICATE_SORT,
  type PossibleDuplicateResponse,
} from '../../../contract/possible-duplicates.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  type CountedPage,
  newestFirst,
  type PageRequest,
  readCountedPage,
} from '../../platform/database/page.ts';
import type { Database } from '../../platform/database/schema.ts';

export type StoredDuplicate = Selectable<Database['possible_duplicate']>;

export const DUPLICATE_ORDER = newestFirst(
  POSSIBLE_DUPLICATE_SORT,
  'possible_duplicate.found_at',
  'possible_duplicate.id',
);

export async function listDuplicates(
  tx: AccountTx,
  {
    status,
    patientId,
  }: { status?: StoredDuplicate['status']; patientId?: string },
  request: PageRequest,
): Promise<CountedPage<StoredDuplicate>> {
  let matching = tx.db.selectFrom('possible_duplicate');
  if (status !== undefined) matching = matching.where('status', '=', status);
  if (patientId !== undefined)
    matching = matching.where(({ or, eb }) =>
      or([
        eb('patient_id', '=', patientId),
        eb('other_patient_id', '=', patientId),
      ]),
    );
  const page = await readCountedPage(
    tx.db,
    matching.selectAll('possible_duplicate'),
    DUPLICATE_ORDER,
    request,
  );
  return { ...page };
}

/**
 * The undecided pairs of a patient, the likeliest first; at most ten, as a
 * response to a create names them.
 */
export async function openDuplicates(
  tx: AccountTx,
  patientId: string,
): Promise<StoredDuplicate[]> {
  return tx.db
    .selectFrom('possible_duplicate')
    .selectAll()
    .where('status', '=', 'open')
    .where(({ or, eb }) =>
      or([
        eb('patient_id', '=', patientId),
        eb('other_patient_id', '=', patientId),
      ]),
    )
    .orderBy('score', 'desc')
    .orderBy('id')
    .limit(NAMED_MAX)
    .execute();
}
const NAMED_MAX = 10;

export async function findDuplicate(
  tx: AccountTx,
  id: string,
): Promise<StoredDuplicate | undefined> {
  return tx.db
    .selectFrom('possible_duplicate')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst();
}

/**
 * Records a decision, over an earlier one if there is one. A repeated decision
 * changes nothing.
 */
export async function decideDuplicate(
  tx: AccountTx,
  id: string,
  status: 'accepted' | 'refused',
): Promise<StoredDuplicate | undefined> {
  await tx.db
    .updateTable('possible_duplicate')
    .set({ status, decided_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where('status', '<>', status)
    .execute();
  return findDuplicate(tx, id);
}

/** The pairs of a patient as the response to a create names them. */
export const namedDuplicates = (
  rows: readonly StoredDuplicate[],
  patientId: string,
) =>
  rows.map(
    ({ id, patient_id, other_patient_id, grade, agrees, contradicts }) => ({
      id,
      grade,
      agrees,
      contradicts,
      patientId: patient_id === patientId ? other_patient_id : patient_id,
    }),
  );

export const serializeDuplicate = (
  row: StoredDuplicate,
): PossibleDuplicateResponse => ({
  id: row.id,
  status: row.status,
  patientIds: [row.patient_id, row.other_patient_id],
  grade: row.grade,
  score: row.score,
  agrees: row.agrees,
  contradicts: row.contradicts,
  foundAt: row.found_at.toISOString(),
  ...(row.decided_at === null
    ? {}
    : { decidedAt: row.decided_at.toISOString() }),
});
