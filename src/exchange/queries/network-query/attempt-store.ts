import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { type Selectable, sql } from 'kysely';
import type { SourceStepInput } from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import type { Demographics } from '../../people/patients/rules/demographics.ts';
import { membersOf } from '../../platform/database/columns.ts';
import {
  type AccountTx,
  notFlushed,
  type Store,
} from '../../platform/database/database.ts';
import type { Database } from '../../platform/database/schema.ts';
import type { AskedConnection } from '../../sources/connections/connections.ts';
import type { SourceConnector } from '../../sources/connectors/connector.ts';
import type { PurposeOfUse } from '../../sources/connectors/source-config.ts';
import { isWhole, ofConnection, updatePart } from './part-store.ts';
import type { Collection } from './tables.ts';
import { addOfStep } from './timeline-store.ts';

/**
 * The state of an attempt and the patient it asks about: all that a step needs
 * to start, or to resume after a crash.
 */
export type AttemptWork = ReturnType<typeof workOf> & {
  /**
   * Set when everything is asked for because these counts of the source
   * differed.
   */
  counts?: Readonly<Record<string, number>>;
};

export const purposeOf = ({
  accessEndsAt,
}: Pick<AttemptWork, 'accessEndsAt'>): PurposeOfUse =>
  accessEndsAt === undefined ? 'treatment' : 'ias';

type Attempt = Selectable<Database['network_query_attempt']>;
type Query = Selectable<Database['network_query']>;
type Patient = Selectable<Database['patient']>;

/** A row of `open_attempt` (0591-one-statement.sql). */
type OpenedAttempt = Pick<
  Attempt,
  | 'status'
  | 'will_retry'
  | 'reason'
  | 'resources'
  | 'pages'
  | 'collected'
  | 'job'
  | 'cursor'
  | 'failed_calls'
  | 'started_at'
  | 'gateways_chosen_at'
> &
  Pick<Query, 'patient_id' | 'requested' | 'purpose_of_use'> &
  // Some connections answer only for patients of their facilities.
  Pick<
    Patient,
    | 'facility_ids'
    | 'first_names'
    | 'last_names'
    | 'dob'
    | 'gender'
    | 'addresses'
    | 'contacts'
    | 'personal_identifiers'
  > & {
    is_denied: boolean;
    session_expires_at: Date | null;
    /** Or it has some: those of the account's own connections. */
    may_have_parts: boolean;
  };

/**
 * The attempt that a step works on, of which the query's timeline now says that
 * the source is asked; undefined when it has not been written, or was deleted
 * with its query.
 */
export async function readOpened(
  store: Pick<Store, 'callAsAccount'>,
  { accountId, requestId, source, attempt }: SourceStepInput,
): Promise<AttemptWork | undefined> {
  const [row] = await store.callAsAccount(
    accountId,
    sql<OpenedAttempt>`select opened.* from ${notFlushed}, open_attempt(${accountId}, ${requestId}, ${source}, ${attempt}) as opened`,
  );
  return row && workOf(source, row);
}

function workOf(source: SourceType, row: OpenedAttempt) {
  const { requested, purpose_of_use, session_expires_at, collected, ...known } =
    row;
  const members = membersOf(known);
  return {
    ...members,
    demographics: members satisfies Demographics as Demographics,
    realtime: requested.some(
      (asked) => asked.source === source && asked.realtime,
    ),
    /**
     * With purpose `ias`: when the AAL2 session ends; `null` when the session
     * was deleted. Undefined for treatment.
     */
    accessEndsAt: purpose_of_use === 'ias' ? session_expires_at : undefined,
    /** Every page is stored; merging them and ending the attempt remain. */
    isCollected: collected,
  };
}

/** How an attempt stands. */
export async function readStatus(
  tx: AccountTx,
  step: SourceStepInput,
): Promise<AttemptWork['status'] | undefined> {
  const row = await tx.db
    .selectFrom('network_query_attempt')
    .select('status')
    .where(({ and }) =>
      and({
        query_id: step.requestId,
        source: step.source,
        attempt: step.attempt,
      }),
    )
    .executeTakeFirst();
  return row?.status;
}

const LOST_REASON =
  'Its end was lost when the exchange was restored from a backup';

/**
 * Inserts a further attempt of a source, and marks the attempt before as no
 * longer waiting for it. Safe to repeat. An earlier attempt that is still
 * running here had ended before PostgreSQL was restored from a backup.
 */
export async function insertNextAttempt(
  tx: AccountTx,
  step: SourceStepInput,
  callbackHash: Buffer,
): Promise<void> {
  await tx.db.later
    .updateTable('network_query_attempt')
    .set({ will_retry: false })
    .where(({ and }) =>
      and({ query_id: step.requestId, source: step.source, will_retry: true }),
    )
    .execute();
  await tx.db.later
    .updateTable('network_query_attempt')
    .set({
      status: 'failed',
      reason: LOST_REASON,
      completed_at: sql<Date>`clock_timestamp()`,
    })
    .where(({ and }) => and({ query_id: step.requestId, source: step.source }))
    .where('attempt', '<', step.attempt)
    .where('status', '=', 'running')
    .execute();
  await tx.db.later
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
  await tx.db.later
    .updateTable('network_query_run')
    .set({ ended_at: null })
    .where(({ and }) => and({ query_id: step.requestId, run: step.run }))
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
    .where(({ and }) => and({ query_id: requestId, source }))
    .orderBy('attempt', 'desc')
    .limit(1)
    .executeTakeFirst();
}

