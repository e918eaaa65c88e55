import type { KeyRing } from '../../../lib/key-ring.ts';

/** What is kept of an answer beside its status. */
export interface KeptResponse {
  body: unknown;
  headers: Record<string, string>;
}

/**
 * Answers under idempotency keys are kept sealed by the key ring: some hold a secret (an embed token, a webhook's key), and
 * none has to be told from the others. One is good for its own key only.
 */
export interface ResponseSeal {
  seal(keyHash: Buffer, answer: KeptResponse): string;
  /** Also takes an answer in clear, as an earlier version has kept it for a day. Throws DecryptionError. */
  open(keyHash: Buffer, stored: unknown): KeptResponse;
}

const purposeOf = (keyHash: Buffer): string => `idempotency-answer/${keyHash.toString('hex')}`;

export const createResponseSeal = (ring: KeyRing): ResponseSeal => ({
  seal: (keyHash, { body, headers }) =>
    ring
      .encrypt(Buffer.from(JSON.stringify({ body: body ?? null, headers })), purposeOf(keyHash))
      .toString('base64'),
  open(keyHash, stored) {
    const { sealed } = stored as { sealed?: unknown };
    if (typeof sealed !== 'string') return stored as KeptResponse;
    return JSON.parse(ring.decrypt(Buffer.from(sealed, 'base64'), purposeOf(keyHash)).toString());
  },
});
