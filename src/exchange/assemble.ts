import type { Client } from '@temporalio/client';
import type { Config } from '../config.ts';
import { parseKeyRing } from '../lib/key-ring.ts';
import type { Logger } from '../lib/logger.ts';
import { openBlobStore } from '../shared/blobs/open-blob-store.ts';
import { createNotifier } from './delivery/subscriptions/notifier.ts';
import { linkedBody } from './event-links.ts';
import { openFeatures } from './features.ts';
import { orphanSweep } from './platform/blobs/orphan-sweep.ts';
import { missingBlobs } from './platform/blobs/verify-blobs.ts';
import {
  createStore,
  type StoreOptions,
} from './platform/database/database.ts';
import { deleteOldIdempotencyKeys } from './platform/http/idempotency-store.ts';
import { createLinkMaker } from './platform/links/signed-link.ts';
import { createWebhookDelivery } from './platform/outbox/delivery.ts';
import { eventRecovery } from './platform/outbox/destination-drain.ts';
import { createWebhookSender, EventCauses } from './platform/outbox/sender.ts';
import { createWebhookDispatcher } from './platform/outbox/webhook-dispatcher.ts';
import { createWebhookKeys } from './platform/outbox/webhook-key.ts';
import type { Platform } from './platform/platform.ts';
import {
  type Recovery,
  removalRecovery,
} from './platform/recovery/recovery.ts';
import { activityStartRecovery } from './platform/recovery/start-guard.ts';
import { createServices } from './services.ts';

/** Environment variables that both the gateway and the workers read. */
export const EXCHANGE_VARIABLES = [
  'DATABASE_URL',
  'DATABASE_POOL_MAX',
  'BLOB_STORE',
  'DATA_KEYS',
  'LINK_SIGNING_KEY',
  'ID_HMAC_KEY',
  'PUBLIC_BASE_URL',
  'LOOPBACK_EXCEPT_PORTS',
  'WEBHOOK_TRUSTED_ORIGINS',
  'HIE_CALLBACK_SECRET',
  'PHARMACY_CALLBACK_SECRET',
  'LAB_CALLBACK_SECRET',
] as const;
type ExchangeConfig = Config<(typeof EXCHANGE_VARIABLES)[number]>;

/** Opens the platform and all features in one process, gateway or worker. */
export async function assembleExchange(
  config: ExchangeConfig,
  temporal: Client,
  logger: Logger,
  /**
   * The name of the connections to the database, and how accounts share them;
   * without it, each may use all.
   */
  connections: Pick<StoreOptions, 'name' | 'accountMax' | 'sharedMax'> = {},
) {
  const platform = await openPlatform(config, temporal, logger, connections);
  const { store, blobs } = platform;
  const services = createServices(platform);
  const features = openFeatures({ ...platform, ...services });
  return {
    ...platform,
    ...services,
    /**
     * Recoveries that `reconcile` runs, besides the sealing of the audit, which
     * only workers can do.
     */
    recoveries: [
      ...features.flatMap(({ recoveries }) => recoveries),
      eventRecovery(platform),
      removalRecovery('expired idempotency keys', (limit) =>
        store.asSystem((tx) => deleteOldIdempotencyKeys(tx, limit)),
      ),
      activityStartRecovery({ store }),
      orphanSweep({ store, blobs, logger }),
      missingBlobs({ store, blobs, logger }),
    ] as Recovery[],
    /** Waits for background work to finish, then closes the database. */
    async close(): Promise<void> {
      await Promise.all(features.map(({ drain }) => drain()));
      await store.close();
    },
  };
}

async function openPlatform(
  config: ExchangeConfig,
  temporal: Client,
  logger: Logger,
  connections: Pick<StoreOptions, 'name' | 'accountMax' | 'sharedMax'>,
): Promise<Platform> {
  const keyRing = parseKeyRing(config.DATA_KEYS);
  const blobs = await openBlobStore(config.BLOB_STORE, keyRing);
  const links = createLinkMaker(
    config.PUBLIC_BASE_URL,
    config.LINK_SIGNING_KEY,
  );
  const store = createStore({
    databaseUrl: config.DATABASE_URL,
    poolMax: config.DATABASE_POOL_MAX,
    ...connections,
    onIdleError: (err) => logger.warn({ err }, 'lost a database connection'),
  });
  const webhookKeys = createWebhookKeys(keyRing);
  const causes = new EventCauses();
  const destinations = {
    allowLoopback: config.LOOPBACK_EXCEPT_PORTS !== undefined,
    refusedPorts: config.LOOPBACK_EXCEPT_PORTS,
    trustedOrigins: config.WEBHOOK_TRUSTED_ORIGINS,
  };
  const sender = createWebhookSender({
    webhookKeys,
    causes,
    destinations,
    withLinks: (accountId, event) => linkedBody(links, accountId, event),
    notificationOf: createNotifier({
      store,
      webhookKeys,
      publicBaseUrl: config.PUBLIC_BASE_URL,
    }),
  });
  const delivery = createWebhookDelivery({ store, sender });
  const webhookDispatcher = createWebhookDispatcher({
    store,
    delivery,
    temporal,
    logger,
  });
  store.onEventsCommitted((accountId, messageIds) => {
    causes.note(messageIds);
    webhookDispatcher.send(accountId, messageIds);
  });
  return {
    store,
    blobs,
    temporal,
    logger,
    keyRing,
    links,
    webhookDispatcher,
    delivery,
    sender,
    webhookKeys,
    destinations,
    publicBaseUrl: config.PUBLIC_BASE_URL,
    callbackKey: config.LINK_SIGNING_KEY,
    idHmacKey: config.ID_HMAC_KEY,
    callbackSecrets: {
      hie: config.HIE_CALLBACK_SECRET,
      pharmacy: config.PHARMACY_CALLBACK_SECRET,
      lab: config.LAB_CALLBACK_SECRET,
    },
  };
}
