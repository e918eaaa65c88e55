import { createHash, createHmac } from 'node:crypto';
import type { AccountTx } from '../platform/database/database.ts';
import { ForbiddenError, InvalidRequestError } from '../platform/errors.ts';
import { findAal2Session } from './identity-store.ts';

/** NIST SP 800-63B, 4.2.3: at AAL2 a subscriber shows both factors again after 12 hours at the latest. */
export const AAL2_SESSION_MS = 12 * 3_600_000;

/**
 * The session id of a challenge that was passed: derived, so that the database knows its hash only and yet every return
 * from the partner's page, reloaded or not, carries the same one.
 */
export const aal2SessionId = (signingKey: string, challengeId: string): string =>
  `aal2_${createHmac('sha256', signingKey).update(`aal2-session/${challengeId}`).digest('base64url')}`;

export const aal2SessionHash = (sessionId: string): Buffer => createHash('sha256').update(sessionId).digest();

/**
 * What a query with purpose ias must show (E2): a verified identity of the patient and an active session of it. Returns the
 * challenge that the session came from. Throws InvalidRequestError (400) for what is missing and ForbiddenError (403), which
 * does not tell an unknown session from somebody else's.
 */
export async function requireAal2Session(
  tx: AccountTx,
  shown: { sessionId?: string; proofedIdentityId?: string; patientId: string },
  now: Date,
): Promise<string> {
  const { sessionId, proofedIdentityId, patientId } = shown;
  const missing = [];
  if (proofedIdentityId === undefined)
    missing.push({ path: 'proofedIdentityId', message: 'is required when purposeOfUse is ias' });
  if (sessionId === undefined)
    missing.push({ path: 'x-aal2-session', message: 'this header is required when purposeOfUse is ias' });
  if (proofedIdentityId === undefined || sessionId === undefined) throw new InvalidRequestError(missing);
  const session = isUuid(proofedIdentityId)
    ? await findAal2Session(tx, { sessionHash: aal2SessionHash(sessionId), proofedIdentityId, patientId })
    : undefined;
  if (session === undefined || session.expiresAt <= now)
    throw new ForbiddenError('The session is unknown, has expired or belongs to somebody else');
  return session.challengeId;
}

const isUuid = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
