import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { SourceType } from '../../../contract/primitives.ts';

/**
 * The unguessable part of an attempt's callback URL. It is derived from LINK_SIGNING_KEY and never stored; the attempt's
 * row holds only its SHA-256.
 */
export function callbackToken(key: string, requestId: string, source: SourceType, attempt: number): string {
  return createHmac('sha256', key)
    .update(`source-callback/${requestId}/${source}/${attempt}`)
    .digest('base64url');
}

export const callbackHash = (token: string): Buffer => createHash('sha256').update(token).digest();

/** Whether a text has the form of a callback token; any other text need not be looked up. */
export const isCallbackToken = (text: string): boolean => /^[\w-]{43}$/.test(text);

/**
 * The token as connections of an account get it: with a proof that we made it. Their keys are in the database, and only a
 * source that was given a token may make us read them.
 */
export const provenToken = (key: string, token: string): string => `${token}.${proofOf(key, token)}`;

/** The token, if the text is one with its proof. */
export function tokenOfProven(key: string, text: string): string | undefined {
  const [token = '', proof = ''] = text.split('.');
  if (!isCallbackToken(token) || proof.length !== PROOF_LENGTH) return undefined;
  return timingSafeEqual(Buffer.from(proof), Buffer.from(proofOf(key, token))) ? token : undefined;
}

const PROOF_LENGTH = 22;

const proofOf = (key: string, token: string): string =>
  createHmac('sha256', key).update(`connection-callback/${token}`).digest('base64url').slice(0, PROOF_LENGTH);
