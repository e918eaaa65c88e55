import type { Store } from '../../platform/database/database.ts';
import type {
  DepsOf,
  Feature,
  GatewayScopes,
  OpenFeature,
} from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  itemRecovery,
  type Recovery,
  removalRecovery,
} from '../../platform/recovery/recovery.ts';
import { deleteOldAbandonedJobs } from './abandoned-jobs.ts';
import { addDeferredAnswerRoute } from './deferred-answer-route.ts';
import { failOpenAttempts } from './endings.ts';
import { noteSignalledStep } from './fan-out/ask-store.ts';
import { findLateAttempts } from './fan-out/late-attempts.ts';
import { type Launcher, runsToEnsure } from './launcher.ts';
import { addNetworkQueryRoutes } from './routes.ts';
import type { createNetworkQueryService } from './service.ts';
import {
  addSourceCallbackRoute,
  type SourceCallbacks,
} from './source-callback.ts';

/**
 * Network queries: E2, E3, retry, give up and cancel, and the sources'
 * callbacks.
 */
export const networkQueryFeature = {
  open: ({
    store,
    networkQueries,
    sourceCallbacks,
  }: Pick<Platform, 'store'> & {
    networkQueries: ReturnType<typeof createNetworkQueryService>;
    sourceCallbacks: SourceCallbacks;
  }): OpenFeature => ({
    recoveries: [
      networkQueryRecovery({ store, launcher: networkQueries.launcher }),
      lateGatewayRecovery({ store, sourceCallbacks }),
      abandonedJobRecovery({ store }),
    ],
    drain: networkQueries.drain,
  }),
  routes(
    { operations, open }: GatewayScopes,
    deps: DepsOf<typeof addNetworkQueryRoutes> &
      DepsOf<typeof addSourceCallbackRoute> &
      DepsOf<typeof addDeferredAnswerRoute>,
  ) {
    addNetworkQueryRoutes(operations, deps);
    open((scope) => addSourceCallbackRoute(scope, deps));
    open((scope) => addDeferredAnswerRoute(scope, deps));
  },
} satisfies Feature;

/**
 * The process that committed a run has this long to start its workflow itself.
 */
const GRACE_MS = 5_000;
/**
 * Starts at a time: each is a round trip to Temporal and two to PostgreSQL,
 * slow ones just when many wait, after a stall.
 */
const AT_ONCE = 12;
/** Each signal may begin a step that lasts for minutes. */
const SIGNALS_OF_A_ROUND = 50;

/**
 * Starts the workflows of open runs that have none. If a workflow was
 * terminated instead of completing, nothing would end its open attempts, so
 * they are ended here.
 */
export function networkQueryRecovery(deps: {
  store: Store;
  launcher: Pick<Launcher, 'start'>;
}): Recovery {
  const { store, launcher } = deps;

  return itemRecovery({
    name: 'network queries',
    atOnce: AT_ONCE,
    find: (limit, recheckBefore) =>
      store.asSystem((tx) =>
        runsToEnsure(tx, { olderThanMs: GRACE_MS, recheckBefore, limit }),
      ),
    async heal({ accountId, requestId, run, isStarted }) {
      const state = await launcher.start(accountId, requestId, run, isStarted);
      if (state === 'open') return !isStarted;
      const reason = 'The workflow of this query ended unexpectedly';
      await store.asAccount(accountId, (tx) =>
        failOpenAttempts(tx, { requestId, run }, reason),
      );
      return true;
    },
  });
}

/**
 * Signals the workflows of attempts with gateways that no step has come to. The
 * signal of a later answer may be lost, and the workflow would look by itself
 * only hours later.
 */
export const lateGatewayRecovery = ({
  store,
  sourceCallbacks,
}: {
  store: Pick<Store, 'asSystem' | 'asAccount'>;
  sourceCallbacks: Pick<SourceCallbacks, 'signal'>;
}): Recovery =>
  itemRecovery({
    name: 'late gateways',
    limit: SIGNALS_OF_A_ROUND,
    find: (limit) => store.asSystem((tx) => findLateAttempts(tx, limit)),
    async heal({ since: _, ...step }) {
      await sourceCallbacks.signal(step);
      await store.asAccount(step.accountId, (tx) =>
        noteSignalledStep(tx, step),
      );
      return true;
    },
  });

/** Removes the jobs that could not be cancelled at their sources. */
export const abandonedJobRecovery = ({
  store,
}: {
  store: Pick<Store, 'asSystem'>;
}): Recovery =>
  removalRecovery('jobs that sources keep', (limit) =>
    store.asSystem((tx) => deleteOldAbandonedJobs(tx, limit)),
  );
