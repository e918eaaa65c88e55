import { networkQueryEventType } from '../../../contract/events.ts';
import type { SourceStepInput } from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { counted } from '../../../lib/counted.ts';
import { minuteOf } from '../../../lib/time.ts';
import { readExternalId } from '../../people/patients/patient-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { insertEvent } from '../../platform/outbox/event-store.ts';
import {
  countRetired,
  deletePageResources,
} from '../../records/merge/retirement-store.ts';
import type { RetireReason } from '../../records/rules/retirement.ts';
import { defaultConnection } from '../../sources/connections/connections.ts';
import { keepJobsOfAttempt } from './abandoned-jobs.ts';
import { endAttempt, type PartStep, readStatus } from './attempt-store.ts';
import {
  readCollection,
  recordExclusions,
  rememberCollection,
} from './collection-store.ts';
import { endOpenAsks } from './fan-out/ask-store.ts';
import { endPart, isWhole, readAttemptParts } from './part-store.ts';
import { type LockedQuery, lockQuery, settleQuery } from './query-store.ts';
import type { QueryState } from './rules/query-status.ts';
import { addOfStep, addToTimeline } from './timeline-store.ts';

/**
 * Ends a part whose data is merged, in the transaction that merges the last of
 * it. Returns false when the attempt was ended otherwise.
 */
export async function endMerged(
  tx: AccountTx,
  step: PartStep,
  patientId: string,
): Promise<boolean> {
  if (!isWhole(step.part)) {
    const collection = await endPart(tx, step, step.part, {
      status: 'completed',
    });
    await rememberCollection(tx, step, patientId, collection);
    return (await readStatus(tx, step)) === 'running';
  }
  const query = await lockQuery(tx, step.requestId);
  await recordExclusions(tx, step, patientId);
  const collection = await readCollection(tx, step);
  await rememberCollection(tx, step, patientId, collection);
  const isEnded = await completeLocked(tx, step, query, {
    since: collection?.since,
  });
  return isEnded || (await readStatus(tx, step)) === 'completed';
}

/** Ends a part as completed that brought no data, because of `note`. */
export async function endWithoutData(
  tx: AccountTx,
  step: PartStep,
  note: string,
): Promise<void> {
  if (isWhole(step.part)) await completeAttempt(tx, step, { note });
  else
    await endPart(tx, step, step.part, { status: 'completed', reason: note });
}

/**
 * Ends an attempt of which at least one part completed, when all of them have
 * ended.
 */
export async function endOfParts(
  tx: AccountTx,
  step: SourceStepInput,
  patientId: string,
  says: { note?: string; gap?: string },
): Promise<void> {
  const query = await lockQuery(tx, step.requestId);
  await recordExclusions(tx, step, patientId);
  await completeLocked(tx, step, query, says);
}

/**
 * Ends an attempt as completed that brought no data, because of `note`. Ending
 * an attempt that has ended does nothing.
 */
export async function completeAttempt(
  tx: AccountTx,
  step: SourceStepInput,
  { note }: { note?: string } = {},
): Promise<void> {
  const query = await lockQuery(tx, step.requestId);
  const since = (
    await readCollection(tx, { ...step, part: defaultConnection(step.source) })
  )?.since;
  await completeLocked(tx, step, query, { note, since });
}

/**
 * Completes an attempt whose query the caller has locked; returns false if it
 * had ended. The end of the attempt, the resulting status of the query and the
 * event that announces it are one transaction.
 *
 * @param says.note why the attempt completed without data; shown to callers
 * @param says.gap what is missing because some connections of the source
 *   failed; shown to callers
 * @param says.since the source was asked only for what changed since then
 */
