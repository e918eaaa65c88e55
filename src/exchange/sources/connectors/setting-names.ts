import type { ResolvedSourceConfig } from './source-config.ts';
import type { ConnectionSettings } from './source-settings.ts';

export type ConfiguredSource = Pick<ResolvedSourceConfig, 'source' | 'connectionKey'>;

/** Where an operator changes a setting: an option for an account's connection, or a variable of the environment. */
export const settingName = (config: ConfiguredSource, setting: keyof ConnectionSettings): string =>
  isConnection(config) ? optionName(setting) : `${setting} of ${config.source.toUpperCase()}_SETTINGS`;

/** The command that takes the options of an account's connection; '' for variables of the environment. */
export const settingCommand = (config: ConfiguredSource): string =>
  isConnection(config) ? ` (npm run admin -- connections set ${config.connectionKey})` : '';

/** The option of `npm run admin` for a setting: `pageSize` is `--page-size`. */
export const optionName = (setting: string): string =>
  `--${setting.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

const isConnection = ({ source, connectionKey }: ConfiguredSource): boolean => connectionKey !== source;
