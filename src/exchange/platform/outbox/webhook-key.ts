import { randomBytes } from 'node:crypto';
import type { KeyRing } from '../../../lib/key-ring.ts';

/**
 * Generates a signing key in the format of Standard Webhooks: `whsec_` and the
 * base64 of 32 random bytes.
 */
export const generateWebhookKey = (): string =>
  `whsec_${randomBytes(32).toString('base64')}`;

export type WebhookKeys = ReturnType<typeof createWebhookKeys>;

const PURPOSE = 'webhook-key';

/** Encrypts signing keys for storage, with the key ring. */
export const createWebhookKeys = (ring: KeyRing) => ({
  seal: (key: string) =>
    ring.encrypt(Buffer.from(key), PURPOSE).toString('base64'),
  /** Decrypts a stored key. Throws DecryptionError. */
  open: (stored: string) =>
    ring.decrypt(Buffer.from(stored, 'base64'), PURPOSE).toString(),
});
