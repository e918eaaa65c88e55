import { createHmac } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';

/** JWT audience of access tokens of the FHIR API. */
export const FHIR_AUDIENCE = 'fhir';
/** SMART Backend Services: at most five minutes. */
export const ACCESS_TOKEN_SECONDS = 300;

/**
 * The claims of an access token. It is signed and not stored, as embed tokens
 * are (decision 44).
 */
export interface FhirAccessToken {
  clientId: string;
  accountId: string;
  scopes: readonly string[];
}

/**
 * Derived from the internal token key; tokens signed with one of the keys are
 * not valid for the other.
 */
const signingKey = (internalTokenKey: string): Uint8Array =>
  createHmac('sha256', internalTokenKey).update('fhir access tokens').digest();

export const signAccessToken = (
  internalTokenKey: string,
  { clientId, accountId, scopes }: FhirAccessToken,
): Promise<string> =>
  new SignJWT({ client_id: clientId, scope: scopes.join(' ') })
    .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt' })
    .setAudience(FHIR_AUDIENCE)
    .setSubject(accountId)
    .setIssuedAt()
    .setExpirationTime(`${ACCESS_TOKEN_SECONDS}s`)
    .sign(signingKey(internalTokenKey));

/** Undefined for a token that is not ours, or has expired. */
export async function verifyAccessToken(
  internalTokenKey: string,
  token: string,
): Promise<FhirAccessToken | undefined> {
  try {
    const { payload } = await jwtVerify(token, signingKey(internalTokenKey), {
      algorithms: ['HS256'],
      audience: FHIR_AUDIENCE,
      requiredClaims: ['exp', 'sub', 'client_id', 'scope'],
    });
    const { sub: accountId, client_id: clientId, scope } = payload;
    if (!isId(accountId) || !isId(clientId) || typeof scope !== 'string')
      return undefined;
    return { clientId, accountId, scopes: scope.split(' ') };
  } catch {
    return undefined;
  }
}

const isId = (value: unknown): value is string =>
  typeof value === 'string' && /^[0-9a-f-]{36}$/.test(value);
