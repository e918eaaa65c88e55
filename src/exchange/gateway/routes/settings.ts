import { v7 as uuidv7 } from 'uuid';
import { InvalidRequestError } from '../../errors.ts';
import { reopenUndelivered } from '../../store/events.ts';
import { countUndelivered, findDestination, setDestination } from '../../store/settings.ts';
import { refusedDestination } from '../../webhooks/destination-guard.ts';
import { generateWebhookKey } from '../../webhooks/webhook-key.ts';
import { settingsAnswer } from '../answers.ts';
import type { GatewayDeps } from '../deps.ts';
import { ok } from '../operation.ts';
import type { Operations } from '../operations.ts';

/** Settings answer at the root too (interface-decisions.md, Operations around E1–E14). */
const AT_ROOT = '/settings';

export function addSettingsRoutes(
  operations: Operations,
  deps: Pick<GatewayDeps, 'allowLoopbackWebhooks' | 'trustedWebhookOrigins' | 'courier' | 'destinationPing'>,
): void {
  const rules = { allowLoopback: deps.allowLoopbackWebhooks, trustedOrigins: deps.trustedWebhookOrigins };

  operations.read(
    'getSettings',
    async (tx) => ok(settingsAnswer(tx.accountId, await findDestination(tx))),
    AT_ROOT,
  );

  operations.write(
    'updateSettings',
    async (tx, { body }) => {
      const url = body.webhookUrl ?? null;
      const refused = url === null ? undefined : refusedDestination(url, rules);
      if (refused !== undefined) throw new InvalidRequestError([{ path: 'webhookUrl', message: refused }]);
      // Nothing said about the address changes nothing; null takes it away.
      const destination =
        body.webhookUrl === undefined
          ? await findDestination(tx)
          : await setDestination(tx, { id: uuidv7(), url, key: generateWebhookKey() });
      const afterCommit = url === null ? undefined : () => deps.destinationPing.ping(tx.accountId);
      return ok(settingsAnswer(tx.accountId, destination), { targetId: destination?.id, afterCommit });
    },
    AT_ROOT,
  );

  operations.read(
    'getWebhookStatus',
    async (tx) => {
      const [destination, counts] = [await findDestination(tx), await countUndelivered(tx)];
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
    async (tx) => {
      const eventIds = await reopenUndelivered(tx);
      const events = eventIds.length;
      const message = events === 0 ? 'Nothing is undelivered' : 'What is undelivered is sent again';
      return ok({ message, events }, { afterCommit: () => deps.courier.send(tx.accountId, eventIds) });
    },
    `${AT_ROOT}/webhook/retry`,
  );
}
