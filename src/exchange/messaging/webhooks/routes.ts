import type { AccountTx } from '../../platform/database/database.ts';
import { type DestinationDeps, destinationRules, type GatewayPlatform } from '../../platform/http/deps.ts';
import { noContent, ok, orNotFound } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import {
  changeDestination,
  deleteDestination,
  listDestinations,
  type StoredDestination,
} from './destination-store.ts';
import { checkAddress, createDestination, requireDestination, rotateWebhookKey } from './destinations.ts';
import type { DestinationPing } from './ping.ts';
import { countUndelivered } from './replay-store.ts';
import { serializeWebhook } from './serializers.ts';

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
    serializeWebhook(destination, await countUndelivered(tx, destination.id), deps.webhookKeys);

  operations.read('listWebhooks', async (tx) => {
    const webhooks = [];
    for (const destination of await listDestinations(tx)) webhooks.push(await responseOf(tx, destination));
    return ok({ webhooks });
  });

  operations.write('createWebhook', async (tx, { body }) => {
    checkAddress('url', body.url, rules);
    const destination = await createDestination(tx, deps.webhookKeys, body);
    return ok(await responseOf(tx, destination), {
      targetId: destination.id,
      afterCommit: () => deps.destinationPing.ping(tx.accountId, destination.id),
    });
  });

  operations.read('getWebhook', async (tx, { params }) =>
    ok(await responseOf(tx, await requireDestination(tx, params.id))),
  );

  operations.write('updateWebhook', async (tx, { params, body }) => {
    if (body.url !== undefined) checkAddress('url', body.url, rules);
    const destination = orNotFound('Webhook', await changeDestination(tx, params.id, body));
    return ok(await responseOf(tx, destination), {
      targetId: destination.id,
      afterCommit:
        body.url === undefined ? undefined : () => deps.destinationPing.ping(tx.accountId, destination.id),
    });
  });

  operations.write('deleteWebhook', async (tx, { params }) => {
    orNotFound('Webhook', (await deleteDestination(tx, params.id)) ? true : undefined);
    return noContent({ targetId: params.id.toLowerCase() });
  });

  operations.write('rotateWebhookKey', async (tx, { params, body }) => {
    const destination = await requireDestination(tx, params.id);
    const rotated = await rotateWebhookKey(tx, deps.webhookKeys, destination, body.overlapHours);
    return ok(rotated, { targetId: destination.id });
  });
}
