import { readConfig } from './config.ts';
import { assembleExchange, EXCHANGE_VARIABLES } from './exchange/assemble.ts';
import { createGateway } from './exchange/create-gateway.ts';
import {
  openRespondingGateway,
  RESPONDING_GATEWAY_VARIABLES,
} from './exchange/delivery/responding-gateway/open-responding-gateway.ts';
import {
  MLLP_VARIABLES,
  openMllp,
} from './exchange/messaging/notifications/mllp/open-mllp.ts';
import { openIdentityPartner } from './exchange/people/identity/partner.ts';
import {
  checkClock,
  showClock,
} from './exchange/platform/database/check-clock.ts';
import { GATEWAY_CONNECTIONS } from './exchange/platform/database/connections.ts';
import { createResponseSeal } from './exchange/platform/http/idempotency-store.ts';
import {
  isUnderPressure,
  watchPressure,
} from './exchange/platform/limits/pressure.ts';
import { drainServer } from './lib/draining.ts';
import { exitWithParent, reportReady } from './lib/exit-with-parent.ts';
import { runProcess } from './lib/process.ts';
import { createTemporalClient, TEMPORAL_VARIABLES } from './temporal/client.ts';
import { certificatesReplaced } from './temporal/credentials.ts';
import { readTaskQueueStats } from './temporal/task-queues.ts';

const VARIABLES = [
  ...EXCHANGE_VARIABLES,
  ...TEMPORAL_VARIABLES,
  'INTERNAL_TOKEN_KEY',
  'LISTEN_HOST',
  'GATEWAY_PORT',
  'GATEWAY_DRAIN_SECONDS',
  'NOTIFICATION_SENDERS',
  ...MLLP_VARIABLES,
  ...RESPONDING_GATEWAY_VARIABLES,
  'TRUSTED_PROXIES',
  'SHARED_CONNECTIONS_MAX',
  'IDENTITY_PARTNER_BASE_URL',
  'IDENTITY_PARTNER_SECRET',
] as const;

const PING_TIMEOUT_MS = 3_000;
/**
 * Connections to PostgreSQL that one account may use at a time, at most half of
 * the pool; its further requests wait.
 */
const ACCOUNT_CONNECTIONS_MAX = 8;

/**
 * Serves the interface. Also starts and responds while Temporal is down;
 * accepted work starts when Temporal is back.
 */
await runProcess('gateway', async (logger) => {
  exitWithParent();
  const config = readConfig(VARIABLES);
  const temporal = await createTemporalClient(config, { lazy: true });
  const exchange = await assembleExchange(config, temporal, logger, {
    name: GATEWAY_CONNECTIONS,
    accountMax: ACCOUNT_CONNECTIONS_MAX,
    sharedMax: config.SHARED_CONNECTIONS_MAX,
  });
  await checkClock(exchange.store);
  const hideClock = showClock(exchange.store, 'gateway');
  const app = await createGateway({
    ...exchange,
    responseSeal: createResponseSeal(exchange.keyRing),
    notificationSenders: config.NOTIFICATION_SENDERS,
    identityPartner: openIdentityPartner(config),
    identitySecret: config.IDENTITY_PARTNER_SECRET,
    linkSigningKey: config.LINK_SIGNING_KEY,
    internalTokenKey: config.INTERNAL_TOKEN_KEY,
    allowLoopbackWebhooks: config.LOOPBACK_EXCEPT_PORTS !== undefined,
    refusedWebhookPorts: config.LOOPBACK_EXCEPT_PORTS,
    trustedWebhookOrigins: config.WEBHOOK_TRUSTED_ORIGINS,
    trustedProxies: config.TRUSTED_PROXIES,
    watchPressure: (report) =>
      watchPressure(exchange.store.waitingForConnection, (sample) =>
        report(isUnderPressure(sample)),
      ),
    readQueues: () => readTaskQueueStats(temporal),
    // Without a deadline, the calls of many probes would add up while Temporal
    // hangs.
    pingTemporal: async () => {
      await temporal.withDeadline(Date.now() + PING_TIMEOUT_MS, () =>
        temporal.connection.workflowService.getSystemInfo({}),
      );
    },
  });
  const mllp = await openMllp(config, exchange);
  const respondingGateway = await openRespondingGateway(config, {
    ...exchange,
    acceptDeferred: exchange.deferredQuestions.accept,
  });
  const url = await app.listen({
    host: config.LISTEN_HOST,
    port: config.GATEWAY_PORT,
  });
  logger.info({ url }, 'gateway is ready');
  reportReady({ url });
  return {
    ended: certificatesReplaced(),
    stop: async () => {
      hideClock();
      await mllp?.close();
      await respondingGateway?.close();
      await drainServer(app, config.GATEWAY_DRAIN_SECONDS);
      await exchange.close();
      await temporal.connection.close();
    },
  };
});
