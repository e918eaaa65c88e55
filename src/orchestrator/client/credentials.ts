import { SignJWT } from 'jose';
import { z } from 'zod';
import { ConfigError } from '../../config.ts';
import {
  API_KEY_ACCESS,
  type ExchangeAccess,
} from '../../contract/patient-onboarding.ts';
import {
  apiKeyCredential,
  type CredentialHeader,
} from './api-key-credential.ts';

/**
 * The audience of tokens that our exchange accepts only from its own
 * orchestrator.
 */
export const INTERNAL_TOKEN_AUDIENCE = 'exchange-internal';
const TOKEN_LIFETIME_SECONDS = 60;

export const accountAccess = (accountId: string): ExchangeAccess => ({
  credentialRef: `account/${accountId}`,
});

/** The account that an access acts for; undefined for another service. */
export const accountOf = ({
  credentialRef,
}: ExchangeAccess): string | undefined =>
  /^account\/(.+)$/.exec(credentialRef)?.[1];

/**
 * The access that the configuration selects: an API key if one is set, or else
 * an account of our own exchange.
 */
export function configuredAccess(config: {
  EXCHANGE_API_KEY?: string;
  EXCHANGE_ACCOUNT_ID?: string;
}): ExchangeAccess {
  if (config.EXCHANGE_API_KEY !== undefined) return API_KEY_ACCESS;
  if (config.EXCHANGE_ACCOUNT_ID !== undefined)
    return accountAccess(config.EXCHANGE_ACCOUNT_ID);
  throw new ConfigError(
    'Set EXCHANGE_ACCOUNT_ID (an account of our own exchange) or EXCHANGE_API_KEY (a key for any exchange)',
  );
}

/**
 * Creates the authentication header for an access. Workflows carry only the
 * name of the credential; the keys stay in this process. Throws ConfigError
 * when this process does not have the named credential.
 */
export function createCredentials(secrets: {
  apiKey?: string;
  internalTokenKey?: string;
}) {
  return async (access: ExchangeAccess): Promise<CredentialHeader> => {
    if (access.credentialRef === API_KEY_ACCESS.credentialRef) {
      if (secrets.apiKey === undefined)
        throw new ConfigError('EXCHANGE_API_KEY is not set');
      return apiKeyCredential(secrets.apiKey)();
    }
    const accountId = z.uuid().safeParse(accountOf(access));
    if (!accountId.success)
      throw new ConfigError(
        'The credential reference is neither the API key nor an account',
      );
    if (secrets.internalTokenKey === undefined)
      throw new ConfigError('INTERNAL_TOKEN_KEY is not set');
    return {
      name: 'authorization',
      value: `Bearer ${await internalToken(accountId.data, secrets.internalTokenKey)}`,
    };
  };
}

/**
 * HS256, audience `exchange-internal`, subject = the account, valid for 60 s.
 */
export const internalToken = (
  accountId: string,
  key: string,
): Promise<string> =>
  new SignJWT()
    .setProtectedHeader({ alg: 'HS256' })
    .setAudience(INTERNAL_TOKEN_AUDIENCE)
    .setSubject(accountId)
    .setIssuedAt()
    .setExpirationTime(`${TOKEN_LIFETIME_SECONDS}s`)
    .sign(new TextEncoder().encode(key));

/**
 * Whether an error says that this process does not have the named credential.
 */
export const isMissingCredential = (error: unknown): error is ConfigError =>
  error instanceof ConfigError;
