import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';

/** How a source authenticates its callers. */
export type SourceAccess =
  | { kind: 'bearer'; token: string }
  | { kind: 'client-credentials'; clientId: string; clientSecret: string };

/** Lifetime of an access token, as the token endpoint reports it. */
export const TOKEN_LIFETIME_SECONDS = 300;

/** Whether a request carries a token that this source accepts. */
export function isAuthorized(
  request: FastifyRequest,
  access: SourceAccess,
  nowMs = Date.now(),
): boolean {
  const token = bearerToken(request);
  if (!token) return false;
  return access.kind === 'bearer'
    ? sameText(token, access.token)
    : isValidToken(token, access.clientSecret, nowMs);
}

/** The token of an `Authorization: Bearer` header. */
export const bearerToken = (request: FastifyRequest): string | undefined =>
  /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1];

/**
 * Compares in constant time, so that the duration does not reveal how much of a
 * secret was right.
 */
export function sameText(a: string, b: string): boolean {
  const digest = (text: string) =>
    createHmac('sha256', 'compare').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

/**
 * Issues a token that contains its expiry and a signature, so that tokens stay
 * valid after a restart of the simulator.
 */
export function issueToken(clientSecret: string, nowMs = Date.now()): string {
  const content = `${nowMs + TOKEN_LIFETIME_SECONDS * 1000}.${randomBytes(9).toString('base64url')}`;
  return `${content}.${signature(content, clientSecret)}`;
}

function isValidToken(
  token: string,
  clientSecret: string,
  nowMs: number,
): boolean {
  const [expiresAtMs, nonce, signed] = token.split('.');
  if (!signed || Number(expiresAtMs) <= nowMs) return false;
  return sameText(signed, signature(`${expiresAtMs}.${nonce}`, clientSecret));
}

const signature = (content: string, clientSecret: string): string =>
  createHmac('sha256', clientSecret).update(content).digest('base64url');
