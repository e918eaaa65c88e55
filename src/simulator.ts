import { randomBytes } from 'node:crypto';
import { ConfigError, readConfig } from './config.ts';
import { exitWithParent, reportReady } from './lib/exit-with-parent.ts';
import { createLogger } from './lib/logger.ts';
import type { SourceAccess } from './simulator/auth.ts';
import type { NotifyTarget } from './simulator/notifications/notifier.ts';
import { createSimulator } from './simulator/server.ts';

// Runs the simulated source networks as a separate process. They expect the credentials that the connectors send, so both
// read the same variables.

exitWithParent();
const config = readConfig([
  'LOG_LEVEL',
  'SIMULATOR_HOST',
  'SIMULATOR_PORT',
  'SIMULATOR_ADMIN_TOKEN',
  'SIMULATOR_LOG',
  'SIMULATOR_DATA',
  'SIMULATOR_NOTIFY_URL',
  'NOTIFICATION_SENDERS',
  'IDENTITY_PARTNER_SECRET',
  'MESSAGE_PARTNER_SECRET',
  'HIE_BEARER_TOKEN',
  'HIE_CLIENT_ID',
  'HIE_CLIENT_SECRET',
  'HIE_CALLBACK_SECRET',
  'PHARMACY_BEARER_TOKEN',
  'PHARMACY_CLIENT_ID',
  'PHARMACY_CLIENT_SECRET',
  'PHARMACY_CALLBACK_SECRET',
  'LAB_BEARER_TOKEN',
  'LAB_CLIENT_ID',
  'LAB_CLIENT_SECRET',
  'LAB_CALLBACK_SECRET',
]);
const logger = createLogger('simulator', config.LOG_LEVEL);

const adminToken = config.SIMULATOR_ADMIN_TOKEN ?? randomBytes(24).toString('base64url');
const simulator = await createSimulator({
  adminToken,
  host: config.SIMULATOR_HOST,
  port: config.SIMULATOR_PORT,
  requestLogPath: config.SIMULATOR_LOG,
  dataDir: config.SIMULATOR_DATA,
  notify: notifyTarget(),
  exchangeUrl: config.SIMULATOR_NOTIFY_URL,
  partnerSecrets: { identity: config.IDENTITY_PARTNER_SECRET, messages: config.MESSAGE_PARTNER_SECRET },
  access: { hie: accessTo('HIE'), pharmacy: accessTo('PHARMACY'), lab: accessTo('LAB') },
  callbackSecrets: {
    hie: config.HIE_CALLBACK_SECRET,
    pharmacy: config.PHARMACY_CALLBACK_SECRET,
    lab: config.LAB_CALLBACK_SECRET,
  },
});
logger.info({ url: simulator.url }, 'simulator listens');
// Printed here and nowhere else. Not a log line, so that log collectors do not store it.
if (config.SIMULATOR_ADMIN_TOKEN === undefined)
  process.stdout.write(`Token of /admin (set SIMULATOR_ADMIN_TOKEN to choose it): ${adminToken}\n`);
reportReady({ url: simulator.url });

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    logger.info({ signal }, 'simulator stops');
    // The process ends by itself once the server has closed.
    void simulator.close();
  });
}

/** Where to send notifications: to the exchange, as the first of its configured senders. */
function notifyTarget(): NotifyTarget | undefined {
  const [sender] = config.NOTIFICATION_SENDERS;
  const url = config.SIMULATOR_NOTIFY_URL;
  return sender && url ? { url, sender: sender.name, secret: sender.secret } : undefined;
}

function accessTo(source: 'HIE' | 'PHARMACY' | 'LAB'): SourceAccess {
  const token = config[`${source}_BEARER_TOKEN`];
  if (token) return { kind: 'bearer', token };
  const clientId = config[`${source}_CLIENT_ID`];
  const clientSecret = config[`${source}_CLIENT_SECRET`];
  if (clientId && clientSecret) return { kind: 'client-credentials', clientId, clientSecret };
  throw new ConfigError(
    `${source}_BEARER_TOKEN, or ${source}_CLIENT_ID and ${source}_CLIENT_SECRET, must be set`,
  );
}
