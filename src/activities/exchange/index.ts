import type { Credentials } from '#ihe';
import { SOURCE_TYPES, type SourceType } from '../../contract/primitives.ts';
import { TASK_QUEUES } from '../../contract/temporal.ts';
import { createExportRunner } from '../../exchange/delivery/bulk-export/run-export.ts';
import { createConsolidatedBuilder } from '../../exchange/delivery/consolidated-query/build.ts';
import { createDirectTransports } from '../../exchange/messaging/messages/direct/direct-transports.ts';
import { createDirectTrust } from '../../exchange/messaging/messages/direct/direct-trust.ts';
import { createTransmission } from '../../exchange/messaging/messages/transmission.ts';
import { createFollowUpRounds } from '../../exchange/messaging/notifications/follow-up/rounds.ts';
import { createBulkEngine } from '../../exchange/people/bulk-create/engine.ts';
import type { Platform } from '../../exchange/platform/platform.ts';
import type { StartGuard } from '../../exchange/platform/recovery/start-guard.ts';
import { createMoments } from '../../exchange/queries/network-query/moment.ts';
import { createRedriver } from '../../exchange/queries/redrive/redriver.ts';
import type { Services } from '../../exchange/services.ts';
import type { Connectors } from '../../exchange/sources/connections/connections.ts';
import type { Submissions } from '../../exchange/sources/connections/submissions.ts';
import type { WorkerQueue } from '../../temporal/task-queues.ts';
import { createBulkActivities } from './bulk-create.ts';
import { createBulkExportActivities } from './bulk-export.ts';
import { createConsolidatedActivities } from './consolidated-query.ts';
import { createDeferredDiscoveryActivities } from './deferred-discovery.ts';
import { createDirectMailboxActivities } from './direct-mailbox.ts';
import { createDirectoryActivities } from './directory.ts';
import { createFollowUpActivities } from './discharge-follow-up.ts';
import { createMessageActivities } from './messages.ts';
import {
  createRecordActivities,
  createSourceActivities,
} from './network-query.ts';
import {
  createRedriveActivities,
  createSweepActivities,
} from './query-sweep.ts';
import type { ReconcileActivities } from './reconcile.ts';
import { createArrivalActivities } from './record-arrivals.ts';
import { createTrustBundleActivities } from './trust-bundle.ts';
import { createWebhookActivities } from './webhook-delivery.ts';

/**
 * What the activities of the exchange work with: the platform, all features'
 * services, and what only workers have.
 */
export interface ExchangeWorkerDeps extends Platform, Services, Connectors {
  /** Gives up work that repeatedly ends its process. */
  startGuard: StartGuard;
  /** Whether another build than that of this worker is current. */
  isReplaced: () => Promise<boolean>;
  /** The gateways that take messages by XDR. */
  submissions?: Submissions;
  /** Our certificate and key as a gateway in networks. */
  gatewayCredentials?: Credentials;
  reconcile: ReconcileActivities;
}

/**
 * All activities of the exchange, by the task queue on which workflows schedule
 * them.
 */
export function exchangeActivities(
  deps: ExchangeWorkerDeps,
): Partial<Record<WorkerQueue, object>> {
  const { store, blobs, startGuard, callbackKey, networkQueries } = deps;
  const { launcher } = networkQueries;
  const engine = createBulkEngine({ store, blobs, hmacKey: deps.idHmacKey });
  const directTrust = createDirectTrust(deps);
  const transmission = createTransmission({
    ...deps,
    directTransports: createDirectTransports(store, deps.keyRing, directTrust),
  });
  const redriver = createRedriver({
    store,
    queries: networkQueries,
    launcher,
    callbackKey,
  });
  const rounds = createFollowUpRounds({ store, networkQueries });
  const exports = createBulkExportActivities({
    runner: createExportRunner(deps),
    startGuard,
  });
  const { failExport, ...exportBuilds } = exports;
  const builder = createConsolidatedBuilder(deps);
  const { buildConsolidated, failConsolidated } = createConsolidatedActivities({
    builder,
    startGuard,
  });
  const { failTransmission, ...transmissionCalls } = createMessageActivities({
    transmission,
  });
  const { failDiscoveryAnswer, ...discoveryAnswers } =
    createDeferredDiscoveryActivities(deps);
  const ofSources = createSourceActivities({
    ...deps,
    callbackBaseUrl: callbackBaseUrl(deps),
    moments: createMoments(store),
  });
  return {
    [TASK_QUEUES.exchange]: {
      ...createBulkActivities({ store, engine, startGuard }),
      ...createRecordActivities(deps),
      ...createSweepActivities({ store, launcher, callbackKey }),
      ...createRedriveActivities({ redriver }),
      ...createFollowUpActivities({ rounds }),
      ...createArrivalActivities(deps),
      ...createDirectoryActivities(deps),
      ...createTrustBundleActivities(deps),
      failTransmission,
      failDiscoveryAnswer,
      failExport,
      ...deps.reconcile,
      failConsolidated,
    },
    [TASK_QUEUES.builds]: { ...exportBuilds, buildConsolidated },
    [TASK_QUEUES.partners]: {
      ...transmissionCalls,
      ...discoveryAnswers,
      ...createDirectMailboxActivities({ ...deps, directTrust }),
    },
    [TASK_QUEUES.webhooks]: createWebhookActivities(deps),
    [TASK_QUEUES.networks]: ofSources,
    ...Object.fromEntries(
      SOURCE_TYPES.map((source) => [TASK_QUEUES.source(source), ofSources]),
    ),
  };
}

/** A connection of an account has its own secret, or announces no callbacks. */
const callbackBaseUrl =
  ({ callbackSecrets, publicBaseUrl }: Platform) =>
  (source: SourceType, connectionId?: string): string | undefined =>
    connectionId === undefined && callbackSecrets[source] === undefined
      ? undefined
      : `${publicBaseUrl}/sources/callback`;
