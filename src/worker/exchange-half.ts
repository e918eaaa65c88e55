import { createReconcileActivities } from '../activities/exchange/reconcile-activities.ts';
import { createRecordActivities } from '../activities/exchange/record-activities.ts';
import { createSourceActivities } from '../activities/exchange/source-activities.ts';
import { createWebhookActivities } from '../activities/exchange/webhook-activities.ts';
import { readConfig } from '../config.ts';
import { SOURCE_TYPES } from '../contract/primitives.ts';
import { TASK_QUEUES } from '../contract/temporal.ts';
import { openBlobStore } from '../exchange/blobs/open-blob-store.ts';
import { consolidatedDataUrl } from '../exchange/links/signed-link.ts';
import { createLauncher } from '../exchange/network-query/launcher.ts';
import { createConnectors } from '../exchange/sources/fhir-connector.ts';
import { createStore } from '../exchange/store/database.ts';
import { createCourier } from '../exchange/webhooks/courier.ts';
import { createDelivery } from '../exchange/webhooks/delivery.ts';
import { createWebhookSender } from '../exchange/webhooks/sender.ts';
import type { Half, HalfDeps } from './half.ts';
import { mayCallBack, SOURCE_VARIABLES, sourceConfigs } from './source-configs.ts';

const VARIABLES = [
  'DATABASE_URL',
  'DATABASE_POOL_MAX',
  'BLOB_STORE',
  'LINK_SIGNING_KEY',
  'PUBLIC_BASE_URL',
  'ALLOW_LOOPBACK_WEBHOOKS',
  ...SOURCE_VARIABLES,
] as const;

/** Activities of the exchange's own queue and of each source's. Throws ConfigError. */
export async function openExchangeHalf({ logger, temporal, keyRing }: HalfDeps): Promise<Half> {
  const config = readConfig(VARIABLES);
  const store = createStore({
    databaseUrl: config.DATABASE_URL,
    poolMax: config.DATABASE_POOL_MAX,
    onIdleError: (err) => logger.warn({ err }, 'a database connection broke'),
  });
  const sender = createWebhookSender({
    destinations: { allowLoopback: config.ALLOW_LOOPBACK_WEBHOOKS },
    consolidatedDataUrl: (accountId, patientId) =>
      consolidatedDataUrl(config.PUBLIC_BASE_URL, config.LINK_SIGNING_KEY, { accountId, patientId }),
  });
  const delivery = createDelivery({ store, sender });
  const courier = createCourier({ store, delivery, temporal, logger });
  const launcher = createLauncher({ store, temporal, logger });
  const connectors = createConnectors(sourceConfigs(config));
  const callbackKey = config.LINK_SIGNING_KEY;

  const sourceActivities = createSourceActivities({
    store,
    blobs: await openBlobStore(config.BLOB_STORE, keyRing),
    courier,
    connectors,
    callbackKey,
    callbackBaseUrl: (source) =>
      mayCallBack(source, config) ? `${config.PUBLIC_BASE_URL}/sources/callback` : undefined,
  });
  return {
    activities: {
      [TASK_QUEUES.exchange]: {
        ...createRecordActivities({ store, courier, connectors, callbackKey }),
        ...createWebhookActivities({ delivery, temporal }),
        ...createReconcileActivities({ store, launcher, courier }),
      },
      ...Object.fromEntries(SOURCE_TYPES.map((source) => [TASK_QUEUES.source(source), sourceActivities])),
    },
    async close() {
      await Promise.all([courier.drain(), launcher.drain()]);
      await store.close();
    },
  };
}
