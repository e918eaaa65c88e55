import { createHmac } from 'node:crypto';

/**
 * Converts a caller's value (a job id, an idempotency key, a callback reference) to an id that may appear in clear text in
 * Temporal: 32 hex digits of an HMAC-SHA256, stable for the same key, purpose and value. Callers' ids may contain record
 * numbers, and the plain hash of one could be guessed.
 */
export function opaqueId(hmacKey: string, purpose: string, value: string): string {
  // The length of the purpose distinguishes ("ab", "c") from ("a", "bc").
  return createHmac('sha256', hmacKey)
    .update(`${purpose.length}:${purpose}:${value}`)
    .digest('hex')
    .slice(0, 32);
}
