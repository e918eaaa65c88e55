import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { type Config, ConfigError, sourceVariableNames } from '../config.ts';
import { SOURCE_TYPES, type SourceType } from '../contract/primitives.ts';
import {
  CONNECTION_AUTH,
  type CredentialOptions,
  checked,
  credentialsOf,
  InvalidConnection,
} from '../exchange/sources/connections/connection-options.ts';
import { configOf } from '../exchange/sources/connections/settings.ts';
import type { SourceConfig } from '../exchange/sources/connectors/source-config.ts';
import { connectionSettingsSchema } from '../exchange/sources/connectors/source-settings.ts';

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

/** `LAB_SETTINGS`: the settings of a connection, and what of its login is not a variable of its own. */
const settingsSchema = z.strictObject({
  ...connectionSettingsSchema.omit({ facilityIds: true }).shape,
  auth: z.enum(CONNECTION_AUTH).exclude(['udap']).optional(),
  scope: z.string().optional(),
  algorithm: z.string().optional(),
  /** PEM files. */
  tlsCa: z.string().optional(),
  tlsCert: z.string().optional(),
  tlsKey: z.string().optional(),
  tlsPins: z.array(z.string()).optional(),
});

/** The default connection of each source, for accounts that have none of their own. Throws ConfigError. */
export async function sourceConfigs(config: SourcesConfig): Promise<Record<SourceType, SourceConfig>> {
  const configs = SOURCE_TYPES.map(async (source) => [source, await sourceConfig(source, config)]);
  return Object.fromEntries(await Promise.all(configs)) as Record<SourceType, SourceConfig>;
}

async function sourceConfig(source: SourceType, config: SourcesConfig): Promise<SourceConfig> {
  const prefix = PREFIXES[source];
  try {
    const { auth, scope, algorithm, tlsCa, tlsCert, tlsKey, tlsPins, ...settings } = checked(
      settingsSchema,
      config[`${prefix}_SETTINGS`],
    );
    const login = auth ?? suggested(prefix, config);
    const [secretName, callbackName] = [
      `${prefix}_${login === 'bearer' ? 'BEARER_TOKEN' : 'CLIENT_SECRET'}`,
      `${prefix}_CALLBACK_SECRET`,
    ] as const;
    const [secret, callbackSecret] = [config[secretName], config[callbackName]];
    const names: Partial<Record<keyof CredentialOptions, string>> = {
      auth: 'the login',
      clientId: `${prefix}_CLIENT_ID`,
      tokenUrl: `${prefix}_TOKEN_URL`,
      secretFile: secretName,
    };
    const credentials = await credentialsOf(
      {
        auth: login,
        clientId: config[`${prefix}_CLIENT_ID`],
        tokenUrl: config[`${prefix}_TOKEN_URL`],
        secretFile: secret && secretName,
        callbackSecretFile: callbackSecret && callbackName,
        ...{ scope, algorithm, tlsCa, tlsCert, tlsKey, tlsPins },
      },
      {
        nameOf: (option) => names[option] ?? option,
        // Variables take a secret, or the name of its file, before this.
        read: (option, path) =>
          ({ [secretName]: secret, [callbackName]: callbackSecret })[path] ?? contentOf(option, path),
      },
    );
    return configOf({ source, baseUrl: config[`${prefix}_BASE_URL`], settings }, credentials);
  } catch (error) {
    if (!(error instanceof InvalidConnection)) throw error;
    throw new ConfigError(`${prefix}_SETTINGS and the other variables of ${source}: ${error.message}`);
  }
}

/** Without `auth` in the settings: client credentials if any of theirs is given, or else a bearer token, or else none. */
function suggested(prefix: Prefix, config: SourcesConfig) {
  const names = ['TOKEN_URL', 'CLIENT_ID', 'CLIENT_SECRET'] as const;
  if (names.some((name) => config[`${prefix}_${name}`] !== undefined)) return 'client-secret-basic';
  return config[`${prefix}_BEARER_TOKEN`] === undefined ? 'none' : 'bearer';
}

function contentOf(option: string, path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    throw new InvalidConnection(`${option}: ${path} cannot be read; give the path of a PEM file`);
  }
}
