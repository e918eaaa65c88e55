import { v7 as uuidv7 } from 'uuid';
import { type DestinationDeps, destinationRules, type GatewayPlatform } from '../../platform/http/deps.ts';
import { ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import { generateWebhookKey } from '../../platform/outbox/webhook-key.ts';
import {
  checkAddress,
  openReplay,
  requireDestination,
  requireSettingsDestination,
  rotateWebhookKey,
  writeTestEvent,
} from './destinations.ts';
import type { DestinationPing } from './ping.ts';
import { countUndelivered } from './replay-store.ts';
import { serializeSettings } from './serializers.ts';
import { findDestination, setDestination } from './settings-store.ts';

/** The settings are also available under this path (docs/interface.md, Settings and destinations). */
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
    async (tx) => ok(serializeSettings(tx.accountId, await findDestination(tx), keys)),
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
          : await setDestination(tx, { id: uuidv7(), url, key: keys.seal(generateWebhookKey()) });
      const afterCommit = url === null ? undefined : () => deps.destinationPing.ping(tx.accountId);
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
      const counts = destination
        ? await countUndelivered(tx, destination.id)
        : { pending: 0, deadLettered: 0 };
      const url = destination?.url ?? null;
      return ok({
        webhookUrl: url,
        webhookEnabled: url !== null && destination?.health !== 'disabled',
        webhookStatus: destination?.health ?? 'unknown',
        lastStatusAt: destination?.healthAt?.toISOString() ?? null,
        ...counts,
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
        { afterCommit: () => deps.webhookDispatcher.resume(tx.accountId, eventIds) },
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
      return ok({ message: 'A test event is being sent', eventId }, { targetId: destination.id });
    },
    `${AT_ROOT}/webhook/test`,
  );

  operations.write(
    'rotateSettingsKey',
    async (tx, { body }) => {
      const destination = await requireSettingsDestination(tx);
      const rotated = await rotateWebhookKey(tx, deps.webhookKeys, destination, body.overlapHours);
      return ok(rotated, { targetId: destination.id });
    },
    `${AT_ROOT}/webhook/key`,
  );
}