async function completeLocked(
  tx: AccountTx,
  step: SourceStepInput,
  query: LockedQuery | undefined,
  { note, gap, since }: { note?: string; gap?: string; since?: string },
): Promise<boolean> {
  const onlyChanges =
    since === undefined
      ? undefined
      : `Asked only for what changed since ${minuteOf(since)}`;
  const ended = await endAttempt(tx, step, {
    status: 'completed',
    reason: gap ?? note ?? onlyChanges,
  });
  if (query === undefined || ended === undefined) return ended !== undefined;
  const { source } = step;
  const retired = await endAnswer(tx, step);
  const misattributed =
    ended.strays > 0
      ? `; ${counted(ended.strays, 'resource')} of other patients discarded`
      : '';
  const collected = `${counted(ended.resources, 'resource')} and ${counted(ended.documents, 'document')}`;
  const changes =
    since === undefined ? '' : ` of what changed since ${minuteOf(since)}`;
  const message =
    note === undefined
      ? `The ${source} source completed: ${collected} collected${changes}${misattributed}`
      : `The ${source} source completed without data: ${note}`;
  if (gap !== undefined)
    await addOfStep(tx, step, {
      kind: 'incomplete',
      message: gap,
      isGap: true,
    });
  await addOfStep(tx, step, { kind: 'completed', message });
  await settleAndAnnounce(tx, step, query, {
    status: 'completed',
    ...ended,
    retired,
  });
  return true;
}

/**
 * Ends an attempt as failed, in one transaction with the status of the query
 * and, unless it will be retried, the webhook's event. Ending an attempt that
 * has ended does nothing.
 *
 * @param failure.reason shown to callers
 * @param failure.retryAfterMs when given, a further attempt follows after this
 *   time
 * @param failure.abandoned the source may still work on its job, which is kept
 *   until it is cancelled there
 */
export async function failAttempt(
  tx: AccountTx,
  step: SourceStepInput,
  failure: { reason: string; retryAfterMs?: number; abandoned?: boolean },
): Promise<void> {
  const query = await lockQuery(tx, step.requestId);
  if (failure.abandoned === true) await keepJobsOfAttempt(tx, step);
  const willRetry = failure.retryAfterMs !== undefined;
  const ended = await endAttempt(tx, step, {
    status: 'failed',
    reason: failure.reason,
    willRetry,
  });
  if (query === undefined || ended === undefined) return;
  const retired = await endAnswer(tx, step);
  const { source, attempt } = step;
  const next = willRetry
    ? `; attempt ${attempt + 1} starts in ${Math.round((failure.retryAfterMs ?? 0) / 1000)} s`
    : '; no further attempt is planned';
  await addOfStep(tx, step, {
    kind: 'failed',
    message: `The ${source} source failed: ${failure.reason}${next}${await keptOf(tx, step)}`,
  });
  if (willRetry) await settleQuery(tx, step.requestId, query.status);
  else
    await settleAndAnnounce(tx, step, query, {
      status: 'failed',
      ...ended,
      retired,
    });
}

/** What a failed attempt has delivered nevertheless, for its message. */
async function keptOf(tx: AccountTx, step: SourceStepInput): Promise<string> {
  const parts = await readAttemptParts(tx, step);
  const completed = parts.filter(({ status }) => status === 'completed');
  return completed.length === 0
    ? ''
    : `; what ${completed.length} of ${parts.length} connections delivered is kept`;
}

/**
 * Deletes the notes about the answer's content and returns how many resources
 * it retired, however the attempt ended.
 */
async function endAnswer(
  tx: AccountTx,
  step: SourceStepInput,
): Promise<number> {
  await deletePageResources(tx, step);
  await endOpenAsks(tx, step);
  return recordRetired(tx, step);
}

/**
 * Records in the timeline what an attempt retired, by reason and type; returns
 * how many resources.
 */
async function recordRetired(
  tx: AccountTx,
  step: SourceStepInput,
): Promise<number> {
  const counts = await countRetired(tx, step);
  const { source, attempt } = step;
  let total = 0;
  for (const [reason, beginning] of REASONS) {
    const own = counts.filter((count) => count.reason === reason);
    const sum = own.reduce((before, { count }) => before + count, 0);
    if (sum === 0) continue;
    total += sum;
    const types = own
      .map(({ resourceType, count }) => `${count} ${resourceType}`)
      .join(', ');
    const were = sum === 1 ? 'it was retired' : 'they were retired';
    const message = `${beginning} ${counted(sum, 'resource')}: ${were} (${types})`;
    const onceKey = `retired/${reason}/${source}/${attempt}`;
    await addOfStep(tx, step, { kind: 'retired', message, onceKey });
  }
  return total;
}

