import { createHash, createHmac } from 'node:crypto';
import type { SourceType } from '../../contract/primitives.ts';

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
