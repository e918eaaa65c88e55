import { sql } from 'kysely';
import type { SourceStepInput } from '../../contract/network-query-steps.ts';
import type { SourceType } from '../../contract/primitives.ts';
import type { Demographics } from '../patients/rules/demographics.ts';
import type { AccountTx, SystemTx } from '../platform/database/database.ts';
import { addToTimeline } from './timeline-store.ts';

/** Where an attempt stands and whom it asks for: all that a step needs to begin or to go on after a crash. */
export interface AttemptWork {
  patientId: string;
  demographics: Demographics;
  realtime: boolean;
  /** With purpose ias: until when a source may be asked; `null` when its session is gone. Undefined for treatment. */
  accessEndsAt?: Date | null;
  status: 'running' | 'completed' | 'failed';
  reason: string | null;
  resources: number;
  pages: number;
  /** Every page is kept; what is left is to merge them and to end the attempt. */
  isCollected: boolean;
  job: Record<string, unknown> | null;
  cursor: Record<string, unknown> | null;
}

export async function readAttempt(tx: AccountTx, step: SourceStepInput): Promise<AttemptWork | undefined> {
  const row = await tx.db
    .selectFrom('network_query_attempt as a')
    .innerJoin('network_query as q', 'q.id', 'a.query_id')
    .innerJoin('patient as p', 'p.id', 'q.patient_id')
    .leftJoin('aal2_challenge as c', 'c.id', 'q.aal2_challenge_id')
    .select(['a.status', 'a.reason', 'a.resources', 'a.pages', 'a.collected', 'a.job', 'a.cursor'])
    .select(['q.patient_id', 'q.requested', 'q.purpose_of_use', 'c.session_expires_at'])
    .select([
      'p.first_names',
      'p.last_names',
      'p.dob',
      'p.gender',
      'p.addresses',
      'p.contacts',
      'p.personal_identifiers',
    ])
    .where('a.query_id', '=', step.requestId)
    .where('a.source', '=', step.source)
    .where('a.attempt', '=', step.attempt)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  return {
    patientId: row.patient_id,
    demographics: {
      firstNames: row.first_names,
      lastNames: row.last_names,
      dob: row.dob,
      gender: row.gender,
      addresses: row.addresses,
      contacts: row.contacts,
      personalIdentifiers: row.personal_identifiers,
    },
    realtime: row.requested.some(({ source, realtime }) => source === step.source && realtime),
    accessEndsAt: row.purpose_of_use === 'ias' ? row.session_expires_at : undefined,
    status: row.status,
    reason: row.reason,
    resources: row.resources,
    pages: row.pages,
    isCollected: row.collected,
    job: row.job,
    cursor: row.cursor,
  };
}

