import {
  type QueryRedriveInput,
  REDRIVE_PAGES_PER_RUN,
  type RedrivePage,
  type RedriveProgress,
} from '../../../contract/query-redrive-workflow.ts';
import {
  PRIORITY,
  queryRedriveWorkflowId,
  WORKFLOW_TYPES,
} from '../../../contract/temporal.ts';
import { findAccount } from '../../access/accounts/account-store.ts';
import { insertAuditEntry } from '../../platform/audit/audit-store.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import { retryOvertaken } from '../../platform/database/retry.ts';
import {
  ConflictError,
  NotFoundError,
  UnavailableError,
} from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  createWorkLauncher,
  type WorkLauncher,
} from '../../platform/workflows/launcher.ts';
import {
  checkRetryable,
  openRetryRun,
  type QueryControl,
} from '../network-query/control.ts';
import { type Launcher, latestRun } from '../network-query/launcher.ts';
import { readSweepRoom, takeSweepRoom } from '../network-query/prepare.ts';
import { lockQuery } from '../network-query/query-store.ts';
import {
  countOpenRetries,
  endRedrive,
  type FailedQuery,
  lockRedrive,
  nextFailed,
  passQuery,
  redriveRows,
  type StoredRedrive,
} from './redrive-store.ts';

/**
 * Queries of one page, and retries of a redrive that may be doing work at the
 * same time.
 */
const PAGE_SIZE = 50;
const WINDOW_SIZE = 50;
/** Wait before a full window is looked at again. */
const WINDOW_WAIT_MS = 5_000;

export type Redriver = ReturnType<typeof createRedriver>;

type Step =
  | { do: 'end'; progress: RedriveProgress }
  | {
      do: 'wait';
      progress: RedriveProgress;
      wait: NonNullable<RedrivePage['wait']>;
    }
  | { do: 'skipped'; progress: RedriveProgress }
  /** The retry is committed; its workflow is to be started. */
  | { do: 'start'; progress: RedriveProgress; queryId: string; run: number }
  /** The query's workflow runs, and has to be asked. */
  | {
      do: 'ask';
      progress: RedriveProgress;
      redrive: StoredRedrive;
      query: FailedQuery;
    };

export function createRedriver(deps: {
  store: Store;
  queries: Pick<QueryControl, 'retrySource'>;
  launcher: Pick<Launcher, 'launch'>;
  callbackKey: string;
  pageSize?: number;
}) {
  const { store, queries, launcher, pageSize = PAGE_SIZE } = deps;
  const inAccount = <T>(
    accountId: string,
    work: (tx: AccountTx) => Promise<T>,
  ): Promise<T> => retryOvertaken(() => store.asAccount(accountId, work));

  /**
   * Asks a running query's workflow to retry the source. A query that changed
   * meanwhile is skipped.
   */
  async function ask(
    accountId: string,
    redrive: StoredRedrive,
    query: FailedQuery,
  ): Promise<RedriveProgress> {
    const outcome = await queries
      .retrySource(accountId, query.queryId, redrive.source)
      .then(
        () => 'retried' as const,
        (error: unknown) => {
          if (error instanceof ConflictError || error instanceof NotFoundError)
            return 'skipped';
          if (error instanceof UnavailableError) return 'failed';
          throw error;
        },
      );
    return inAccount(accountId, async (tx) => {
      if (outcome !== 'retried')
        return progressOf(
          await passQuery(tx, redrive.id, query, outcome),
          redrive,
        );
      return progressOf(await recordRetry(tx, redrive, query), redrive);
    });
  }

  return {
    /** Ends a redrive that has not ended; queries already retried continue. */
    async cancel(accountId: string, redriveId: string): Promise<void> {
      await inAccount(accountId, (tx) =>
        endRedrive(tx, redriveId, 'cancelled'),
      );
    },
    /**
     * Retries the next queries, as far as the window and the rate limit allow.
     * `alive` is called after each.
     */
    async nextPage(
      accountId: string,
      redriveId: string,
      alive: () => void,
    ): Promise<RedrivePage> {
      for (let count = 1; ; count++) {
        const step = await inAccount(accountId, (tx) =>
          nextStep(tx, redriveId, deps.callbackKey),
        );
        if (step.do === 'end') return { progress: step.progress };
        if (step.do === 'wait')
          return { progress: step.progress, wait: step.wait };
        if (step.do === 'start')
          launcher.launch(accountId, step.queryId, step.run);
        const progress =
          step.do === 'ask'
            ? await ask(accountId, step.redrive, step.query)
            : step.progress;
        alive();
        if (count === pageSize) return { progress };
      }
    },
  };
}

