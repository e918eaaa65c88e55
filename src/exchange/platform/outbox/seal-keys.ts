import { replaceKey, unsealedKeys } from '../../webhooks/destination-store.ts';
import type { Store } from '../database/database.ts';
import type { Recovery } from '../recovery/recovery.ts';
import type { WebhookKeys } from './webhook-key.ts';

/** Seals the keys that an earlier version, or `npm run seed`, has written in clear. */
export const keysToSeal = (deps: { store: Store; webhookKeys: WebhookKeys }): Recovery => ({
  name: 'webhook keys in clear',
  takeUp: (limit) =>
    deps.store.asSystem(async (tx) => {
      const found = await unsealedKeys(tx, limit);
      for (const of of found) await replaceKey(tx, of, deps.webhookKeys.seal(of.key));
      return found.length;
    }),
});