/** Writes a further attempt of a source, once; the one before it then no longer waits for it. */
export async function insertNextAttempt(
  tx: AccountTx,
  step: SourceStepInput,
  callbackHash: Buffer,
): Promise<void> {
  await tx.db
    .updateTable('network_query_attempt')
    .set({ will_retry: false })
    .where('query_id', '=', step.requestId)
    .where('source', '=', step.source)
    .where('will_retry', '=', true)
    .execute();
  await tx.db
    .insertInto('network_query_attempt')
    .values({
      query_id: step.requestId,
      source: step.source,
      attempt: step.attempt,
      run: step.run,
      account_id: tx.accountId,
      status: 'running',
      callback_hash: callbackHash,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await tx.db
    .updateTable('network_query_run')
    .set({ ended_at: null })
    .where('query_id', '=', step.requestId)
    .where('run', '=', step.run)
    .execute();
}

/** The source's newest attempt, if there is one. */
export async function newestAttempt(
  tx: AccountTx,
  requestId: string,
  source: SourceType,
): Promise<{ attempt: number; status: AttemptWork['status'] } | undefined> {
  return tx.db
    .selectFrom('network_query_attempt')
    .select(['attempt', 'status'])
    .where('query_id', '=', requestId)
    .where('source', '=', source)
    .orderBy('attempt', 'desc')
    .limit(1)
    .executeTakeFirst();
}

const ofAttempt = (tx: AccountTx, step: SourceStepInput) =>
  tx.db
    .updateTable('network_query_attempt')
    .where('query_id', '=', step.requestId)
    .where('source', '=', step.source)
    .where('attempt', '=', step.attempt);

/** Keeps the handle of an accepted request, so that a crash does not ask twice. */
export async function saveJob(
  tx: AccountTx,
  step: SourceStepInput,
  job: Record<string, unknown>,
): Promise<void> {
  await ofAttempt(tx, step)
    .set({ job: JSON.stringify(job) })
    .where('status', '=', 'running')
    .execute();
}

export interface PageCounts {
  resources: number;
  strays: number;
  documents: number;
}

/**
 * Notes a collected page and where to go on. False when the page must not be kept: the attempt has ended meanwhile,
 * or a twin of this step (one of them timed out and is still at it) has kept a page after the same `pagesBefore`.
 */
export async function savePage(
  tx: AccountTx,
  step: SourceStepInput,
  pagesBefore: number,
  counts: PageCounts,
  cursor: Record<string, unknown> | null,
): Promise<boolean> {
  const updated = await ofAttempt(tx, step)
    .set({
      cursor: cursor === null ? null : JSON.stringify(cursor),
      collected: cursor === null,
      pages: sql`pages + 1`,
      resources: sql`resources + ${counts.resources}`,
      strays: sql`strays + ${counts.strays}`,
      documents: sql`documents + ${counts.documents}`,
    })
    .where('status', '=', 'running')
    .where('pages', '=', pagesBefore)
    .returning('attempt')
    .executeTakeFirst();
  return updated !== undefined;
}

/** Ends an attempt; undefined when it had ended before. */
export async function endAttempt(
  tx: AccountTx,
  step: SourceStepInput,
  end: { status: 'completed' | 'failed'; reason?: string; willRetry?: boolean },
): Promise<{ completedAt: Date; resources: number; strays: number; documents: number } | undefined> {
  const forGood = end.status === 'failed' && end.willRetry !== true;
  const row = await ofAttempt(tx, step)
    .set({
      status: end.status,
      reason: end.reason ?? null,
      will_retry: end.willRetry ?? false,
      completed_at: sql<Date>`coalesce(completed_at, clock_timestamp())`,
    })
    // A failed attempt whose repetition is given up ends once more, now for good.
    .where(({ or, eb }) =>
      or([eb('status', '=', 'running'), ...(forGood ? [eb('will_retry', '=', true)] : [])]),
    )
    .returning(['completed_at', 'resources', 'strays', 'documents'])
    .executeTakeFirst();
  if (row?.completed_at == null) return undefined;
  return {
    completedAt: row.completed_at,
    resources: row.resources,
    strays: row.strays,
    documents: row.documents,
  };
}

export interface CalledAttempt {
  accountId: string;
  requestId: string;
  run: number;
  source: SourceType;
  attempt: number;
  status: 'running' | 'completed' | 'failed';
}

/** The attempt whose callback token has this hash. */
export async function findAttemptByCallback(tx: SystemTx, hash: Buffer): Promise<CalledAttempt | undefined> {
  const row = await tx.db
    .selectFrom('network_query_attempt')
    .select(['account_id', 'query_id', 'run', 'source', 'attempt', 'status'])
    .where('callback_hash', '=', hash)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { run, source, attempt, status } = row;
  return { accountId: row.account_id, requestId: row.query_id, run, source, attempt, status };
}

/** Tells a callback in the timeline; a repeat is told once. */
export async function noteCallback(
  tx: AccountTx,
  { requestId, source, attempt }: CalledAttempt,
): Promise<void> {
  const onceKey = `callback/${source}/${attempt}`;
  await addToTimeline(tx, requestId, {
    source,
    attempt,
    kind: 'callback',
    message: 'The source says it is ready',
    onceKey,
  });
  await tx.db
    .updateTable('network_query_attempt')
    .set({ callback_at: new Date() })
    .where('query_id', '=', requestId)
    .where('source', '=', source)
    .where('attempt', '=', attempt)
    .where('callback_at', 'is', null)
    .execute();
}