export const updateAttempt = (tx: AccountTx, step: SourceStepInput) =>
  tx.db.updateTable('network_query_attempt').where(({ and }) =>
    and({
      query_id: step.requestId,
      source: step.source,
      attempt: step.attempt,
    }),
  );

/** A step on one connection of a source. */
export interface PartStep extends SourceStepInput {
  part: AskedConnection;
}

/**
 * What the breaker, the change checks and the candidates know a step's
 * connection by.
 */
export const connectionKey = ({ source, part }: PartStep): string =>
  part.id ?? source;

/**
 * Names the part within its query: `hie/1`, or `hie/1/<connection id>`. Stored
 * keys depend on it.
 */
export const partKey = ({ source, attempt, part }: PartStep): string =>
  isWhole(part) ? `${source}/${attempt}` : `${source}/${attempt}/${part.id}`;

/**
 * What a step does on one connection to a source: which step, how far its part
 * is, and whom it asks.
 */
export interface SourceWork {
  step: PartStep;
  work: AttemptWork;
  /** Reports to the breaker whenever the source answers. */
  connector: SourceConnector;
  signal: AbortSignal;
}

/** The row with the progress of a part. */
export const updateProgress = (
  tx: AccountTx,
  step: PartStep,
): Pick<ReturnType<typeof updateAttempt>, 'set'> =>
  isWhole(step.part)
    ? updateAttempt(tx, step)
    : // All columns of progress are in both tables.
      (updatePart(tx, step, step.part.id) as unknown as ReturnType<
        typeof updateAttempt
      >);

/** The state of an attempt whose source answers. */
export const ANSWERED = {
  failed_calls: 0,
  failing_since: null,
  waiting_for: null,
  next_try_at: null,
};

/**
 * Stores the handle of a request that the source accepted, so that a step after
 * a crash does not ask again, and records it in the timeline. Returns false
 * when there is a request already, or the attempt has ended: the source need
 * not work on this one.
 */
export async function keepJob(
  tx: AccountTx,
  step: PartStep,
  job: Record<string, unknown>,
): Promise<boolean> {
  // A part's own row does not say that the attempt has ended. Locked, so that
  // it cannot end before the job is stored.
  const open = await tx.db
    .selectFrom('network_query_attempt')
    .select('attempt')
    .where('query_id', '=', step.requestId)
    .where(({ and }) =>
      and({ source: step.source, attempt: step.attempt, status: 'running' }),
    )
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (open === undefined) return false;
  const kept = await updateProgress(tx, step)
    .set({ job: JSON.stringify(job), ...ANSWERED })
    .where('status', '=', 'running')
    .where('job', 'is', null)
    .returning('attempt')
    .executeTakeFirst();
  if (kept === undefined) return false;
  const message = ofConnection(step, 'The source is working on it');
  await addOfStep(tx, step, { kind: 'accepted', message });
  return true;
}

/** Forgets the handle of a request whose answer has come to us. */
export async function forgetJob(tx: AccountTx, step: PartStep): Promise<void> {
  await updateProgress(tx, step)
    .set({ job: null, ...ANSWERED })
    .where('status', '=', 'running')
    .execute();
}

/** Stores the handle again after it has changed. */
export async function saveJob(
  tx: AccountTx,
  step: PartStep,
  job: Record<string, unknown>,
): Promise<void> {
  await updateProgress(tx, step)
    .set({ job: JSON.stringify(job), ...ANSWERED })
    .where('status', '=', 'running')
    .execute();
}

export interface PageCounts {
  resources: number;
  strays: number;
  documents: number;
  /** The page lacks something that the source should have delivered. */
  hasGap: boolean;
}

/**
 * Adds a page to the counts of a part and of its attempt, and saves the
 * position to resume from (`null` after the last page).
 *
 * @param beginning how the connection was asked, with the first page of an
 *   answer for which that is not recorded yet
 * @returns the page's place in the attempt; undefined when the page must not be
 *   stored: the attempt has ended meanwhile, or another execution of this step
 *   (one of the two timed out and still runs) has stored a page after the same
 *   `pagesBefore`. With it, how the connection was asked.
 */
