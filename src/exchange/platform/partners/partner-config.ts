import { ConfigError } from '../../../config.ts';
import type { PartnerConfig } from './partner-http.ts';

/** The configuration of a partner, or undefined if none is set. Throws ConfigError if only one of its two variables is set. */
export function partnerConfig(
  prefix: string,
  baseUrl: string | undefined,
  secret: string | undefined,
): PartnerConfig | undefined {
  if (baseUrl === undefined && secret === undefined) return undefined;
  if (baseUrl !== undefined && secret !== undefined) return { baseUrl, secret };
  throw new ConfigError(`${prefix}_BASE_URL and ${prefix}_SECRET: set both, or neither`);
}
