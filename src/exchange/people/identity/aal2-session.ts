import { createHash, createHmac } from 'node:crypto';
import type { AccountTx } from '../../platform/database/database.ts';
import { ForbiddenError, InvalidRequestError } from '../../platform/errors.ts';
import { findAal2Session } from './identity-store.ts';

/**
 * NIST SP 800-63B, 4.2.3: at AAL2 a subscriber must reauthenticate at least
 * every 12 hours.
 */
export const AAL2_SESSION_MS = 12 * 3_600_000;

/**
 * The AAL2 session id of a passed challenge. It is derived from the challenge,
 * so that the database holds only its hash, and every return from the partner's
 * page, also a reloaded one, carries the same id.
 */
export const aal2SessionId = (
  signingKey: string,
  challengeId: string,
): string =>
  `aal2_${createHmac('sha256', signingKey).update(`aal2-session/${challengeId}`).digest('base64url')}`;

export const aal2SessionHash = (sessionId: string): Buffer =>
  createHash('sha256').update(sessionId).digest();

/**
 * Checks what a query with purpose `ias` must present (docs/interface.md, E2):
 * a verified identity of the patient and an active AAL2 session of that
 * identity. Returns the challenge of the session. Throws InvalidRequestError
 * (400) for a missing value and ForbiddenError (403) for any other; the 403
 * does not reveal whether the session exists.
 */
export async function requireAal2Session(
  tx: AccountTx,
  given: { sessionId?: string; proofedIdentityId?: string; patientId: string },
  now: Date,
): Promise<string> {
  const { sessionId, proofedIdentityId, patientId } = given;
  const missing = [];
  if (proofedIdentityId === undefined)
    missing.push({
      path: 'proofedIdentityId',
      message: 'is required when purposeOfUse is ias',
    });
  if (sessionId === undefined)
    missing.push({
      path: 'x-aal2-session',
      message: 'this header is required when purposeOfUse is ias',
    });
  if (proofedIdentityId === undefined || sessionId === undefined)
    throw new InvalidRequestError(missing);
  const session = isUuid(proofedIdentityId)
    ? await findAal2Session(tx, {
        sessionHash: aal2SessionHash(sessionId),
        proofedIdentityId,
        patientId,
      })
    : undefined;
  if (session === undefined || session.expiresAt <= now)
    throw new ForbiddenError(
      'The AAL2 session is unknown, has expired or belongs to another identity; start a new AAL2 challenge',
    );
  return session.challengeId;
}

const isUuid = (text: string): boolean =>
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