export async function savePage(
  tx: AccountTx,
  step: PartStep,
  pagesBefore: number,
  counts: PageCounts,
  cursor: Record<string, unknown> | null,
  beginning?: Collection,
): Promise<{ place: number; collection: Collection | undefined } | undefined> {
  const added = {
    pages: sql<number>`pages + 1`,
    first_page_at: sql<Date>`coalesce(first_page_at, clock_timestamp())`,
    resources: sql<number>`resources + ${counts.resources}`,
    strays: sql<number>`strays + ${counts.strays}`,
    documents: sql<number>`documents + ${counts.documents}`,
    ...ANSWERED,
  };
  const position = {
    cursor: cursor === null ? null : JSON.stringify(cursor),
    collected: cursor === null,
  };
  const gap = counts.hasGap
    ? { collection: sql<string>`collection || '{"hasGaps": true}'` }
    : {};
  const gaps = counts.hasGap ? { hasGaps: true } : {};
  const begun =
    beginning === undefined
      ? {}
      : { collection: JSON.stringify({ ...beginning, ...gaps }) };
  // Before the part, in the order in which giving the attempt up locks them.
  if (!isWhole(step.part)) await lockAttempt(tx, step);
  const saved = await updateProgress(tx, step)
    .set({ ...position, ...added, ...gap, ...begun })
    .where(({ and }) => and({ status: 'running', pages: pagesBefore }))
    .returning(['attempt', 'collection'])
    .executeTakeFirst();
  if (saved === undefined) return undefined;
  const collectedAs = saved.collection ?? undefined;
  if (isWhole(step.part))
    return { place: pagesBefore, collection: collectedAs };
  const attempt = await updateAttempt(tx, step)
    .set(added)
    .where('status', '=', 'running')
    .returning('pages')
    .executeTakeFirst();
  return attempt === undefined
    ? undefined
    : { place: attempt.pages - 1, collection: collectedAs };
}

/**
 * Saves how far the step has come with a part whose pages are all stored, for
 * the one that goes on.
 */
export async function savePosition(
  tx: AccountTx,
  step: PartStep,
  position: Record<string, unknown>,
): Promise<void> {
  await updateProgress(tx, step)
    .set({ cursor: JSON.stringify(position) })
    .where(({ and }) => and({ status: 'running', collected: true }))
    .execute();
}

async function lockAttempt(
  tx: AccountTx,
  { requestId, source, attempt }: SourceStepInput,
): Promise<void> {
  await tx.db.later
    .selectFrom('network_query_attempt')
    .select('attempt')
    .where(({ and }) => and({ query_id: requestId, source, attempt }))
    .forUpdate()
    .execute();
}

/**
 * Ends an attempt and returns its counts; undefined when it had already ended.
 */
export async function endAttempt(
  tx: AccountTx,
  step: SourceStepInput,
  end: { status: 'completed' | 'failed'; reason?: string; willRetry?: boolean },
): Promise<
  | { completedAt: Date; resources: number; strays: number; documents: number }
  | undefined
> {
  const isFinal = end.status === 'failed' && end.willRetry !== true;
  const row = await updateAttempt(tx, step)
    .set({
      status: end.status,
      reason: end.reason ?? null,
      will_retry: end.willRetry ?? false,
      completed_at: sql<Date>`coalesce(completed_at, clock_timestamp())`,
      ...ANSWERED,
    })
    // A failed attempt that awaits its retry may end once more, without a
    // retry: the source was given up meanwhile.
    .where(({ or, eb }) =>
      or([
        eb('status', '=', 'running'),
        ...(isFinal ? [eb('will_retry', '=', true)] : []),
      ]),
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

/** Completes an attempt whose row is locked and running, later. */
export async function writeCompleted(
  tx: AccountTx,
  { requestId, source, attempt }: SourceStepInput,
  end: { completedAt: Date; reason?: string },
): Promise<void> {
  await tx.db.later
    .updateTable('network_query_attempt')
    .set({
      status: 'completed',
      reason: end.reason ?? null,
      will_retry: false,
      completed_at: end.completedAt,
      ...ANSWERED,
    })
    .where(({ and }) => and({ query_id: requestId, source, attempt }))
    .execute();
}

/**
 * The unguessable part of an attempt's callback URL. It is derived from
 * LINK_SIGNING_KEY and never stored; the attempt's row holds only its SHA-256.
 */
export function callbackToken(
  key: string,
  requestId: string,
  source: SourceType,
  attempt: number,
): string {
  return createHmac('sha256', key)
    .update(`source-callback/${requestId}/${source}/${attempt}`)
    .digest('base64url');
}

export const callbackHash = (token: string): Buffer =>
  createHash('sha256').update(token).digest();

/**
 * Whether a text has the form of a callback token; any other text need not be
 * looked up.
 */
export const isCallbackToken = (text: string): boolean =>
  /^[\w-]{43}$/.test(text);

/**
 * The token as connections of an account get it: with a proof that we made it.
 * Their keys are in the database, and only a source that was given a token may
 * make us read them.
 */
export const provenToken = (key: string, token: string): string =>
  `${token}.${proofOf(key, token)}`;

/** The token, if the text is one with its proof. */
export function tokenOfProven(key: string, text: string): string | undefined {
  const [token = '', proof = ''] = text.split('.');
  if (!isCallbackToken(token) || proof.length !== PROOF_LENGTH)
    return undefined;
  return timingSafeEqual(Buffer.from(proof), Buffer.from(proofOf(key, token)))
    ? token
    : undefined;
}

const PROOF_LENGTH = 22;

const proofOf = (key: string, token: string): string =>
  createHmac('sha256', key)
    .update(`connection-callback/${token}`)
    .digest('base64url')
    .slice(0, PROOF_LENGTH);
