import type { Store } from '../database/database.ts';
import { claimEvent, disableDestination, type OpenEvent, recordDelivery } from './event-store.ts';
import { deliveryDelayMs } from './rules/delivery-schedule.ts';
import type { SendResult, WebhookSender } from './sender.ts';

export type DeliveryOutcome =
  | { state: 'delivered'; nextEventId?: string }
  /** Nothing to do: already delivered, dead-lettered, or without a destination. */
  | { state: 'closed' }
  | { state: 'dead'; note: string; nextEventId?: string }
  | { state: 'failed'; attemptsMade: number; note: string; retryAfterMs?: number }
  /** An earlier event of the same patient must be delivered first, or another process is sending this one. */
  | { state: 'blocked'; attemptsMade: number };

export interface WebhookDelivery {
  /** Makes one attempt to deliver an event and records its result. Throws only if the database fails. */
  attempt(accountId: string, eventId: string): Promise<DeliveryOutcome>;
}

export function createWebhookDelivery(deps: { store: Store; sender: WebhookSender }): WebhookDelivery {
  return {
    async attempt(accountId, eventId) {
      const claim = await deps.store.asAccount(accountId, (tx) => claimEvent(tx, eventId));
      if (claim.kind === 'closed') return { state: 'closed' };
      if (claim.kind === 'blocked') return { state: 'blocked', attemptsMade: claim.attempts };
      const result = await deps.sender.send(accountId, claim.event);
      return record(deps.store, accountId, claim.event, result);
    },
  };
}

async function record(
  store: Store,
  accountId: string,
  event: OpenEvent,
  result: SendResult,
): Promise<DeliveryOutcome> {
  const last = deliveryDelayMs(event.attempts, 0) === undefined;
  const dead = result.kind === 'gone' || (result.kind === 'failed' && last);
  const outcome = result.kind === 'delivered' ? 'delivered' : dead ? 'dead' : 'failed';
  const nextEventId = await store.asAccount(accountId, async (tx) => {
    const { httpStatus, note } = result;
    const next = await recordDelivery(tx, { eventId: event.id, outcome, httpStatus, note });
    if (result.kind === 'gone') await disableDestination(tx, event.destinationId);
    return next;
  });
  switch (outcome) {
    case 'delivered':
      return { state: 'delivered', nextEventId };
    case 'dead':
      return { state: 'dead', note: result.note, nextEventId };
    case 'failed':
      return {
        state: 'failed',
        attemptsMade: event.attempts,
        note: result.note,
        retryAfterMs: result.kind === 'failed' ? result.retryAfterMs : undefined,
      };
  }
}
