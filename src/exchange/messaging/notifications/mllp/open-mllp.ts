import { once } from 'node:events';
import { type Config, ConfigError } from '../../../../config.ts';
import { createIntake, type IntakeDeps } from '../intake.ts';
import { MESSAGE_BYTES_MAX } from '../senders.ts';
import { createMllpAnswer } from './answer.ts';
import { createMllpListener, type MllpListener } from './listener.ts';

export const MLLP_VARIABLES = [
  'MLLP_HOST',
  'MLLP_PORT',
  'MLLP_SENDERS',
  'MLLP_TLS_CERT',
  'MLLP_TLS_KEY',
  'MLLP_TLS_CLIENT_CA',
] as const;

type MllpConfig = Config<(typeof MLLP_VARIABLES)[number] | 'NOTIFICATION_SENDERS'>;

/** Interface engines keep a connection open and send when something happens. */
const LIMITS = {
  messageBytes: MESSAGE_BYTES_MAX,
  idleMs: 15 * 60_000,
  firstMessageMs: 60_000,
  frameMs: 60_000,
  connections: 100,
  connectionsOfAddress: 20,
};

/** Listens for MLLP if MLLP_PORT is set. Throws ConfigError. */
export async function openMllp(config: MllpConfig, deps: IntakeDeps): Promise<MllpListener | undefined> {
  if (config.MLLP_PORT === undefined) return undefined;
  const listener = createMllpListener({
    answer: createMllpAnswer({
      intake: createIntake(deps),
      senders: config.NOTIFICATION_SENDERS,
      identities: checked(config),
      logger: deps.logger,
    }),
    tls: tlsOf(config),
    limits: LIMITS,
    logger: deps.logger,
  });
  listener.server.listen(config.MLLP_PORT, config.MLLP_HOST);
  await once(listener.server, 'listening');
  deps.logger.info({ address: listener.server.address() }, 'listening for mllp');
  return listener;
}

function checked(config: MllpConfig): MllpConfig['MLLP_SENDERS'] {
  const known = new Set(config.NOTIFICATION_SENDERS.map(({ name }) => name));
  for (const identity of config.MLLP_SENDERS) {
    if (!known.has(identity.sender))
      throw new ConfigError(`MLLP_SENDERS names ${identity.sender}, which NOTIFICATION_SENDERS does not`);
    if ('certificate' in identity && config.MLLP_TLS_CLIENT_CA === undefined)
      throw new ConfigError('MLLP_SENDERS names a certificate, which needs MLLP_TLS_CLIENT_CA');
  }
  return config.MLLP_SENDERS;
}

function tlsOf({
  MLLP_TLS_CERT: cert,
  MLLP_TLS_KEY: key,
  MLLP_TLS_CLIENT_CA: clientAuthorities,
}: MllpConfig) {
  if (cert !== undefined && key !== undefined) return { cert, key, clientAuthorities };
  if (cert === undefined && key === undefined && clientAuthorities === undefined) return undefined;
  throw new ConfigError('For TLS, set both MLLP_TLS_CERT and MLLP_TLS_KEY');
}
