import { v7 as uuidv7 } from 'uuid';
import type { SettingsResponse } from '../../../contract/settings.ts';
import type { WebhookResponse } from '../../../contract/webhooks.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { orNotFound } from '../../platform/errors.ts';
import {
  type DestinationDeps,
  destinationRules,
  type GatewayPlatform,
} from '../../platform/http/deps.ts';
import { noContent, ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import {
  generateWebhookKey,
  type WebhookKeys,
} from '../../platform/outbox/webhook-key.ts';
import {
  changeDestination,
  deleteDestination,
  listDestinations,
  type StoredDestination,
} from './destination-store.ts';
import {
  checkAddress,
  createDestination,
  openReplay,
  requireDestination,
  requireSettingsDestination,
  rotateWebhookKey,
  writeTestEvent,
} from './destinations.ts';
import type { DestinationPing } from './ping.ts';
import { countUndelivered } from './replay-store.ts';
import { findDestination, setDestination } from './settings-store.ts';

/** Routes for further destinations. */
export function addWebhookRoutes(
  operations: Operations,
  deps: DestinationDeps &
    Pick<GatewayPlatform, 'webhookKeys'> & {
      destinationPing: Pick<DestinationPing, 'ping'>;
    },
): void {
  const rules = destinationRules(deps);
  const responseOf = async (tx: AccountTx, destination: StoredDestination) =>
    serializeWebhook(
      destination,
      await countUndelivered(tx, destination.id),
      deps.webhookKeys,
    );

  operations.read('listWebhooks', async (tx) => {
    const webhooks = [];
    for (const destination of await listDestinations(tx))
      webhooks.push(await responseOf(tx, destination));
    return ok({ webhooks });
  });

  operations.write('createWebhook', async (tx, { body }) => {
    checkAddress('url', body.url, rules);
    const destination = await createDestination(tx, deps.webhookKeys, body);
    return ok(await responseOf(tx, destination), {
      targetId: destination.id,
      afterCommit: () =>
        deps.destinationPing.ping(tx.accountId, destination.id),
    });
  });

  operations.read('getWebhook', async (tx, { params }) =>
    ok(await responseOf(tx, await requireDestination(tx, params.id))),
  );

  operations.write('updateWebhook', async (tx, { params, body }) => {
    if (body.url !== undefined) checkAddress('url', body.url, rules);
    const destination = orNotFound(
      'Webhook',
      await changeDestination(tx, params.id, body),
    );
    return ok(await responseOf(tx, destination), {
      targetId: destination.id,
      afterCommit:
        body.url === undefined
          ? undefined
          : () => deps.destinationPing.ping(tx.accountId, destination.id),
    });
  });

  operations.write('deleteWebhook', async (tx, { params }) => {
    orNotFound(
      'Webhook',
      (await deleteDestination(tx, params.id)) ? true : undefined,
    );
    return noContent({ targetId: params.id.toLowerCase() });
  });

  operations.write('rotateWebhookKey', async (tx, { params, body }) => {
    const destination = await requireDestination(tx, params.id);
    const rotated = await rotateWebhookKey(
      tx,
      deps.webhookKeys,
      destination,
      body.overlapHours,
    );
    return ok(rotated, { targetId: destination.id });
  });
}

/**
 * The settings are also available under this path (docs/interface.md, Settings
 * and destinations).
 */
const AT_ROOT = '/settings';

export function addSettingsRoutes(
  operations: Operations,
  deps: DestinationDeps &
    Pick<GatewayPlatform, 'webhookDispatcher' | 'webhookKeys'> & {
      destinationPing: Pick<DestinationPing, 'ping'>;
    },
): void {
  const rules = destinationRules(deps);
  const keys = deps.webhookKeys;

  operations.read(
    'getSettings',
    async (tx) =>
      ok(serializeSettings(tx.accountId, await findDestination(tx), keys)),
    AT_ROOT,
  );

  operations.write(
    'updateSettings',
    async (tx, { body }) => {
      const url = body.webhookUrl ?? null;
      if (url !== null) checkAddress('webhookUrl', url, rules);
      // An absent webhookUrl changes nothing; null removes it.
      const destination =
        body.webhookUrl === undefined
          ? await findDestination(tx)
          : await setDestination(tx, {
              id: uuidv7(),
              url,
              key: keys.seal(generateWebhookKey()),
            });
      const afterCommit =
        url === null
          ? undefined
          : () => deps.destinationPing.ping(tx.accountId);
      return ok(serializeSettings(tx.accountId, destination, keys), {
        targetId: destination?.id,
        afterCommit,
      });
    },
    AT_ROOT,
  );

  operations.read(
    'getWebhookStatus',
    async (tx) => {
      const destination = await findDestination(tx);
      const url = destination?.url ?? null;
      return ok({
        webhookUrl: url,
        webhookEnabled: url !== null && destination?.health !== 'disabled',
        webhookStatus: destination?.health ?? 'unknown',
        lastStatusAt: destination?.healthAt?.toISOString() ?? null,
        ...(await countUndelivered(tx)),
      });
    },
    `${AT_ROOT}/webhook`,
  );

  operations.write(
    'retryWebhooks',
    async (tx, { body }) => {
      const eventIds = await openReplay(tx, body);
      const events = eventIds.length;
      const isReplay = (body.eventId ?? body.from) !== undefined;
      const message = isReplay
        ? events === 0
          ? 'There is nothing to send'
          : 'The selected events are being resent'
        : events === 0
          ? 'There are no undelivered events'
          : 'All undelivered events are being resent';
      return ok(
        { message, events },
        {
          afterCommit: () =>
            deps.webhookDispatcher.resume(tx.accountId, eventIds),
        },
      );
    },
    `${AT_ROOT}/webhook/retry`,
  );

  operations.write(
    'testWebhook',
    async (tx, { body }) => {
      const destination =
        body.webhookId === undefined
          ? await requireSettingsDestination(tx)
          : await requireDestination(tx, body.webhookId);
      const eventId = await writeTestEvent(tx, destination);
      return ok(
        { message: 'A test event is being sent', eventId },
        { targetId: destination.id },
      );
    },
    `${AT_ROOT}/webhook/test`,
  );

  operations.write(
    'rotateSettingsKey',
    async (tx, { body }) => {
      const destination = await requireSettingsDestination(tx);
      const rotated = await rotateWebhookKey(
        tx,
        deps.webhookKeys,
        destination,
        body.overlapHours,
      );
      return ok(rotated, { targetId: destination.id });
    },
    `${AT_ROOT}/webhook/key`,
  );
}

/** A further destination in responses, with its decrypted key. */
function serializeWebhook(
  destination: StoredDestination,
  counts: { pending: number; deadLettered: number },
  keys: Pick<WebhookKeys, 'open'>,
): WebhookResponse {
  const { id, url, types, key, previousKeyUntil, health } = destination;
  const isOverlap =
    previousKeyUntil !== null && previousKeyUntil.getTime() > Date.now();
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
function serializeSettings(
  accountId: string,
  destination: StoredDestination | undefined,
  keys: Pick<WebhookKeys, 'open'>,
): SettingsResponse {
  const isSet = destination !== undefined && destination.url !== null;
  return {
    id: accountId,
    webhookUrl: isSet ? destination.url : null,
    webhookKey:
      isSet && destination.key !== null ? keys.open(destination.key) : null,
  };
}
