import { createBulkActivities } from '../activities/exchange/bulk-create.ts';
import { createConsolidatedActivities } from '../activities/exchange/consolidated-query.ts';
import { createFollowUpActivities } from '../activities/exchange/discharge-follow-up.ts';
import { createMessageActivities } from '../activities/exchange/messages.ts';
import { createRecordActivities } from '../activities/exchange/network-query-record.ts';
import { createSourceActivities } from '../activities/exchange/network-query-source.ts';
import { createSweepActivities } from '../activities/exchange/query-sweep.ts';
import { createReconcileActivities } from '../activities/exchange/reconcile.ts';
import { createWebhookActivities } from '../activities/exchange/webhook-delivery.ts';
import { readConfig } from '../config.ts';
import { SOURCE_TYPES } from '../contract/primitives.ts';
import { TASK_QUEUES } from '../contract/temporal.ts';
import { assembleExchange, EXCHANGE_VARIABLES } from '../exchange/assemble.ts';
import { createBulkEngine } from '../exchange/bulk-create/engine.ts';
import { createTransmission } from '../exchange/messages/transmission.ts';
import { createFollowUpRounds } from '../exchange/notifications/follow-up/rounds.ts';
import { createAuditChain } from '../exchange/platform/audit/chain.ts';
import { openAuditHeads } from '../exchange/platform/audit/heads.ts';
import { auditSealing } from '../exchange/platform/audit/sealer.ts';
import { openMessagePartner } from '../exchange/platform/partners/open-partners.ts';
import { createStartGuard } from '../exchange/platform/recovery/start-guard.ts';
import { createConnectors } from '../exchange/sources/fhir-connector.ts';
import type { Half, HalfDeps } from './half.ts';
import { SOURCE_VARIABLES, sourceConfigs } from './source-configs.ts';

/** Not of the gateways: who takes one over cannot seal. */
const AUDIT_VARIABLES = ['AUDIT_KEY', 'AUDIT_HEADS'] as const;

/** Activities of the exchange's own queue and of each source's. Throws ConfigError. */
export async function openExchangeHalf({ logger, temporal }: HalfDeps): Promise<Half> {
  const config = readConfig([
    ...EXCHANGE_VARIABLES,
    ...SOURCE_VARIABLES,
    'ID_HMAC_KEY',
    ...AUDIT_VARIABLES,
    'MESSAGE_PARTNER_BASE_URL',
    'MESSAGE_PARTNER_SECRET',
  ]);
  const messagePartner = openMessagePartner(config);
  const connectors = createConnectors(sourceConfigs(config));
  const exchange = await assembleExchange(config, temporal, logger);
  const { store, blobs, courier, callbackBaseUrl, callbackKey } = exchange;

  const startGuard = createStartGuard(store);
  const ofSources = createSourceActivities({
    store,
    blobs,
    records: exchange.records,
    courier,
    connectors,
    callbackBaseUrl,
    callbackKey,
    startGuard,
  });
  const sealing = auditSealing({
    store,
    chain: createAuditChain(config.AUDIT_KEY),
    heads: config.AUDIT_HEADS === undefined ? undefined : await openAuditHeads(config.AUDIT_HEADS),
    logger,
  });
  const engine = createBulkEngine({ store, blobs, hmacKey: config.ID_HMAC_KEY });
  return {
    activities: {
      [TASK_QUEUES.exchange]: {
        ...createBulkActivities({ store, engine, courier, startGuard }),
        ...createConsolidatedActivities({ builder: exchange.consolidatedBuilder, startGuard }),
        ...createRecordActivities({ store, courier, connectors, callbackKey }),
        ...createSweepActivities({ store, launcher: exchange.networkQueries.launcher, callbackKey }),
        ...createFollowUpActivities({
          rounds: createFollowUpRounds({ store, networkQueries: exchange.networkQueries }),
        }),
        ...createMessageActivities({
          transmission: createTransmission({ store, blobs, courier, partner: messagePartner }),
        }),
        ...createWebhookActivities({ delivery: exchange.delivery, courier, temporal }),
        ...createReconcileActivities({
          store,
          courier,
          launcher: exchange.networkQueries.launcher,
          others: [...exchange.leftOverWork, sealing],
        }),
      },
      ...Object.fromEntries(SOURCE_TYPES.map((source) => [TASK_QUEUES.source(source), ofSources])),
    },
    close: () => exchange.close(),
  };
}
