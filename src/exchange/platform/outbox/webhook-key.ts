import { randomBytes } from 'node:crypto';
import type { KeyRing } from '../../../lib/key-ring.ts';

/** A signing key as Standard Webhooks writes it: `whsec_` and the base64 of 32 random bytes. */
export const generateWebhookKey = (): string => `whsec_${randomBytes(32).toString('base64')}`;

/** Signing keys as they are stored: sealed by the key ring. */
export interface WebhookKeys {
  seal(key: string): string;
  /** Also takes a key in clear, as earlier versions and `npm run seed` write them. Throws DecryptionError. */
  open(stored: string): string;
}

/** How a sealed key begins; the partial index `webhook_destination_unsealed` goes by it. */
export const SEALED = 'sealed:';
const PURPOSE = 'webhook-key';

export const createWebhookKeys = (ring: KeyRing): WebhookKeys => ({
  seal: (key) => `${SEALED}${ring.encrypt(Buffer.from(key), PURPOSE).toString('base64')}`,
  open: (stored) =>
    stored.startsWith(SEALED)
      ? ring.decrypt(Buffer.from(stored.slice(SEALED.length), 'base64'), PURPOSE).toString()
      : stored,
});
