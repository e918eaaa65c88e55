import { createHmac } from 'node:crypto';

/**
 * Turns what a caller sent (a job id, an idempotency key, a callback reference) into an id that may stand in clear
 * text in Temporal: 32 hex digits of an HMAC-SHA256, stable for the same key, purpose and value. Callers' ids may
 * carry a record number, and a plain hash of one could be guessed.
 */
export function opaqueId(hmacKey: string, purpose: string, value: string): string {
  // The length of the purpose keeps ("ab", "c") and ("a", "bc") apart.
  return createHmac('sha256', hmacKey)
    .update(`${purpose.length}:${purpose}:${value}`)
    .digest('hex')
    .slice(0, 32);
}
