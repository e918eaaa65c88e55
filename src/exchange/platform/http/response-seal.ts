import type { KeyRing } from '../../../lib/key-ring.ts';

/** The parts of a response that are stored encrypted. */
export interface ResponseContent {
  body: unknown;
  headers: Record<string, string>;
}

/**
 * Encrypts the responses stored under idempotency keys with the key ring, because some contain a secret (an embed token, a
 * webhook key). Each can be decrypted only with its own idempotency key's hash.
 */
export interface ResponseSeal {
  seal(keyHash: Buffer, response: ResponseContent): string;
  /** Throws DecryptionError. */
  open(keyHash: Buffer, stored: unknown): ResponseContent;
}

const purposeOf = (keyHash: Buffer): string => `idempotency-answer/${keyHash.toString('hex')}`;

export const createResponseSeal = (ring: KeyRing): ResponseSeal => ({
  seal: (keyHash, { body, headers }) =>
    ring
      .encrypt(Buffer.from(JSON.stringify({ body: body ?? null, headers })), purposeOf(keyHash))
      .toString('base64'),
  open(keyHash, stored) {
    const { sealed } = stored as { sealed: string };
    return JSON.parse(ring.decrypt(Buffer.from(sealed, 'base64'), purposeOf(keyHash)).toString());
  },
});
