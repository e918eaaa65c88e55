import { heartbeat, log } from '@temporalio/activity';
import type { QuerySweepProgress, SweepPace } from '../../contract/bulk-create-workflow.ts';
import type { Launcher } from '../../exchange/network-query/launcher.ts';
import type { Store } from '../../exchange/platform/database/database.ts';
import { retryOvertaken } from '../../exchange/platform/database/retry.ts';
import { type SweptPage, startPage } from '../../exchange/query-sweep/start-page.ts';
import { openSweep, readSweepCounts, setSweepState } from '../../exchange/query-sweep/sweep-store.ts';

export type SweepActivities = ReturnType<typeof createSweepActivities>;

/** Workflows that are started at the same time after a page. */
const STARTS_AT_ONCE = 8;

export interface SweepOf {
  accountId: string;
  requestId: string;
}

/** The steps of a sweep. Each may run twice: PostgreSQL knows which patient's query has been started. */
export function createSweepActivities(deps: {
  store: Store;
  launcher: Pick<Launcher, 'start'>;
  /** LINK_SIGNING_KEY */
  callbackKey: string;
}) {
  const { store } = deps;

  /** What cannot be started now is found by `reconcile`: the query is committed. */
  async function startWorkflows(accountId: string, queryIds: readonly string[]): Promise<void> {
    const waiting = [...queryIds];
    const starter = async () => {
      for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
        await deps.launcher.start(accountId, id, 0).catch((err: unknown) => {
          log.warn('query of a sweep not started yet; reconcile will', { err, requestId: id });
        });
        heartbeat();
      }
    };
    await Promise.all(Array.from({ length: STARTS_AT_ONCE }, starter));
  }

  return {
    /** Undefined when this bulk create has no patients to query for: not completed, a dry run, unknown. */
    async beginSweep({ accountId, requestId }: SweepOf): Promise<QuerySweepProgress | undefined> {
      return store.asAccount(accountId, async (tx) => {
        await openSweep(tx, requestId);
        return readSweepCounts(tx, requestId);
      });
    },

    /** Starts the queries of the next patients, as many as there is room for. */
    async startSweepPage({
      accountId,
      requestId,
      pace,
    }: SweepOf & { pace: SweepPace }): Promise<Omit<SweptPage, 'queryIds'> | undefined> {
      const page = await retryOvertaken(() =>
        store.asAccount(accountId, (tx) => startPage(tx, requestId, pace, deps.callbackKey)),
      );
      if (page === undefined) return undefined;
      await startWorkflows(accountId, page.queryIds);
      return { progress: page.progress, waitFor: page.waitFor };
    },

    /** For readers of the exchange; the state that the sweep has then. */
    async recordSweepState({
      accountId,
      requestId,
      state,
    }: SweepOf & { state: 'running' | 'paused' | 'cancelled' }): Promise<QuerySweepProgress | undefined> {
      return store.asAccount(accountId, async (tx) => {
        // A command may come before the first step.
        await openSweep(tx, requestId);
        await setSweepState(tx, requestId, state);
        return readSweepCounts(tx, requestId);
      });
    },
  };
}
