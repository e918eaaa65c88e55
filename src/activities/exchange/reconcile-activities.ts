import { log } from '@temporalio/activity';
import { failAttempt } from '../../exchange/network-query/endings.ts';
import type { Launcher } from '../../exchange/network-query/launcher.ts';
import type { Store } from '../../exchange/store/database.ts';
import { overdueEvents } from '../../exchange/store/events.ts';
import { openAttemptsOfRun, runsToEnsure } from '../../exchange/store/left-over.ts';
import type { Courier } from '../../exchange/webhooks/courier.ts';

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
}

/** Takes up what a crash or an outage left behind. Running it twice at once is harmless. */
export function createReconcileActivities(deps: { store: Store; launcher: Launcher; courier: Courier }) {
  const { store, launcher, courier } = deps;

  /** A workflow that was terminated leaves attempts that nobody would end. */
  async function endAttemptsOf(accountId: string, requestId: string, run: number): Promise<number> {
    return store.asAccount(accountId, async (tx) => {
      const left = await openAttemptsOfRun(tx, requestId, run);
      for (const { source, attempt } of left) {
        const step = { accountId, requestId, run, source, attempt };
        await failAttempt(tx, step, { reason: 'The workflow was ended from outside' });
      }
      return left.length;
    });
  }

  return {
    async reconcileLeftOvers(): Promise<Reconciled> {
      const result: Reconciled = { runsEnsured: 0, attemptsEnded: 0, eventsHandedOver: 0 };
      const runs = await store.asSystem((tx) =>
        runsToEnsure(tx, { olderThanMs: RUN_GRACE_MS, limit: BATCH }),
      );
      for (const { accountId, requestId, run } of runs) {
        const state = await launcher.start(accountId, requestId, run);
        if (state === 'closed') result.attemptsEnded += await endAttemptsOf(accountId, requestId, run);
        result.runsEnsured += 1;
      }
      const events = await store.asSystem((tx) =>
        overdueEvents(tx, { olderThanMs: EVENT_GRACE_MS, limit: BATCH }),
      );
      for (const { accountId, eventId, attempts } of events)
        await courier.handOver(accountId, eventId, { attemptsMade: attempts });
      result.eventsHandedOver = events.length;
      if (runs.length + events.length > 0) log.info('took up left-over work', { ...result });
      return result;
    },
  };
}
