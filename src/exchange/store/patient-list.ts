import { sql } from 'kysely';
import type { PATIENT_SORT } from '../../contract/endpoints/patient.ts';
import type { AccountTx } from './database.ts';
import { column, type ListOrder, type Page, type PageRequest, readPage } from './page.ts';
import { type StoredPatient, toPatient } from './patients.ts';

export const PATIENT_ORDER: ListOrder<(typeof PATIENT_SORT)[number]> = {
  columns: {
    id: column('patient.id', 'uuid'),
    createdAt: column('patient.created_at', 'timestamptz'),
  },
  unique: 'id',
  tieBreak: column('patient.id', 'uuid'),
  default: [{ column: 'createdAt', direction: 'desc' }],
};

/** A page of the account's patients; also tells how many the filter lets through in total. */
export async function listPatients(
  tx: AccountTx,
  filter: { facilityId?: string; externalId?: string },
  request: PageRequest,
): Promise<Page<StoredPatient> & { total: number }> {
  let matching = tx.db.selectFrom('patient');
  if (filter.externalId !== undefined) matching = matching.where('external_id', '=', filter.externalId);
  if (filter.facilityId !== undefined) {
    matching = matching.where(sql<boolean>`facility_ids @> array[${filter.facilityId}::uuid]`);
  }
  const { total } = await matching
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  const page = await readPage(matching.selectAll('patient'), PATIENT_ORDER, request);
  return { ...page, items: page.items.map(toPatient), total };
}
