import { sql } from 'kysely';
import { networkQueryEventType } from '../../../contract/events.ts';
import type { SourceStepInput } from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { counted } from '../../../lib/counted.ts';
import { minuteOf } from '../../../lib/time.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { insertEvent } from '../../platform/outbox/event-store.ts';
import {
  countRetired,
  deletePageResources,
} from '../../records/merge/retirement-store.ts';
import type { ExclusionReason } from '../../records/rules/delivery-facts.ts';
import type { RetireReason } from '../../records/rules/retirement.ts';
import { defaultConnection } from '../../sources/connections/connections.ts';
import { keepJobsOfAttempt } from './abandoned-jobs.ts';
import {
  endAttempt,
  type PartStep,
  readStatus,
  writeCompleted,
} from './attempt-store.ts';
import {
  collectionToRemember,
  exclusionEntries,
  insertCollection,
  readCollection,
  rememberCollection,
} from './collection-store.ts';
import { endOpenAsks } from './fan-out/ask-store.ts';
import { endPart, isWhole, readAttemptParts } from './part-store.ts';
import {
  type LockedQuery,
  lockQuery,
  readOverallStatus,
  settleQuery,
  writeStatus,
} from './query-store.ts';
import { overallStatus, type QueryState } from './rules/query-status.ts';
import type { Collection } from './tables.ts';
import {
  addOfStep,
  addToTimeline,
  type NewTimelineEntry,
  type StepEntry,
} from './timeline-store.ts';

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
  const { query, end } = await lockEnd(tx, step, patientId);
  if (end === undefined) return (await readStatus(tx, step)) === 'completed';
  const collection = end.collection ?? undefined;
  return completeLocked(tx, step, query, {
    since: collection?.since,
    end,
    remembered: await collectionToRemember(tx, step, patientId, collection),
  });
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
  const { query, end } = await lockEnd(tx, step, patientId);
  await completeLocked(tx, step, query, { ...says, end });
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
 * @param says.end what has been read of the end
 * @param says.remembered the collection that the next query goes on from
 */
async function completeLocked(
  tx: AccountTx,
  step: SourceStepInput,
  query: LockedQuery | undefined,
  {
    note,
    gap,
    since,
    end,
    remembered,
  }: {
    note?: string;
    gap?: string;
    since?: string;
    end?: End;
    remembered?: Parameters<typeof insertCollection>[1];
  },
): Promise<boolean> {
  const onlyChanges =
    since === undefined
      ? undefined
      : `Asked only for what changed since ${minuteOf(since)}`;
  const reason = gap ?? note ?? onlyChanges;
  const ended =
    end ?? (await endAttempt(tx, step, { status: 'completed', reason }));
  if (query === undefined || ended === undefined) return ended !== undefined;
  const retired = end?.retired ?? (await countRetired(tx, step));
  const { source } = step;
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
  const entries: StepEntry[] = [
    ...exclusionEntries(step, end?.excluded ?? []),
    ...retiredEntries(step, retired),
    ...(gap === undefined
      ? []
      : [{ kind: 'incomplete', message: gap, isGap: true }]),
    { kind: 'completed', message },
  ];
  await settleAndAnnounce(tx, step, query, {
    status: 'completed',
    ...ended,
    retired: totalOf(retired),
    entries,
    asksGateways: end?.asksGateways ?? true,
    remembered,
    ...(end && { isOpen: true, reason, others: end.others }),
  });
  return true;
}

/** What the end of an attempt says. */
interface End {
  completedAt: Date;
  resources: number;
  strays: number;
  documents: number;
  collection: Collection | null;
  asksGateways: boolean;
  excluded: { reason: ExclusionReason; count: number }[];
  retired: Retired[];
  /** The query's other attempts. */
  others: Parameters<typeof overallStatus>[0];
}
type StoredEnd = Omit<End, 'completedAt'> & { completedAt: string };
type Retired = Awaited<ReturnType<typeof countRetired>>[number];

/**
 * Locks the query and reads in one statement what the end of an attempt says:
 * how it asked, what of the source is excluded, and what the attempt has
 * retired, each with its number, and how the others stand. The attempt's row
 * stays locked, so that it cannot end otherwise; without `end`, it has ended.
 */
