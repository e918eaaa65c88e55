import { readConfig } from './config.ts';
import { createLogger } from './lib/logger.ts';
import { configuredAccess } from './orchestrator/client/credentials.ts';
import { createReceiver } from './orchestrator/receiver/app.ts';
import { MessageLog } from './orchestrator/receiver/message-log.ts';
import { createOnboardings } from './orchestrator/receiver/onboardings.ts';
import { parseKeys } from './orchestrator/receiver/signatures.ts';
import { createTemporalClient, TEMPORAL_VARIABLES } from './temporal/client.ts';

// The receiver as a process of its own: webhooks and intake come in, signals and starts go to Temporal.

const config = readConfig([
  'LOG_LEVEL',
  'RECEIVER_HOST',
  'RECEIVER_PORT',
  'RECEIVER_LOG',
  'WEBHOOK_KEY',
  'INTAKE_KEY',
  'EXCHANGE_API_KEY',
  'EXCHANGE_ACCOUNT_ID',
  'ID_HMAC_KEY',
  ...TEMPORAL_VARIABLES,
]);
const logger = createLogger('receiver', config.LOG_LEVEL);

// Lazy: while Temporal is down the receiver answers 503, and senders try again.
const temporal = await createTemporalClient(config, { lazy: true });
const receiver = createReceiver({
  onboardings: createOnboardings(temporal, {
    exchange: configuredAccess(config),
    idHmacKey: config.ID_HMAC_KEY,
  }),
  messages: await MessageLog.open(config.RECEIVER_LOG),
  webhookKeys: parseKeys(config.WEBHOOK_KEY),
  intakeKeys: parseKeys(config.INTAKE_KEY),
  logger,
});
const url = await receiver.listen({ host: config.RECEIVER_HOST, port: config.RECEIVER_PORT });
logger.info({ url }, 'receiver listens');

async function stop(signal: string): Promise<void> {
  logger.info({ signal }, 'receiver stops');
  await receiver.close();
  await temporal.connection.close();
}
// Nothing is left to do after it: the process ends when both have closed.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop(signal));
