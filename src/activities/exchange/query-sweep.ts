import { heartbeat, log } from '@temporalio/activity';
import type {
  QuerySweepProgress,
  SweepPace,
} from '../../contract/bulk-create-workflow.ts';
import type {
  QueryRedriveInput,
  RedrivePage,
} from '../../contract/query-redrive-workflow.ts';
import { retryOvertaken } from '../../exchange/platform/database/retry.ts';
import type { Platform } from '../../exchange/platform/platform.ts';
import type { Launcher } from '../../exchange/queries/network-query/launcher.ts';
import type { Redriver } from '../../exchange/queries/redrive/redriver.ts';
import {
  type SweptPage,
  startPage,
} from '../../exchange/queries/sweep/start-page.ts';
import {
  openSweep,
  readSweepCounts,
  setSweepState,
} from '../../exchange/queries/sweep/sweep-store.ts';
import { atHalfPace } from '../../lib/half-pace.ts';

export type SweepActivities = ReturnType<typeof createSweepActivities>;

/**
 * Longest pause between two starts: with a distant Temporal, a start takes long
 * without taking anything from others.
 */
const PAUSE_MS_MAX = 100;
/**
 * What has not been started after this time, because Temporal does not respond,
 * is left to `reconcile`.
 */
const STARTING_MS_MAX = 60_000;

export interface SweepOf {
  accountId: string;
  requestId: string;
}

/**
 * The steps of a sweep. Each may run twice: PostgreSQL records which patients'
 * queries have been started.
 */
export function createSweepActivities(
  deps: Pick<Platform, 'store' | 'callbackKey'> & {
    launcher: Pick<Launcher, 'start'>;
  },
) {
  const { store } = deps;

  /**
   * Starts the workflows of committed queries one by one (decision 146): a
   * whole page at once would take both the processors and Temporal from what
   * callers wait for. `reconcile` starts those that cannot be started now.
   */
  async function startWorkflows(
    accountId: string,
    queryIds: readonly string[],
  ): Promise<void> {
    const endMs = performance.now() + STARTING_MS_MAX;
    await atHalfPace(queryIds, PAUSE_MS_MAX, async (id) => {
      if (performance.now() > endMs) return;
      await deps.launcher.start(accountId, id, 0).catch((err: unknown) => {
        log.warn(
          'could not start a query of a sweep; reconcile will start it',
          { err, requestId: id },
        );
      });
      heartbeat();
    });
  }

  return {
    /**
     * Opens the sweep and counts its patients. Returns undefined when this bulk
     * create has no patients to query: it is unknown, not completed, or a dry
     * run.
     */
    async beginSweep({
      accountId,
      requestId,
    }: SweepOf): Promise<QuerySweepProgress | undefined> {
      return store.asAccount(accountId, async (tx) => {
        await openSweep(tx, requestId);
        return readSweepCounts(tx, requestId);
      });
    },

    /**
     * Starts queries for the next patients, as many as the window and the rate
     * limits allow.
     */
    async startSweepPage({
      accountId,
      requestId,
      pace,
    }: SweepOf & { pace: SweepPace }): Promise<
      Omit<SweptPage, 'queryIds'> | undefined
    > {
      const page = await retryOvertaken(() =>
        store.asAccount(accountId, (tx) =>
          startPage(tx, requestId, pace, deps.callbackKey),
        ),
      );
      if (page === undefined) return undefined;
      await startWorkflows(accountId, page.queryIds);
      return { progress: page.progress, waitFor: page.waitFor };
    },

    /**
     * Writes the state for readers of the interface, and returns the sweep's
     * progress.
     */
    async recordSweepState({
      accountId,
      requestId,
      state,
    }: SweepOf & { state: 'running' | 'paused' | 'cancelled' }): Promise<
      QuerySweepProgress | undefined
    > {
      return store.asAccount(accountId, async (tx) => {
        // A command may arrive before the first step has opened the sweep.
        await openSweep(tx, requestId);
        await setSweepState(tx, requestId, state);
        return readSweepCounts(tx, requestId);
      });
    },
  };
}

export type RedriveActivities = ReturnType<typeof createRedriveActivities>;

/**
 * The step of a redrive. It may run twice: each query's retry moves the
 * redrive's place in the same transaction.
 */
export const createRedriveActivities = ({
  redriver,
}: {
  redriver: Redriver;
}) => ({
  redrivePage: ({
    accountId,
    redriveId,
  }: QueryRedriveInput): Promise<RedrivePage> =>
    redriver.nextPage(accountId, redriveId, heartbeat),
  cancelRedrive: ({ accountId, redriveId }: QueryRedriveInput): Promise<void> =>
    redriver.cancel(accountId, redriveId),
});