async function lockEnd(
  tx: AccountTx,
  { requestId, source, attempt }: SourceStepInput,
  patientId: string,
): Promise<{ query?: LockedQuery; end?: End }> {
  const { rows } = await sql<LockedQuery & { ending: StoredEnd | null }>`
    select * from lock_end(${requestId}, ${source}, ${attempt}, ${patientId})`.execute(
    tx.db,
  );
  const [row] = rows;
  if (row === undefined) return {};
  const { ending, ...query } = row;
  return ending === null
    ? { query }
    : { query, end: { ...ending, completedAt: new Date(ending.completedAt) } };
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
  const retired = await countRetired(tx, step);
  const { source, attempt } = step;
  const next = willRetry
    ? `; attempt ${attempt + 1} starts in ${Math.round((failure.retryAfterMs ?? 0) / 1000)} s`
    : '; no further attempt is planned';
  const message = `The ${source} source failed: ${failure.reason}${next}${await keptOf(tx, step)}`;
  const entries = [
    ...retiredEntries(step, retired),
    { kind: 'failed', message },
  ];
  if (willRetry) {
    await endAnswer(tx, step, { entries });
    await settleQuery(tx, step.requestId, query.status);
  } else
    await settleAndAnnounce(tx, step, query, {
      status: 'failed',
      ...ended,
      retired: totalOf(retired),
      entries,
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
 * Deletes the notes about the answer's content, and writes what the end of an
 * attempt says, however it ended.
 */
async function endAnswer(
  tx: AccountTx,
  step: SourceStepInput,
  {
    entries,
    asksGateways = true,
  }: { entries: readonly StepEntry[]; asksGateways?: boolean },
  ...ofQuery: NewTimelineEntry[]
): Promise<void> {
  const { requestId, source, attempt } = step;
  await deletePageResources(tx, step);
  if (asksGateways) await endOpenAsks(tx, step);
  await addToTimeline(
    tx,
    requestId,
    ...entries.map((entry) => ({ source, attempt, ...entry })),
    ...ofQuery,
  );
}

/** Says in the timeline what an attempt retired, by reason and type. */
function retiredEntries(
  { source, attempt }: SourceStepInput,
  retired: readonly Retired[],
): StepEntry[] {
  return REASONS.flatMap(([reason, beginning]) => {
    const own = retired.filter((count) => count.reason === reason);
    const sum = totalOf(own);
    if (sum === 0) return [];
    const types = own
      .map(({ resourceType, count }) => `${count} ${resourceType}`)
      .join(', ');
    const were = sum === 1 ? 'it was retired' : 'they were retired';
    const message = `${beginning} ${counted(sum, 'resource')}: ${were} (${types})`;
    const onceKey = `retired/${reason}/${source}/${attempt}`;
    return [{ kind: 'retired', message, onceKey }];
  });
}

const totalOf = (retired: readonly Retired[]): number =>
  retired.reduce((sum, { count }) => sum + count, 0);

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

/**
 * Settles the query and announces the end of the source. What needs no answer
 * is one statement: each part writes rows of a table of its own.
 */
async function settleAndAnnounce(
  tx: AccountTx,
  step: SourceStepInput,
  query: LockedQuery,
  end: {
    status: 'completed' | 'failed';
    completedAt: Date;
    retired: number;
    entries: readonly StepEntry[];
    asksGateways?: boolean;
    remembered?: Parameters<typeof insertCollection>[1];
    /** The attempt's row, which is locked, is yet to be ended. */
    isOpen?: boolean;
    reason?: string;
    /** The query's other attempts, if they have been read. */
    others?: End['others'];
  },
): Promise<void> {
  const { status, completedAt, retired, remembered, others } = end;
  const { source, attempt } = step;
  const own = { source, attempt, status, willRetry: false };
  const overall =
    others === undefined
      ? await readOverallStatus(tx, step.requestId)
      : overallStatus([...others, own]);
  const ofQuery: NewTimelineEntry[] =
    overall === 'running'
      ? []
      : [{ kind: 'query-ended', message: QUERY_ENDED[overall] }];
  await tx.db.united(async (db) => {
    const set = { ...tx, db };
    if (end.isOpen === true) await writeCompleted(set, step, end);
    await endAnswer(set, step, end, ...ofQuery);
    await insertCollection(set, remembered);
    await writeStatus(set, step.requestId, overall, query.status);
  });
  const type = networkQueryEventType(step.source);
  const externalId = query.external_id ?? undefined;
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
        externalId: query.external_id ?? undefined,
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
