import { sql } from 'kysely';
import type { RecordSource } from '../../../../contract/primitives.ts';
import {
  columnsOf,
  type Members,
  membersOf,
} from '../../../platform/database/columns.ts';
import type {
  AccountTx,
  SystemTx,
} from '../../../platform/database/database.ts';
import { sqlFile } from '../../../platform/database/pg-arrays.ts';
import { lockRecord } from '../../../records/merge/merge-store.ts';
import type { InboundFormat } from '../inbound.ts';

const RECORD_CONCERNED = sqlFile('record-concerned.sql', import.meta.url);
const RETIRE_OWN = sqlFile('retire-own.sql', import.meta.url);

/**
 * Notes that a subject may have changed for the patients of an account who were
 * notified of it, or have it in their record: `patientId`, whom it is about
 * now, and those whom it was about before. Returns those whose record must
 * follow.
 *
 * @param isRecorded it is recorded although nothing was announced
 */
export async function noteRecordings(
  tx: AccountTx,
  subjectId: string,
  {
    patientId,
    isRecorded,
  }: { patientId: string | undefined; isRecorded: boolean },
): Promise<{ patientId: string; subjectId: string }[]> {
  const { rows } = await RECORD_CONCERNED<{
    patientId: string;
    subjectId: string;
  }>({
    accountId: tx.accountId,
    subjectId,
    patientId: patientId ?? null,
    isRecorded: isRecorded && patientId !== undefined,
  }).execute(tx.db);
  return rows;
}

export type Recording = Members<'recorded_subject'>;

/** @param lock keeps the row until the transaction ends */
export async function readRecording(
  tx: AccountTx,
  { patientId, subjectId }: { patientId: string; subjectId: string },
  lock = false,
): Promise<Recording | undefined> {
  const query = tx.db
    .selectFrom('recorded_subject')
    .selectAll()
    .where(({ and }) => and({ patient_id: patientId, subject_id: subjectId }));
  const row = await (lock ? query.forUpdate() : query).executeTakeFirst();
  return row && membersOf(row);
}

export async function markRecorded(
  tx: AccountTx,
  of: { patientId: string; subjectId: string },
  state: { recorded?: number; toBeRead?: boolean },
): Promise<void> {
  await tx.db
    .updateTable('recorded_subject')
    .set(columnsOf(state))
    .where(({ and }) =>
      and({ patient_id: of.patientId, subject_id: of.subjectId }),
    )
    .execute();
}

export interface SubjectToRecord
  extends Pick<
    Members<'recorded_subject'>,
    'accountId' | 'patientId' | 'subjectId'
  > {
  since: Date;
}

/**
 * Subjects that are to be recorded or whose documents are to be converted,
 * those that have waited longest first.
 */
export async function subjectsToRecord(
  tx: SystemTx,
  { olderThanMs, limit }: { olderThanMs: number; limit: number },
): Promise<SubjectToRecord[]> {
  return tx.db
    .selectFrom('recorded_subject')
    .select([
      'account_id as accountId',
      'patient_id as patientId',
      'subject_id as subjectId',
    ])
    .select('changed_at as since')
    .where(sql<boolean>`(wanted > recorded or to_be_read)`)
    .where(
      'changed_at',
      '<',
      sql<Date>`now() - ${olderThanMs} * interval '1 millisecond'`,
    )
    .orderBy('changed_at')
    .limit(limit)
    .execute();
}

export interface StoredMessageContent {
  format: InboundFormat;
  recordedAt: string;
  timeZone: string;
  blobRef: string;
}

/** The messages with these ids, in their order. */
export async function readMessageContents(
  tx: SystemTx,
  ids: readonly string[],
): Promise<StoredMessageContent[]> {
  const rows = await tx.db
    .selectFrom('inbound_message')
    .select([
      'id',
      'format',
      'recorded_at as recordedAt',
      'time_zone as timeZone',
      'content',
    ])
    .where('id', '=', sql<string>`any(${[...ids]}::uuid[])`)
    .execute();
  const byId = new Map(
    rows.map(({ id, content, recordedAt, ...row }) => [
      id,
      { ...row, recordedAt: recordedAt.toISOString(), blobRef: content.ref },
    ]),
  );
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/**
 * Which of these hashes (hex) the subject's documents of the patient have
 * already.
 */
export async function storedHashes(
  tx: AccountTx,
  { patientId, subjectId }: { patientId: string; subjectId: string },
): Promise<Set<string>> {
  const rows = await tx.db
    .selectFrom('document')
    .select(
      sql<string>`coalesce(source_document_id, '') || ' ' || encode(sha256, 'hex')`.as(
        'name',
      ),
    )
    .where(({ and }) => and({ patient_id: patientId, subject_id: subjectId }))
    .execute();
  return new Set(rows.map(({ name }) => name));
}

/**
 * Retires what was recorded of a subject for a patient and is not among
 * `present` (`Type/id`): the next merge removes it from the record. `moved`:
 * the sender has reported that the subject is about another person.
 */
export async function retireReported(
  tx: AccountTx,
  of: {
    patientId: string;
    subjectId: string;
    source: RecordSource;
    namespace: string;
  },
  present: readonly string[],
  reason: 'deleted' | 'moved',
): Promise<void> {
  // Prevents a concurrent conversion of its documents.
  await lockRecord(tx, of.patientId);
  await RETIRE_OWN({
    patientId: of.patientId,
    source: of.source,
    namespace: of.namespace,
    present: [...present],
    subjectId: of.subjectId,
    reason,
  }).execute(tx.db);
}

export async function readKind(
  tx: SystemTx,
  subjectId: string,
): Promise<'encounter' | 'pharmacy' | 'laboratory' | 'clinical'> {
  const { kind } = await tx.db
    .selectFrom('inbound_subject')
    .select('kind')
    .where('id', '=', subjectId)
    .executeTakeFirstOrThrow();
  return kind;
}
