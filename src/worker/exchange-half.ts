import { createBulkActivities } from '../activities/exchange/bulk-activities.ts';
import { createConsolidatedActivities } from '../activities/exchange/consolidated-activities.ts';
import { createFollowUpActivities } from '../activities/exchange/follow-up-activities.ts';
import { createMessageActivities } from '../activities/exchange/message-activities.ts';
import { createReconcileActivities } from '../activities/exchange/reconcile-activities.ts';
import { createRecordActivities } from '../activities/exchange/record-activities.ts';
import { createSourceActivities } from '../activities/exchange/source-activities.ts';
import { createSweepActivities } from '../activities/exchange/sweep-activities.ts';
import { createWebhookActivities } from '../activities/exchange/webhook-activities.ts';
import { readConfig } from '../config.ts';
import { SOURCE_TYPES } from '../contract/primitives.ts';
import { TASK_QUEUES } from '../contract/temporal.ts';
import { assembleExchange, EXCHANGE_VARIABLES } from '../exchange/assemble.ts';
import { createAuditChain } from '../exchange/audit/chain.ts';
import { openAuditHeads } from '../exchange/audit/heads.ts';
import { auditSealing } from '../exchange/audit/sealer.ts';
import { createBulkEngine } from '../exchange/bulk/engine.ts';
import { createTransmission } from '../exchange/messages/transmission.ts';
import { createFollowUpRounds } from '../exchange/notifications/follow-up/rounds.ts';
import { openMessagePartner } from '../exchange/partners/open-partners.ts';
import { createConnectors } from '../exchange/sources/fhir-connector.ts';
import { createStartGuard } from '../exchange/start-guard.ts';
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
