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

/** What the process that committed it has this long to do itself. */
const RUN_GRACE_MS = 5_000;
const EVENT_GRACE_MS = 30_000;
/** At a time; the next run takes the rest. */
const BATCH = 500;

export interface Reconciled {
  runsEnsured: number;
  attemptsEnded: number;
  eventsHandedOver: number;
  /** Idempotency keys older than they are honoured. */
  keysForgotten: number;
  /** By `Recovery.name`, where there was any. */
  others: Record<string, number>;
}

/** Takes up what a crash or an outage left behind. Running it twice at once is harmless. */
export function createReconcileActivities(deps: {
  store: Store;
  launcher: Launcher;
  webhookDispatcher: WebhookDispatcher;
  others: readonly Recovery[];
}) {
  const { store, launcher, webhookDispatcher } = deps;

  /** Starts a run's workflow; what a terminated one left behind, which nobody would end any more, is ended. */
  async function ensureRun(accountId: string, requestId: string, run: number): Promise<number> {
    const state = await launcher.start(accountId, requestId, run);
    if (state === 'open') return 0;
    const reason = 'The workflow was ended from outside';
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
        log.info('took up left-over work', { ...result });
      // One that cannot be taken up keeps no other waiting, but the round is shown as failed.
      if (failures.length > 0) throw failures[0];
      return result;
    },
  };
}
