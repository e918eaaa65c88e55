import type { SettingsResponse } from '../../../contract/settings.ts';
import type { WebhookResponse } from '../../../contract/webhooks.ts';
import type { WebhookKeys } from '../../platform/outbox/webhook-key.ts';
import type { StoredDestination } from './destination-store.ts';

/** A further destination in responses, with its decrypted key. */
export function serializeWebhook(
  destination: StoredDestination,
  counts: { pending: number; deadLettered: number },
  keys: Pick<WebhookKeys, 'open'>,
): WebhookResponse {
  const { id, url, types, key, previousKeyUntil, health } = destination;
  const isOverlap = previousKeyUntil !== null && previousKeyUntil.getTime() > Date.now();
  return {
    id,
    url: url ?? '',
    types: types ?? ['*'],
    webhookKey: key === null ? '' : keys.open(key),
    ...(isOverlap && { previousKeyUntil: previousKeyUntil.toISOString() }),
    enabled: health !== 'disabled',
    status: health,
    lastStatusAt: destination.healthAt?.toISOString() ?? null,
    ...counts,
    createdAt: destination.createdAt.toISOString(),
  };
}

/** The settings in responses. The key is null unless a destination is set. */
export function serializeSettings(
  accountId: string,
  destination: StoredDestination | undefined,
  keys: Pick<WebhookKeys, 'open'>,
): SettingsResponse {
  const isSet = destination !== undefined && destination.url !== null;
  return {
    id: accountId,
    webhookUrl: isSet ? destination.url : null,
    webhookKey: isSet && destination.key !== null ? keys.open(destination.key) : null,
  };
}
