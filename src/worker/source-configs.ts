import { type Config, ConfigError, sourceVariableNames } from '../config.ts';
import type { SourceType } from '../contract/primitives.ts';
import type { SourceAuth, SourceConfig } from '../exchange/sources/source-config.ts';

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
    allowedOrigins: config[`${prefix}_ALLOWED_ORIGINS`]?.split(/\s+/) ?? [],
    tokenOrigins: config[`${prefix}_TOKEN_ORIGINS`]?.split(/\s+/) ?? [],
    // Without a secret, a source's callbacks cannot be verified, so the source is only polled.
    callbacks: config[`${prefix}_CALLBACK_SECRET`] !== undefined,
  };
}

/** Client credentials, or else a bearer token, or else none. Throws ConfigError for incomplete client credentials. */
function authOf(prefix: Prefix, config: SourcesConfig): SourceAuth {
  const tokenUrl = config[`${prefix}_TOKEN_URL`];
  const clientId = config[`${prefix}_CLIENT_ID`];
  const clientSecret = config[`${prefix}_CLIENT_SECRET`];
  const token = config[`${prefix}_BEARER_TOKEN`];
  if (tokenUrl !== undefined || clientId !== undefined || clientSecret !== undefined) {
    if (tokenUrl === undefined || clientId === undefined || clientSecret === undefined)
      throw new ConfigError(
        `${prefix}_TOKEN_URL, ${prefix}_CLIENT_ID and ${prefix}_CLIENT_SECRET belong together: set all or none`,
      );
    return { kind: 'client-credentials', tokenUrl, clientId, clientSecret };
  }
  return token === undefined ? { kind: 'none' } : { kind: 'bearer', token };
}
