import { sql } from 'kysely';
import type { PATIENT_SORT } from '../../../contract/patients-endpoints.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  column,
  type ListOrder,
  type Page,
  type PageRequest,
  readPage,
} from '../../platform/database/page.ts';
import { type StoredPatient, toPatient } from './patient-store.ts';

export const PATIENT_ORDER: ListOrder<(typeof PATIENT_SORT)[number]> = {
  columns: {
    id: column('patient.id', 'uuid'),
    createdAt: column('patient.created_at', 'timestamptz'),
  },
  unique: 'id',
  tieBreak: column('patient.id', 'uuid'),
  default: [{ column: 'createdAt', direction: 'desc' }],
};

/** Whether a word looks the same in JSON and PostgreSQL arrays, which escape quotes and backslashes. */
const isPlain = (word: string): boolean => !/["\\]/.test(word);

/** A case-insensitive regular expression for a word; PostgreSQL's own case folding may cover only ASCII. */
export const expressionOf = (word: string): string =>
  [...word.normalize('NFC')]
    .map((letter) => [...new Set([letter, letter.toLowerCase(), letter.toUpperCase()])])
    .map((cases) => `(?:${cases.map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')})`)
    .join('');

/** A page of the account's patients that match the filter, and the total number of matches. */
export async function listPatients(
  tx: AccountTx,
  filter: {
    facilityId?: string;
    externalId?: string;
    /** Words that must all occur. */
    words?: readonly string[];
  },
  request: PageRequest,
): Promise<Page<StoredPatient> & { total: number }> {
  let matching = tx.db.selectFrom('patient');
  if (filter.externalId !== undefined) matching = matching.where('external_id', '=', filter.externalId);
  if (filter.facilityId !== undefined) {
    matching = matching.where(sql<boolean>`facility_ids @> array[${filter.facilityId}::uuid]`);
  }
  if (filter.words !== undefined && filter.words.length > 0) {
    const [all, plain] = [filter.words, filter.words.filter(isPlain)].map((words) => words.map(expressionOf));
    const found = sql`select patients_with_words(${all}::text[], ${plain}::text[])`;
    matching = matching.where(sql<boolean>`patient.id in (${found})`);
  }
  const { total } = await matching
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  const page = await readPage(matching.selectAll('patient'), PATIENT_ORDER, request);
  return { ...page, items: page.items.map(toPatient), total };
}
