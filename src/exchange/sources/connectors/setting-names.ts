import type { ResolvedSourceConfig } from './source-config.ts';

/** Settings that messages name, and their options of `admin connections set`. */
const OPTIONS = {
  ALLOWED_ORIGINS: '--allowed-origins',
  OWN_BASE_URLS: '--own-base-urls',
  PAGE_BYTES_MAX: '--max-megabytes',
} as const;

export type ConfiguredSource = Pick<ResolvedSourceConfig, 'source' | 'connectionKey'>;

/** What an operator calls a setting: a variable of the environment, or an option for an account's connection. */
export const settingName = (config: ConfiguredSource, setting: keyof typeof OPTIONS): string =>
  isConnection(config) ? OPTIONS[setting] : `${config.source.toUpperCase()}_${setting}`;

/** Where options of an account's connection are given; '' for variables of the environment. */
export const settingCommand = (config: ConfiguredSource): string =>
  isConnection(config) ? ` (npm run admin -- connections set ${config.connectionKey})` : '';

const isConnection = ({ source, connectionKey }: ConfiguredSource): boolean => connectionKey !== source;
