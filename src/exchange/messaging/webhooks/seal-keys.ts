import type { Store } from '../../platform/database/database.ts';
import type { WebhookKeys } from '../../platform/outbox/webhook-key.ts';
import { type Recovery, removalRecovery } from '../../platform/recovery/recovery.ts';
import { replaceKey, unsealedKeys } from './destination-store.ts';

/** Encrypts webhook keys that an earlier version, or `npm run seed`, has stored in clear text. */
export const webhookKeySealing = (deps: { store: Store; webhookKeys: WebhookKeys }): Recovery =>
  removalRecovery('unencrypted webhook keys', (limit) =>
    deps.store.asSystem(async (tx) => {
      const found = await unsealedKeys(tx, limit);
      for (const unsealed of found) await replaceKey(tx, unsealed, deps.webhookKeys.seal(unsealed.key));
      return found.length;
    }),
  );
