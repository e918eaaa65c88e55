import { sql } from 'kysely';
import type { SourceStepInput } from '../../../contract/network-query-workflow.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import type { OwnConnection } from '../../sources/connections/connections.ts';
import {
  ChangesNotHonoured,
  type SourceFailure,
} from '../../sources/connectors/connector.ts';
import type { Hold } from '../../sources/health/source-health.ts';
import {
  ANSWERED,
  connectionKey,
  type PartStep,
  updateAttempt,
  updateProgress,
} from './attempt-store.ts';
import { CountsDiffer, CountsMissing } from './complete.ts';
import { isWhole, ofConnection, updatePart } from './part-store.ts';
import {
  AFTER_FAILURE,
  SHORT_WAIT_MAX_MS,
  waitAfterFailedCalls,
} from './rules/retries.ts';
import { addOfStep, replaceOfStep } from './timeline-store.ts';

/**
 * Whether the same call may succeed later, so that the attempt waits for its
 * source until its deadline.
 */
export const isTemporary = ({ kind }: SourceFailure): boolean =>
  AFTER_FAILURE[kind].next === 'call-again';

/**
 * What follows a failed call; `nextTryAt` is set when the wait is long and
 * shown to callers.
 */
export interface NextTry {
  waitMs: number;
  nextTryAt?: Date;
}

/**
 * Counts a failed call of an attempt and records it in the timeline: each of
 * the first calls, then one entry for the whole wait. Returns what follows;
 * undefined when the failure is not temporary, or the attempt has ended
 * meanwhile.
 */
export async function recordFailedCall(
  tx: AccountTx,
  step: PartStep,
  failure: SourceFailure,
): Promise<NextTry | undefined> {
  const { retryAfterMs } = failure.options;
  const counted = await updateProgress(tx, step)
    .set({
      failed_calls: sql`failed_calls + 1`,
      failing_since: sql<Date>`coalesce(failing_since, clock_timestamp())`,
    })
    .where('status', '=', 'running')
    .returning(['failed_calls', 'failing_since'])
    .executeTakeFirst();
  if (counted === undefined) return undefined;
  const { failed_calls: calls, failing_since: since } = counted;
  const waitMs = isTemporary(failure)
    ? waitAfterFailedCalls(calls, retryAfterMs)
    : undefined;
  if (waitMs === undefined || waitMs <= SHORT_WAIT_MAX_MS || since === null) {
    const asked =
      retryAfterMs === undefined
        ? ''
        : `; asked to wait ${Math.ceil(retryAfterMs / 1000)} s`;
    await addOfStep(tx, step, {
      kind: 'call-failed',
      message: ofConnection(step, `Call ${calls}: ${failure.message}${asked}`),
    });
    return waitMs === undefined ? undefined : { waitMs };
  }
  const nextTryAt = await showWait(tx, step, {
    reason: failure.message,
    details: `${calls} calls failed since ${shown(since)}`,
    since,
    waitMs,
  });
  return { waitMs, nextTryAt };
}

/**
 * Records that an attempt waits without calling its source, because of what
 * other queries found or an operator decided. Returns when it tries again, and
 * its time under pauses so far; undefined when the attempt has ended meanwhile.
 */
export async function recordHold(
  tx: AccountTx,
  step: PartStep,
  { reason, waitMs, isPaused }: Hold,
): Promise<{ nextTryAt: Date; pausedMs?: number } | undefined> {
  const held = await updateProgress(tx, step)
    .set({
      failing_since: sql<Date>`coalesce(failing_since, clock_timestamp())`,
      paused_ms: sql`paused_ms + ${isPaused ? waitMs : 0}`,
    })
    .where('status', '=', 'running')
    .returning(['failing_since', 'paused_ms'])
    .executeTakeFirst();
  if (held === undefined || held.failing_since === null) return undefined;
  const since = held.failing_since;
  const details = `for all queries; since ${shown(since)}`;
  return {
    nextTryAt: await showWait(tx, step, { reason, details, since, waitMs }),
    pausedMs: held.paused_ms || undefined,
  };
}

/**
 * Shows the wait in the attempt and, as one entry that is replaced, in the
 * timeline. Returns its end.
 */
