import { randomBytes } from 'node:crypto';
import type { KeyRing } from '../../../lib/key-ring.ts';

/** Generates a signing key in the format of Standard Webhooks: `whsec_` and the base64 of 32 random bytes. */
export const generateWebhookKey = (): string => `whsec_${randomBytes(32).toString('base64')}`;

/** Encrypts signing keys for storage, with the key ring. */
export interface WebhookKeys {
  seal(key: string): string;
  /** Decrypts a stored key. Also accepts clear text, as earlier versions and `npm run seed` store it. Throws DecryptionError. */
  open(stored: string): string;
}

/** Prefix of an encrypted key; the partial index `webhook_destination_unsealed` depends on it. */
export const SEALED = 'sealed:';
const PURPOSE = 'webhook-key';

export const createWebhookKeys = (ring: KeyRing): WebhookKeys => ({
  seal: (key) => `${SEALED}${ring.encrypt(Buffer.from(key), PURPOSE).toString('base64')}`,
  open: (stored) =>
    stored.startsWith(SEALED)
      ? ring.decrypt(Buffer.from(stored.slice(SEALED.length), 'base64'), PURPOSE).toString()
      : stored,
});
