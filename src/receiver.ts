import { join } from 'node:path';
import { givenVariables, readConfig } from './config.ts';
import { drainServer } from './lib/draining.ts';
import { exitWithParent, reportReady } from './lib/exit-with-parent.ts';
import { runProcess } from './lib/process.ts';
import { configuredAccess } from './orchestrator/client/credentials.ts';
import { createReceiver } from './orchestrator/receiver/app.ts';
import { MessageLog } from './orchestrator/receiver/message-log.ts';
import { createOnboardings } from './orchestrator/receiver/onboardings.ts';
import { parseKeys } from './orchestrator/receiver/signatures.ts';
import { createTemporalClient, TEMPORAL_VARIABLES } from './temporal/client.ts';
import { certificatesReplaced } from './temporal/credentials.ts';

const VARIABLES = [
  'LISTEN_HOST',
  'RECEIVER_PORT',
  'WEBHOOK_KEY',
  'INTAKE_KEY',
  'EXCHANGE_API_KEY',
  'EXCHANGE_ACCOUNT_ID',
  'ID_HMAC_KEY',
  ...TEMPORAL_VARIABLES,
] as const;

/**
 * Receives webhooks and intake, and signals or starts workflows. Responds 503
 * while Temporal is down, so that senders retry.
 */
await runProcess('receiver', async (logger) => {
  exitWithParent();
  const config = readConfig(VARIABLES);
  const { DATA_DIR: dataDir } = givenVariables(['DATA_DIR']);
  const temporal = await createTemporalClient(config, { lazy: true });
  const webhookKeys = parseKeys(config.WEBHOOK_KEY);
  if (webhookKeys.length === 0)
    logger.warn('WEBHOOK_KEY is not set: every webhook is refused');
  const receiver = createReceiver({
    onboardings: createOnboardings(temporal, {
      exchange: configuredAccess(config),
      idHmacKey: config.ID_HMAC_KEY,
    }),
    messages: await MessageLog.open(
      dataDir && join(dataDir, 'logs', 'received-webhooks.jsonl'),
    ),
    webhookKeys,
    intakeKeys: parseKeys(config.INTAKE_KEY),
    logger,
  });
  const url = await receiver.listen({
    host: config.LISTEN_HOST,
    port: config.RECEIVER_PORT,
  });
  logger.info({ url }, 'receiver is ready');
  reportReady({ url });
  return {
    ended: certificatesReplaced(),
    stop: async () => {
      await drainServer(receiver, 0);
      await temporal.connection.close();
    },
  };
});
