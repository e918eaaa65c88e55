import { exchangeActivities } from '../activities/exchange/index.ts';
import { createReconcileActivities } from '../activities/exchange/reconcile.ts';
import { readConfig } from '../config.ts';
import { assembleExchange, EXCHANGE_VARIABLES } from '../exchange/assemble.ts';
import { openMessagePartner } from '../exchange/messaging/messages/partner.ts';
import { isImporting } from '../exchange/people/bulk-create/request-store.ts';
import { createAuditChain } from '../exchange/platform/audit/chain.ts';
import { openAuditHeads } from '../exchange/platform/audit/open-heads.ts';
import { auditSealing } from '../exchange/platform/audit/sealer.ts';
import { checkClock } from '../exchange/platform/database/check-clock.ts';
import { measureConnections } from '../exchange/platform/database/connection-metrics.ts';
import { createReconcileMetrics } from '../exchange/platform/recovery/reconcile-metrics.ts';
import { createRoundCount } from '../exchange/platform/recovery/reconcile-state-store.ts';
import { createReconciler } from '../exchange/platform/recovery/reconciler.ts';
import { createStartGuard } from '../exchange/platform/recovery/start-guard.ts';
import { abandonedJobCancellation } from '../exchange/queries/network-query/abandoned-jobs.ts';
import { createSourceConnections } from '../exchange/sources/connections/connections.ts';
import { createSharedTokens } from '../exchange/sources/connections/shared-tokens.ts';
import { createAssertionSigner } from '../exchange/sources/connections/signing-keys.ts';
import { createCallBudgets } from '../exchange/sources/connectors/budgets.ts';
import { createConnectors } from '../exchange/sources/connectors/fhir-connector.ts';
import { inBothLanes } from '../temporal/task-queue-stats.ts';
import type { Half, HalfDeps } from './half.ts';
import { SOURCE_VARIABLES, sourceConfigs } from './source-configs.ts';

/** Only workers have these: an attacker who controls a gateway must not be able to seal audit entries. */
const AUDIT_VARIABLES = ['AUDIT_KEY', 'AUDIT_HEADS'] as const;

/** Builds the activities of the exchange's own task queue and of the sources' queues. Throws ConfigError. */
export async function openExchangeHalf({ logger, temporal, metrics }: HalfDeps): Promise<Half> {
  const config = readConfig([
    ...EXCHANGE_VARIABLES,
    ...SOURCE_VARIABLES,
    ...AUDIT_VARIABLES,
    'MESSAGE_PARTNER_BASE_URL',
    'MESSAGE_PARTNER_SECRET',
  ]);
  const sources = await sourceConfigs(config);
  const messagePartner = openMessagePartner(config);
  const exchange = await assembleExchange(config, temporal, logger);
  const { store, keyRing } = exchange;
  await checkClock(store);
  measureConnections(metrics, store);
  const connectorDeps = {
    signer: createAssertionSigner(store, keyRing),
    sharedTokens: createSharedTokens(store, keyRing),
    callBudgets: createCallBudgets(store),
  };
  const connectors = createConnectors(sources, connectorDeps);
  const connections = createSourceConnections({ store, keyRing }, connectorDeps);
  const sealing = auditSealing({
    store,
    chain: createAuditChain(config.AUDIT_KEY),
    heads: config.AUDIT_HEADS === undefined ? undefined : await openAuditHeads(config.AUDIT_HEADS),
    logger,
  });
  const reconcile = createReconcileActivities({
    store,
    reconciler: createReconciler({
      roundCount: createRoundCount(store),
      recoveries: [
        ...exchange.recoveries,
        abandonedJobCancellation({ store, connectors, connections }),
        sealing,
      ],
      isImporting: () => store.asSystem(isImporting),
      logger,
      metrics: createReconcileMetrics(metrics),
    }),
  });
  return {
    activities: inBothLanes(
      exchangeActivities({
        ...exchange,
        connectors,
        connections,
        messagePartner,
        startGuard: createStartGuard(store),
        reconcile,
      }),
    ),
    close: () => exchange.close(),
  };
}
