import { type Config, ConfigError } from '../../../config.ts';
import { createIdentityPartner, type IdentityPartner } from '../../people/identity/partner.ts';
import { createMessagePartner, type MessagePartner } from '../../messaging/messages/partner.ts';
import type { PartnerConfig } from './partner-http.ts';

/** Undefined if no identity partner is configured. Throws ConfigError if only one of the two variables is set. */
export function openIdentityPartner(
  config: Config<'IDENTITY_PARTNER_BASE_URL' | 'IDENTITY_PARTNER_SECRET'>,
): IdentityPartner | undefined {
  const { IDENTITY_PARTNER_BASE_URL: baseUrl, IDENTITY_PARTNER_SECRET: secret } = config;
  const partner = both('IDENTITY_PARTNER', baseUrl, secret);
  return partner && createIdentityPartner(partner);
}

/** Undefined if no transport partner is configured. Throws ConfigError if only one of the two variables is set. */
export function openMessagePartner(
  config: Config<'MESSAGE_PARTNER_BASE_URL' | 'MESSAGE_PARTNER_SECRET'>,
): MessagePartner | undefined {
  const { MESSAGE_PARTNER_BASE_URL: baseUrl, MESSAGE_PARTNER_SECRET: secret } = config;
  const partner = both('MESSAGE_PARTNER', baseUrl, secret);
  return partner && createMessagePartner(partner);
}

function both(
  prefix: string,
  baseUrl: string | undefined,
  secret: string | undefined,
): PartnerConfig | undefined {
  if (baseUrl === undefined && secret === undefined) return undefined;
  if (baseUrl !== undefined && secret !== undefined) return { baseUrl, secret };
  throw new ConfigError(`${prefix}_BASE_URL and ${prefix}_SECRET: set both, or neither`);
}