/**
 * Decides about the next query of a redrive, under the lock on its row. A query
 * whose runs have ended is retried in the same transaction. The rate limit
 * counters, which all queries share, are locked last.
 *
 * @throws OvertakenError when other transactions have used the rate limit
 *   meanwhile
 */
async function nextStep(
  tx: AccountTx,
  redriveId: string,
  callbackKey: string,
): Promise<Step> {
  const redrive = await lockRedrive(tx, redriveId);
  const account = await findAccount(tx, tx.accountId);
  if (redrive === undefined || account === undefined)
    return { do: 'end', progress: GONE };
  const progress = progressOf(redrive, redrive);
  if (redrive.ended_at !== null) return { do: 'end', progress };

  const query = await nextFailed(tx, redrive);
  if (query === undefined)
    return {
      do: 'end',
      progress: progressOf(
        await endRedrive(tx, redriveId, 'completed'),
        redrive,
      ),
    };
  await lockQuery(tx, query.queryId);
  const { source } = redrive;
  const refused = await checkRetryable(tx, query.queryId, source).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof ConflictError || error instanceof NotFoundError)
        return error;
      throw error;
    },
  );
  if (refused !== undefined)
    return {
      do: 'skipped',
      progress: progressOf(
        await passQuery(tx, redriveId, query, 'skipped'),
        redrive,
      ),
    };

  const { busy } = await countOpenRetries(tx, redriveId);
  if (busy >= WINDOW_SIZE) {
    await redriveRows.markSeen(tx, { redriveId });
    return {
      do: 'wait',
      progress,
      wait: {
        ms: WINDOW_WAIT_MS,
        why: 'Wait until running retries have ended',
      },
    };
  }
  const [room] = await readSweepRoom(tx, account.settings, [source]);
  if (room !== undefined && room.room < 1) {
    await redriveRows.markSeen(tx, { redriveId });
    const why = room.isHeld
      ? `The ${source} source is away or paused`
      : 'Wait for the next minute: this minute’s limit is used up';
    return {
      do: 'wait',
      progress,
      wait: { ms: Math.max(Math.ceil(room.resetMs), 1), why },
    };
  }

  const { endedAt } = await latestRun(tx, query.queryId);
  if (endedAt === null) {
    await takeSweepRoom(tx, account.settings, [{ source, count: 1 }]);
    return { do: 'ask', progress, redrive, query };
  }
  const run = await openRetryRun(tx, {
    requestId: query.queryId,
    source,
    callbackKey,
    redriveId,
  });
  const now = await recordRetry(tx, redrive, query);
  await takeSweepRoom(tx, account.settings, [{ source, count: 1 }]);
  return {
    do: 'start',
    progress: progressOf(now, redrive),
    queryId: query.queryId,
    run,
  };
}

/** Counts a retry, and audits it for the caller who started the redrive. */
async function recordRetry(
  tx: AccountTx,
  redrive: StoredRedrive,
  query: FailedQuery,
): Promise<StoredRedrive | undefined> {
  const passed = await passQuery(tx, redrive.id, query, 'retried');
  if (passed !== undefined)
    await insertAuditEntry(tx, {
      actor: redrive.actor,
      operation: 'redriveQueries',
      patientId: query.patientId,
      targetId: query.queryId,
      outcome: '200',
    });
  return passed;
}

const GONE: RedriveProgress = {
  state: 'cancelled',
  queries: 0,
  retried: 0,
  skipped: 0,
  failed: 0,
};

const progressOf = (
  now: StoredRedrive | undefined,
  before: StoredRedrive,
): RedriveProgress => {
  const { state, queries, retried, skipped, failed } = now ?? before;
  return { state, queries, retried, skipped, failed };
};

export type RedriveLauncher = Pick<
  WorkLauncher,
  'launch' | 'recovery' | 'drain'
>;

/**
 * A workflow that Temporal has lost or failed is started again under the same
 * id, and continues from the place in PostgreSQL.
 */
export const createRedriveLauncher = (
  deps: Pick<Platform, 'store' | 'temporal' | 'logger'>,
): RedriveLauncher =>
  createWorkLauncher(deps, {
    name: 'redrives',
    id: 'redriveId',
    rows: redriveRows,
    notStarted: 'redrive not started yet; reconcile will start it',
    type: WORKFLOW_TYPES.queryRedrive,
    workflowId: queryRedriveWorkflowId,
    input: (accountId, redriveId): QueryRedriveInput => ({
      accountId,
      redriveId,
      pagesPerRun: REDRIVE_PAGES_PER_RUN,
    }),
    priority: PRIORITY.bulk,
    summary: 'Redrive of failed queries',
    againAfterItsEnd: true,
    end: (tx, redriveId) => endRedrive(tx, redriveId, 'cancelled'),
  });
