import type { Client } from '@temporalio/client';
import type { Config } from '../config.ts';
import type { SourceType } from '../contract/primitives.ts';
import { parseKeyRing } from '../lib/key-ring.ts';
import type { Logger } from '../lib/logger.ts';
import { openBlobStore } from '../shared/blobs/open-blob-store.ts';
import { bulkCreatesLeftOver, uploadRetention } from './bulk-create/left-over.ts';
import { createBulkCreateService } from './bulk-create/service.ts';
import { createConsolidatedBuilder } from './consolidated-query/build.ts';
import { createConsolidatedLauncher } from './consolidated-query/launcher.ts';
import { createDocumentRenditions } from './documents/renditions.ts';
import { createMessageLauncher } from './messages/launcher.ts';
import { attachmentsToRead } from './messages/read-attachments.ts';
import { createCohortSchedules } from './monitoring/cohort-schedules.ts';
import { createNetworkQueryService } from './network-query/service.ts';
import { createSourceCallbacks } from './network-query/source-callback.ts';
import { createFollowUps } from './notifications/follow-up/follow-ups.ts';
import { createErasures, workflowStopper } from './patients/erasures.ts';
import { orphanSweep } from './platform/blobs/orphan-sweep.ts';
import { createStore } from './platform/database/database.ts';
import { createLinkMaker } from './platform/links/signed-link.ts';
import { createCourier } from './platform/outbox/courier.ts';
import { createDelivery } from './platform/outbox/delivery.ts';
import { keysToSeal } from './platform/outbox/seal-keys.ts';
import { createWebhookSender } from './platform/outbox/sender.ts';
import { createWebhookKeys } from './platform/outbox/webhook-key.ts';
import type { LeftOverWork } from './platform/recovery/recovery.ts';
import { startsLeftOver } from './platform/recovery/start-guard.ts';
import { createSweepControl } from './query-sweep/control.ts';
import { sweepsLeftOver } from './query-sweep/launcher.ts';
import { createCcdaConverter } from './records/ccda/ccda-converter.ts';
import { createRecordKeeper } from './records/record-keeper.ts';
import { createDestinationPing } from './webhooks/ping.ts';

/** What every process of the exchange reads: the gateway and the workers. */
export const EXCHANGE_VARIABLES = [
  'DATABASE_URL',
  'DATABASE_POOL_MAX',
  'BLOB_STORE',
  'DATA_KEYS',
  'LINK_SIGNING_KEY',
  'PUBLIC_BASE_URL',
  'ALLOW_LOOPBACK_WEBHOOKS',
  'WEBHOOK_TRUSTED_ORIGINS',
  'HIE_CALLBACK_SECRET',
  'PHARMACY_CALLBACK_SECRET',
  'LAB_CALLBACK_SECRET',
] as const;

/** What the exchange's processes have in common, put together once. */
export async function assembleExchange(
  config: Config<(typeof EXCHANGE_VARIABLES)[number]>,
  temporal: Client,
  logger: Logger,
  /** How many connections to the database one account may use at a time; see StoreOptions. */
  accountConnectionsMax?: number,
) {
  const keyRing = parseKeyRing(config.DATA_KEYS);
  const blobs = await openBlobStore(config.BLOB_STORE, keyRing);
  const links = createLinkMaker(config.PUBLIC_BASE_URL, config.LINK_SIGNING_KEY);
  const store = createStore({
    databaseUrl: config.DATABASE_URL,
    poolMax: config.DATABASE_POOL_MAX,
    accountMax: accountConnectionsMax,
    onIdleError: (err) => logger.warn({ err }, 'lost a database connection'),
  });
  const webhookKeys = createWebhookKeys(keyRing);
  const sender = createWebhookSender({
    webhookKeys,
    destinations: {
      allowLoopback: config.ALLOW_LOOPBACK_WEBHOOKS,
      trustedOrigins: config.WEBHOOK_TRUSTED_ORIGINS,
    },
    links,
  });
  const delivery = createDelivery({ store, sender });
  const destinationPing = createDestinationPing({ store, sender, logger });
  const courier = createCourier({ store, delivery, temporal, logger });
  const records = createRecordKeeper({ store, blobs, converter: createCcdaConverter() });
  const documentRenditions = createDocumentRenditions({ store, blobs });
  const networkQueries = createNetworkQueryService({
    store,
    temporal,
    logger,
    callbackKey: config.LINK_SIGNING_KEY,
  });
  const bulkCreates = createBulkCreateService({ store, blobs, temporal, courier, logger });
  const bulkLeftOver = { store, blobs, launcher: bulkCreates.launcher, courier, logger };
  const consolidatedQueries = createConsolidatedLauncher({ store, blobs, temporal, courier, logger });
  const cohortSchedules = createCohortSchedules({ store, temporal, logger });
  const messages = createMessageLauncher({ store, temporal, courier, logger });
  const followUps = createFollowUps({ store, temporal, logger });
  const erasures = createErasures({ store, blobs, stopWorkflow: workflowStopper(temporal), logger });
  const secrets = callbackSecrets(config);
  return {
    store,
    keyRing,
    blobs,
    links,
    records,
    documentRenditions,
    delivery,
    courier,
    webhookKeys,
    destinationPing,
    networkQueries,
    bulkCreates,
    consolidatedQueries,
    consolidatedBuilder: createConsolidatedBuilder({
      store,
      blobs,
      records,
      courier,
      publicBaseUrl: config.PUBLIC_BASE_URL,
    }),
    querySweeps: createSweepControl({ store, temporal }),
    cohortSchedules,
    followUps,
    messages,
    erasures,
    sourceCallbacks: createSourceCallbacks({ store, temporal, logger, secrets }),
    /** Where a source may call back, without the token; undefined when it has no key to sign with. */
    callbackBaseUrl: (source: SourceType) =>
      secrets[source] === undefined ? undefined : `${config.PUBLIC_BASE_URL}/sources/callback`,
    callbackKey: config.LINK_SIGNING_KEY,
    /** What `reconcile` takes up beside queries and events. */
    leftOverWork: [
      bulkCreatesLeftOver(bulkLeftOver),
      uploadRetention(bulkLeftOver),
      ...consolidatedQueries.leftOver,
      documentRenditions.leftOver,
      sweepsLeftOver({ store, temporal }),
      cohortSchedules.leftOver,
      followUps.leftOver,
      messages.leftOver,
      attachmentsToRead({ store, records }),
      erasures.leftOver,
      startsLeftOver({ store }),
      orphanSweep({ store, blobs, logger }),
      keysToSeal({ store, webhookKeys }),
    ] as LeftOverWork[],
    /** Finishes what runs in the background, then closes the database. */
    async close(): Promise<void> {
      await Promise.all([
        networkQueries.drain(),
        bulkCreates.drain(),
        consolidatedQueries.drain(),
        cohortSchedules.drain(),
        followUps.drain(),
        messages.drain(),
        erasures.drain(),
        courier.drain(),
        destinationPing.drain(),
      ]);
      await documentRenditions.close();
      await store.close();
    },
  };
}

const callbackSecrets = (
  config: Config<'HIE_CALLBACK_SECRET' | 'PHARMACY_CALLBACK_SECRET' | 'LAB_CALLBACK_SECRET'>,
): Partial<Record<SourceType, string>> => ({
  hie: config.HIE_CALLBACK_SECRET,
  pharmacy: config.PHARMACY_CALLBACK_SECRET,
  lab: config.LAB_CALLBACK_SECRET,
});
