import { type Config, ConfigError, sourceVariableNames } from '../config.ts';
import type { SourceType } from '../contract/primitives.ts';
import type { SourceAuth, SourceConfig, SourceTls } from '../exchange/sources/connectors/source-config.ts';

const PREFIXES = { hie: 'HIE', pharmacy: 'PHARMACY', lab: 'LAB' } as const satisfies Record<
  SourceType,
  string
>;
type Prefix = (typeof PREFIXES)[SourceType];

export const SOURCE_VARIABLES = [
  ...sourceVariableNames('HIE'),
  ...sourceVariableNames('PHARMACY'),
  ...sourceVariableNames('LAB'),
] as const;
type SourcesConfig = Config<(typeof SOURCE_VARIABLES)[number]>;

/** Reads the address and credentials of each source from the configuration. Throws ConfigError. */
export const sourceConfigs = (config: SourcesConfig): Record<SourceType, SourceConfig> => ({
  hie: sourceConfig('hie', config),
  pharmacy: sourceConfig('pharmacy', config),
  lab: sourceConfig('lab', config),
});

function sourceConfig(source: SourceType, config: SourcesConfig): SourceConfig {
  const prefix = PREFIXES[source];
  return {
    source,
    baseUrl: config[`${prefix}_BASE_URL`],
    auth: authOf(prefix, config),
    tls: tlsOf(prefix, config),
    allowedOrigins: config[`${prefix}_ALLOWED_ORIGINS`]?.split(/\s+/) ?? [],
    ownBaseUrls: config[`${prefix}_OWN_BASE_URLS`] ?? [],
    tokenOrigins: config[`${prefix}_TOKEN_ORIGINS`]?.split(/\s+/) ?? [],
    callsPerSecond: config[`${prefix}_RATE_PER_SECOND`],
    callsPerMinute: config[`${prefix}_RATE_PER_MINUTE`],
    // Without a secret, a source's callbacks cannot be verified, so the source is only polled.
    callbacks: config[`${prefix}_CALLBACK_SECRET`] !== undefined,
    pageSize: config[`${prefix}_PAGE_SIZE`],
    pageBytesMax: config[`${prefix}_PAGE_BYTES_MAX`],
    documentBytesMax: config[`${prefix}_DOCUMENT_BYTES_MAX`],
    requestTimeoutMs: config[`${prefix}_REQUEST_TIMEOUT_SECONDS`] * 1_000,
    incremental: config[`${prefix}_INCREMENTAL`],
    fullAfterDays: config[`${prefix}_FULL_AFTER_DAYS`],
  };
}

/** What `…_AUTH` names; without it client credentials, or else a bearer token, or else none. Throws ConfigError. */
function authOf(prefix: Prefix, config: SourcesConfig): SourceAuth {
  const scope = config[`${prefix}_SCOPE`];
  switch (config[`${prefix}_AUTH`] ?? suggested(prefix, config)) {
    case 'none':
      return { kind: 'none' };
    case 'bearer':
      return { kind: 'bearer', token: required(prefix, config, 'BEARER_TOKEN') };
    case 'smart-backend': {
      const clientId = required(prefix, config, 'CLIENT_ID');
      return { kind: 'smart-backend', clientId, scope, tokenUrl: config[`${prefix}_TOKEN_URL`] };
    }
    case 'client-secret-post':
      return { ...clientSecret(prefix, config), scope, secretIn: 'form' };
    case 'client-secret-basic':
      return { ...clientSecret(prefix, config), scope };
  }
}

function suggested(prefix: Prefix, config: SourcesConfig) {
  const names = ['TOKEN_URL', 'CLIENT_ID', 'CLIENT_SECRET'] as const;
  if (names.some((name) => config[`${prefix}_${name}`] !== undefined)) return 'client-secret-basic';
  return config[`${prefix}_BEARER_TOKEN`] === undefined ? 'none' : 'bearer';
}

function clientSecret(prefix: Prefix, config: SourcesConfig) {
  const tokenUrl = config[`${prefix}_TOKEN_URL`];
  const clientId = config[`${prefix}_CLIENT_ID`];
  const secret = config[`${prefix}_CLIENT_SECRET`];
  if (tokenUrl === undefined || clientId === undefined || secret === undefined)
    throw new ConfigError(
      `${prefix}_TOKEN_URL, ${prefix}_CLIENT_ID and ${prefix}_CLIENT_SECRET belong together: set all or none`,
    );
  return { kind: 'client-credentials' as const, tokenUrl, clientId, clientSecret: secret };
}

function required(prefix: Prefix, config: SourcesConfig, name: 'BEARER_TOKEN' | 'CLIENT_ID'): string {
  const value = config[`${prefix}_${name}`];
  if (value !== undefined) return value;
  throw new ConfigError(`${prefix}_AUTH is ${config[`${prefix}_AUTH`]}, so ${prefix}_${name} is needed`);
}

/** Certificates and pins. Throws ConfigError for a certificate without its key, and for a key without its certificate. */
function tlsOf(prefix: Prefix, config: SourcesConfig): SourceTls | undefined {
  const ca = config[`${prefix}_TLS_CA`];
  const cert = config[`${prefix}_TLS_CERT`];
  const key = config[`${prefix}_TLS_KEY`];
  const pins = config[`${prefix}_TLS_PINS`]?.split(/\s+/).filter(Boolean);
  if ((cert === undefined) !== (key === undefined))
    throw new ConfigError(`${prefix}_TLS_CERT and ${prefix}_TLS_KEY belong together: set both or neither`);
  const tls = { ca, cert, key, pins };
  return Object.values(tls).every((value) => value === undefined) ? undefined : tls;
}
