import { randomBytes } from 'node:crypto';
import { ConfigError, readConfig } from './config.ts';
import { exitWithParent, reportReady } from './lib/exit-with-parent.ts';
import { createLogger } from './lib/logger.ts';
import type { SourceAccess } from './simulator/auth.ts';
import type { NotifyTarget } from './simulator/notifications/notifier.ts';
import { createSimulator } from './simulator/server.ts';

// The stand-in source networks as a process of their own. They ask for the very credentials that the connectors
// are given, so one set of variables serves both.

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
// The only place where it can be had; not a log line, so that it stays out of what collects logs by their fields.
if (config.SIMULATOR_ADMIN_TOKEN === undefined)
  process.stdout.write(`Token of /admin (set SIMULATOR_ADMIN_TOKEN to choose it): ${adminToken}\n`);
reportReady({ url: simulator.url });

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    logger.info({ signal }, 'simulator stops');
    // Nothing is left to do after it: the process ends when its server has closed.
    void simulator.close();
  });
}

/** The exchange, as the first of its senders. */
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
