import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { ConfigError, givenVariables, readConfig } from '../src/config.ts';
import { exitWithParent, reportReady } from '../src/lib/exit-with-parent.ts';
import { runProcess } from '../src/lib/process.ts';
import { SIMULATED_MAILBOX } from '../src/local-stack/simulator/letters.ts';
import type { SourceAccess } from './simulator/auth.ts';
import type { MailSystemOptions } from './simulator/mail/mail-system.ts';
import type { NotifyTarget } from './simulator/notifications/notifier.ts';
import { createSimulator } from './simulator/server.ts';

const VARIABLES = [
  'LOG_LEVEL',
  'LISTEN_HOST',
  'SIMULATOR_PORT',
  'SIMULATOR_ADMIN_TOKEN',
  'NOTIFICATION_SENDERS',
  'IDENTITY_PARTNER_SECRET',
  'SIMULATOR_MAIL_PORTS',
  'SIMULATOR_MAIL_PASSWORD',
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
] as const;
type Config = ReturnType<typeof readConfig<(typeof VARIABLES)[number]>>;

/**
 * Runs the simulated source networks. They expect the credentials that the
 * connectors send, so both read the same variables.
 */
await runProcess('simulator', async (logger) => {
  exitWithParent();
  const config = readConfig(VARIABLES);
  const { DATA_DIR: dataDir, EXCHANGE_BASE_URL: exchangeUrl } = givenVariables([
    'DATA_DIR',
    'EXCHANGE_BASE_URL',
  ]);
  const access = accessesIn(config);
  const adminToken =
    config.SIMULATOR_ADMIN_TOKEN ?? randomBytes(24).toString('base64url');
  const simulator = await createSimulator({
    adminToken,
    host: config.LISTEN_HOST,
    port: config.SIMULATOR_PORT,
    requestLogPath:
      dataDir && join(dataDir, 'logs', 'simulator-requests.jsonl'),
    dataDir: dataDir && join(dataDir, 'simulator'),
    notify: notifyTarget(config, exchangeUrl),
    identitySecret: config.IDENTITY_PARTNER_SECRET,
    mail: mailOptions(config),
    access,
    callbackSecrets: {
      hie: config.HIE_CALLBACK_SECRET,
      pharmacy: config.PHARMACY_CALLBACK_SECRET,
      lab: config.LAB_CALLBACK_SECRET,
    },
  });
  logger.info({ url: simulator.url }, 'simulator listens');
  // Printed here and nowhere else. Not a log line, so that log collectors do
  // not store it.
  if (config.SIMULATOR_ADMIN_TOKEN === undefined)
    process.stdout.write(
      `Token of /admin (set SIMULATOR_ADMIN_TOKEN to choose it): ${adminToken}\n`,
    );
  reportReady({ url: simulator.url });
  return { stop: () => simulator.close() };
});

function mailOptions({
  SIMULATOR_MAIL_PORTS: ports,
  SIMULATOR_MAIL_PASSWORD: password,
  LISTEN_HOST: host,
}: Config): MailSystemOptions | undefined {
  if (ports === undefined || password === undefined) return undefined;
  const [smtpPort, imapPort] = ports;
  return {
    login: { user: SIMULATED_MAILBOX.user, password },
    smtpPort,
    imapPort,
    host,
  };
}

/**
 * Where to send notifications: to the exchange, as the first of its configured
 * senders.
 */
function notifyTarget(
  config: Config,
  url: string | undefined,
): NotifyTarget | undefined {
  const [sender] = config.NOTIFICATION_SENDERS;
  return sender && url
    ? { url, sender: sender.name, secret: sender.secret }
    : undefined;
}

/** @throws ConfigError naming every source without credentials */
function accessesIn(
  config: Config,
): Record<'hie' | 'pharmacy' | 'lab', SourceAccess> {
  const hie = accessTo(config, 'HIE');
  const pharmacy = accessTo(config, 'PHARMACY');
  const lab = accessTo(config, 'LAB');
  if (hie !== undefined && pharmacy !== undefined && lab !== undefined)
    return { hie, pharmacy, lab };
  const missing = Object.entries({
    HIE: hie,
    PHARMACY: pharmacy,
    LAB: lab,
  }).flatMap(([source, access]) =>
    access === undefined
      ? [
          `  ${source}_BEARER_TOKEN, or ${source}_CLIENT_ID and ${source}_CLIENT_SECRET: are missing`,
        ]
      : [],
  );
  throw new ConfigError(
    [
      'The configuration is not valid; set these environment variables:',
      ...missing,
    ].join('\n'),
  );
}

function accessTo(
  config: Config,
  source: 'HIE' | 'PHARMACY' | 'LAB',
): SourceAccess | undefined {
  const token = config[`${source}_BEARER_TOKEN`];
  if (token) return { kind: 'bearer', token };
  const clientId = config[`${source}_CLIENT_ID`];
  const clientSecret = config[`${source}_CLIENT_SECRET`];
  return clientId && clientSecret
    ? { kind: 'client-credentials', clientId, clientSecret }
    : undefined;
}