async function showWait(
  tx: AccountTx,
  step: PartStep,
  {
    reason,
    details,
    since,
    waitMs,
  }: { reason: string; details: string; since: Date; waitMs: number },
): Promise<Date> {
  const { attempt } = step;
  const nextTryAt = new Date(Date.now() + waitMs);
  await updateProgress(tx, step)
    .set({ waiting_for: reason, next_try_at: nextTryAt })
    .execute();
  await replaceOfStep(tx, step, {
    kind: 'waiting',
    message: `Waiting for ${step.part.name}: ${reason} (${details}); next try at ${shown(nextTryAt)}`,
    onceKey: `waiting/${connectionKey(step)}/${attempt}/${since.getTime()}`,
  });
  return nextTryAt;
}

/** Forgets the failed calls of an attempt whose source answers again. */
export async function clearFailedCalls(
  tx: AccountTx,
  step: PartStep,
): Promise<void> {
  await updateProgress(tx, step)
    .set(ANSWERED)
    .where('status', '=', 'running')
    .execute();
}

/** To the second: `2026-11-22T10:15:00Z`. */
const shown = (at: Date): string => `${at.toISOString().slice(0, 19)}Z`;

/**
 * Forgets what a connection has answered in this attempt. Resources that it
 * delivered stay in the record.
 */
async function forgetAnswer(tx: AccountTx, step: PartStep): Promise<void> {
  const { requestId, source, attempt, part } = step;
  const before = await updateProgress(tx, step)
    .set({ resources: sql`resources` })
    .returning(['resources', 'strays', 'documents'])
    .executeTakeFirstOrThrow();
  if (!isWhole(part))
    await updateAttempt(tx, step)
      .set({
        resources: sql`resources - ${before.resources}`,
        strays: sql`strays - ${before.strays}`,
        documents: sql`documents - ${before.documents}`,
      })
      .execute();
  await sql`delete from answered_page where query_id = ${requestId} and source = ${source} and attempt = ${attempt}
    and connection_id is not distinct from ${part.id}::uuid`.execute(tx.db);
  await updateProgress(tx, step)
    .set({
      job: null,
      cursor: null,
      collected: false,
      collection: null,
      pages: 0,
      resources: 0,
      strays: 0,
      documents: 0,
    })
    .where('status', '=', 'running')
    .execute();
}

/** Why an answer with changes was not enough. */
export type NotEnough = ChangesNotHonoured | CountsDiffer | CountsMissing;
export const isNotEnough = (error: unknown): error is NotEnough =>
  error instanceof ChangesNotHonoured ||
  error instanceof CountsDiffer ||
  error instanceof CountsMissing;

/** A clause for the timeline. */
function clauseOf(reason: NotEnough): string {
  if (reason instanceof ChangesNotHonoured) return 'returned something older';
  if (reason instanceof CountsMissing) return 'does not count what it has';
  return 'counts other numbers of resources than the record has';
}

/**
 * Asks a connection for everything, because its answer with changes was not
 * enough.
 */
export async function askForEverything(
  tx: AccountTx,
  step: PartStep,
  reason: NotEnough,
): Promise<void> {
  await forgetAnswer(tx, step);
  const { source, attempt } = step;
  const message = ofConnection(
    step,
    `Asked for changes, the source ${clauseOf(reason)}; it is asked for everything`,
  );
  const onceKey = `everything/${source}/${attempt}/${step.part.id ?? ''}`;
  await addOfStep(tx, step, { kind: 'asked', message, onceKey });
}

/**
 * Asks a connection again after a while: it accepted the request and then
 * failed. Resources that it delivered stay in the record.
 */
export async function restartPart(
  tx: AccountTx,
  step: SourceStepInput,
  part: OwnConnection,
  again: { reason: string; afterMs: number },
): Promise<void> {
  await forgetAnswer(tx, { ...step, part });
  await updatePart(tx, step, part.id)
    .set({
      failed_tries: sql`failed_tries + 1`,
      waiting_for: again.reason,
      next_try_at: sql<Date>`clock_timestamp() + ${again.afterMs} * interval '1 millisecond'`,
    })
    .where('status', '=', 'running')
    .execute();
  const message = `failed: ${again.reason}; it is asked again in ${Math.round(again.afterMs / 1000)} s`;
  await addOfStep(tx, step, {
    kind: 'connection-failed',
    message: ofConnection({ part }, message),
  });
}
