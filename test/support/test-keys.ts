import {
  createWebhookKeys,
  generateWebhookKey,
} from '../../src/exchange/platform/outbox/webhook-key.ts';
import { type KeyRing, parseKeyRing } from '../../src/lib/key-ring.ts';

/**
 * Keys for tests only, never for a running system. The recorded histories in
 * test/replay/histories are encrypted with them, so they never change.
 */
export const TEST_DATA_KEYS =
  'test-1:fNS+0J5EwzPn4kJBxEiEDNWt0k5Y4kPGpUZ1mWjLr1s=';
export const TEST_ID_HMAC_KEY = 'id-hmac-key-of-the-tests-only';

export const testKeyRing = (): KeyRing => parseKeyRing(TEST_DATA_KEYS);

/** A webhook key as it is stored. */
export const sealedWebhookKey = (key = generateWebhookKey()): string =>
  createWebhookKeys(testKeyRing()).seal(key);
