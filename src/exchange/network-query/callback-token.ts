import { createHash, createHmac } from 'node:crypto';
import type { SourceType } from '../../contract/primitives.ts';

/**
 * The unguessable part of the address at which a source may announce its answer, one per attempt. It is derived,
 * not stored; the attempt's row holds its hash only.
 */
export function callbackToken(key: string, requestId: string, source: SourceType, attempt: number): string {
  return createHmac('sha256', key)
    .update(`source-callback/${requestId}/${source}/${attempt}`)
    .digest('base64url');
}

export const callbackHash = (token: string): Buffer => createHash('sha256').update(token).digest();

/** Whether it has the form of one; nothing else needs to be looked up. */
export const isCallbackToken = (text: string): boolean => /^[\w-]{43}$/.test(text);