const REASONS: readonly [RetireReason, string][] = [
  ['deleted', 'The source no longer has'],
  ['moved', 'The source now names another person in'],
];

/** Attempts of a run that are running or waiting for a retry. */
export async function openAttemptsOfRun(
  tx: AccountTx,
  requestId: string,
  run: number,
): Promise<{ source: SourceType; attempt: number }[]> {
  return tx.db
    .selectFrom('network_query_attempt')
    .select(['source', 'attempt'])
    .where(({ and }) => and({ query_id: requestId, run }))
    .where(({ eb, or }) =>
      or([eb('status', '=', 'running'), eb('will_retry', '=', true)]),
    )
    .execute();
}

/**
 * Fails the open attempts of a run whose workflow is closed: those of one
 * source, or of all. Returns how many there were.
 */
export async function failOpenAttempts(
  tx: AccountTx,
  of: { requestId: string; run: number },
  reason: string,
  source?: SourceType,
): Promise<number> {
  const open = (await openAttemptsOfRun(tx, of.requestId, of.run)).filter(
    (attempt) => source === undefined || attempt.source === source,
  );
  for (const attempt of open) {
    await failAttempt(
      tx,
      { accountId: tx.accountId, ...of, ...attempt },
      { reason, abandoned: true },
    );
  }
  return open.length;
}

async function settleAndAnnounce(
  tx: AccountTx,
  step: SourceStepInput,
  query: LockedQuery,
  {
    status,
    completedAt,
    retired,
  }: { status: 'completed' | 'failed'; completedAt: Date; retired: number },
): Promise<void> {
  const overall = await settleQuery(tx, step.requestId, query.status);
  if (overall !== 'running')
    await addToTimeline(tx, step.requestId, {
      kind: 'query-ended',
      message: QUERY_ENDED[overall],
    });
  const type = networkQueryEventType(step.source);
  const externalId = await readExternalId(tx, query.patient_id);
  await insertEvent(tx, {
    type,
    factKey: `${type}/${step.requestId}/${step.attempt}`,
    patientId: query.patient_id,
    requestId: step.requestId,
    occurredAt: completedAt,
    body: {
      meta: {
        requestId: step.requestId,
        when: completedAt.toISOString(),
        type,
        data: query.metadata ?? undefined,
      },
      payload: {
        patientId: query.patient_id,
        externalId,
        source: {
          type: step.source,
          status,
          completedAt: completedAt.toISOString(),
          ...(retired > 0 ? { retired } : {}),
        },
      },
    },
  });
}

const QUERY_ENDED: Record<Exclude<QueryState, 'running'>, string> = {
  completed: 'The query completed: every source completed',
  partial:
    'The query ended as partial: at least one source completed and at least one failed',
  failed: 'The query failed: no source completed',
};

/**
 * Announces, once per query, that the first hie data can be read before the
 * query has ended.
 */
export async function announceFirstData(
  tx: AccountTx,
  step: SourceStepInput,
): Promise<void> {
  const query = await lockQuery(tx, step.requestId);
  if (query === undefined) return;
  const now = new Date();
  const type = 'network-query.hie.first-data-ready';
  const eventId = await insertEvent(tx, {
    type,
    factKey: `${type}/${step.requestId}`,
    patientId: query.patient_id,
    requestId: step.requestId,
    occurredAt: now,
    body: {
      meta: {
        requestId: step.requestId,
        when: now.toISOString(),
        type,
        data: query.metadata ?? undefined,
      },
      payload: {
        patientId: query.patient_id,
        externalId: await readExternalId(tx, query.patient_id),
        source: {
          type: 'hie',
          status: 'processing',
          firstDataReadyAt: now.toISOString(),
        },
      },
    },
  });
  if (eventId !== undefined) {
    const { source } = step;
    await addOfStep(tx, step, {
      kind: 'first-data-ready',
      message: `The first data of the ${source} source can be read; the query continues`,
    });
  }
}
