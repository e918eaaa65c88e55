import { randomBytes } from 'node:crypto';
import type { KeyRing } from '../../../lib/key-ring.ts';

/** Generates a signing key in the format of Standard Webhooks: `whsec_` and the base64 of 32 random bytes. */
export const generateWebhookKey = (): string => `whsec_${randomBytes(32).toString('base64')}`;

/** Encrypts signing keys for storage, with the key ring. */
export interface WebhookKeys {
  seal(key: string): string;
  /** Decrypts a stored key. Throws DecryptionError. */
  open(stored: string): string;
}

const PURPOSE = 'webhook-key';

export const createWebhookKeys = (ring: KeyRing): WebhookKeys => ({
  seal: (key) => ring.encrypt(Buffer.from(key), PURPOSE).toString('base64'),
  open: (stored) => ring.decrypt(Buffer.from(stored, 'base64'), PURPOSE).toString(),
});
