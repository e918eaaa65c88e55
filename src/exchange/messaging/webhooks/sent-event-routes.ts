import { orNotFound } from '../../platform/errors.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import { openPage } from '../../platform/http/paging.ts';
import { openReplay } from './destinations.ts';
import {
  findSentEvent,
  listSentEvents,
  SENT_EVENT_ORDER,
} from './sent-event-store.ts';

/** What was sent to webhook destinations, and sending it again. */
export function addSentEventRoutes(
  operations: Operations,
  deps: Pick<
    GatewayPlatform,
    'publicBaseUrl' | 'linkSigningKey' | 'webhookDispatcher'
  >,
): void {
  operations.read('listEvents', async (tx, { query }) => {
    const opened = openPage(deps, 'listEvents', { query }, SENT_EVENT_ORDER);
    const page = await listSentEvents(tx, query, opened.request);
    return ok({ events: page.items, meta: opened.meta(page) });
  });

  operations.read('getEvent', async (tx, { params }) => {
    const event = orNotFound('Event', await findSentEvent(tx, params.id));
    return ok(event, { patientId: event.patientId });
  });

  operations.write('resendEvent', async (tx, { params, body }) => {
    const replay = { eventId: params.id, webhookId: body.webhookId };
    const rows = await openReplay(tx, replay);
    const message =
      rows.length === 0
        ? 'No destination takes this event'
        : 'The event is being sent again';
    return ok(
      { message, events: rows.length },
      {
        targetId: params.id,
        afterCommit: () => deps.webhookDispatcher.resume(tx.accountId, rows),
      },
    );
  });
}
