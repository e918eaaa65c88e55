import { log } from '@temporalio/activity';
import { failOpenAttempts } from '../../exchange/network-query/endings.ts';
import type { Launcher } from '../../exchange/network-query/launcher.ts';
import { runsToEnsure } from '../../exchange/network-query/recovery-store.ts';
import type { Store } from '../../exchange/platform/database/database.ts';
import { deleteOldIdempotencyKeys } from '../../exchange/platform/http/idempotency-store.ts';
import { overdueEvents } from '../../exchange/platform/outbox/hand-over-store.ts';
import type { WebhookDispatcher } from '../../exchange/platform/outbox/webhook-dispatcher.ts';
import type { Recovery } from '../../exchange/platform/recovery/recovery.ts';

export type ReconcileActivities = ReturnType<typeof createReconcileActivities>;

/** How long the process that committed the work has to start it itself. */
const RUN_GRACE_MS = 5_000;
const EVENT_GRACE_MS = 30_000;
/** Maximum of each kind per run; the next run continues. */
const BATCH = 500;

export interface Reconciled {
  runsEnsured: number;
  attemptsEnded: number;
  eventsHandedOver: number;
  /** Deleted idempotency keys that had expired. */
  keysForgotten: number;
  /** Counts by `Recovery.name`, without zeros. */
  others: Record<string, number>;
}

/** Completes what a crash or an outage left unfinished. Running it twice in parallel is harmless. */
export function createReconcileActivities(deps: {
  store: Store;
  launcher: Launcher;
  webhookDispatcher: WebhookDispatcher;
  others: readonly Recovery[];
}) {
  const { store, launcher, webhookDispatcher } = deps;

  /**
   * Starts the workflow of a run. If it was terminated instead of completing, nothing would end its open attempts, so they
   * are ended here. Returns how many.
   */
  async function ensureRun(accountId: string, requestId: string, run: number): Promise<number> {
    const state = await launcher.start(accountId, requestId, run);
    if (state === 'open') return 0;
    const reason = 'The workflow of this query ended unexpectedly';
    return store.asAccount(accountId, (tx) => failOpenAttempts(tx, { requestId, run }, reason));
  }

  return {
    async reconcileLeftOvers(): Promise<Reconciled> {
      const result: Reconciled = {
        runsEnsured: 0,
        attemptsEnded: 0,
        eventsHandedOver: 0,
        keysForgotten: 0,
        others: {},
      };
      const failures: unknown[] = [];
      const runs = await store.asSystem((tx) =>
        runsToEnsure(tx, { olderThanMs: RUN_GRACE_MS, limit: BATCH }),
      );
      for (const { accountId, requestId, run } of runs) {
        try {
          result.attemptsEnded += await ensureRun(accountId, requestId, run);
          result.runsEnsured += 1;
        } catch (error) {
          failures.push(error);
        }
      }
      const events = await store.asSystem((tx) =>
        overdueEvents(tx, { olderThanMs: EVENT_GRACE_MS, limit: BATCH }),
      );
      for (const { accountId, eventId, attempts } of events) {
        try {
          await webhookDispatcher.handOver(accountId, eventId, { attemptsMade: attempts });
          result.eventsHandedOver += 1;
        } catch (error) {
          failures.push(error);
        }
      }
      for (const work of deps.others) {
        try {
          const count = await work.takeUp(BATCH);
          if (count > 0) result.others[work.name] = count;
        } catch (error) {
          failures.push(error);
        }
      }
      result.keysForgotten = await store.asSystem(deleteOldIdempotencyKeys);
      if (runs.length + events.length > 0 || Object.keys(result.others).length > 0)
        log.info('completed unfinished work', { ...result });
      // A failure does not keep the other work waiting, but makes this run visible as failed.
      if (failures.length > 0) throw failures[0];
      return result;
    },
  };
}
