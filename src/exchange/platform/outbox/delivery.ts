import type { Store } from '../database/database.ts';
import { claimEvent, claimNext, type OpenEvent } from './claim-store.ts';
import { disableDestination, recordDelivery } from './delivery-record-store.ts';
import { deliveryDelayMs } from './rules/delivery-schedule.ts';
import type { SendResult, WebhookSender } from './sender.ts';

export type DeliveryOutcome =
  | { state: 'delivered'; nextEventId?: string }
  /** Nothing to do: already delivered, dead-lettered, or without a destination. */
  | { state: 'closed' }
  | { state: 'dead'; note: string; nextEventId?: string }
  | { state: 'failed'; attemptsMade: number; note: string; retryAfterMs?: number }
  /**
   * An earlier event of the same patient must be delivered first, another process is sending this one, or the destination is
   * held.
   */
  | { state: 'blocked'; attemptsMade: number };

/** The outcome of an attempt that was made, and whether the destination's workflow must look (`RecordedDelivery`). */
export type Attempted = Extract<DeliveryOutcome, { state: 'delivered' | 'dead' | 'failed' }> & {
  destinationId: string;
  needsLook: boolean;
};
export type Attempt = Attempted | Extract<DeliveryOutcome, { state: 'closed' | 'blocked' }>;

/** Each function throws only if the database fails. */
export interface WebhookDelivery {
  /** Makes one attempt to deliver an event and records its result. */
  attempt(accountId: string, eventId: string): Promise<Attempt>;
  /** The same for the oldest event of a destination that may be sent now; undefined if there is none. */
  attemptNext(accountId: string, destinationId: string): Promise<Attempted | undefined>;
}

export function createWebhookDelivery(deps: { store: Store; sender: WebhookSender }): WebhookDelivery {
  async function deliver(accountId: string, event: OpenEvent): Promise<Attempted> {
    return record(deps.store, accountId, event, await deps.sender.send(accountId, event));
  }
  return {
    async attempt(accountId, eventId) {
      const claim = await deps.store.asAccount(accountId, (tx) => claimEvent(tx, eventId));
      if (claim.kind === 'closed') return { state: 'closed' };
      if (claim.kind === 'blocked') return { state: 'blocked', attemptsMade: claim.attempts };
      return deliver(accountId, claim.event);
    },
    async attemptNext(accountId, destinationId) {
      const event = await deps.store.asAccount(accountId, (tx) => claimNext(tx, destinationId));
      return event && deliver(accountId, event);
    },
  };
}

async function record(
  store: Store,
  accountId: string,
  event: OpenEvent,
  result: SendResult,
): Promise<Attempted> {
  const { destinationId } = event;
  const { httpStatus, note } = result;
  const retryAfterMs = result.kind === 'failed' ? result.retryAfterMs : undefined;
  const delayMs = deliveryDelayMs(event.attempts, Math.random(), retryAfterMs);
  const isLast = delayMs === undefined && !event.isProbe;
  const isDead = result.kind === 'gone' || (result.kind === 'failed' && isLast);
  const outcome = result.kind === 'delivered' ? 'delivered' : isDead ? 'dead' : 'failed';
  const nextAttemptAt = outcome === 'failed' ? new Date(Date.now() + (delayMs ?? 0)) : undefined;
  const { nextEventId, needsLook } = await store.asAccount(accountId, async (tx) => {
    const recorded = await recordDelivery(tx, event, {
      outcome,
      httpStatus,
      note,
      retryAfterMs,
      nextAttemptAt,
    });
    if (result.kind === 'gone') await disableDestination(tx, destinationId);
    return recorded;
  });
  switch (outcome) {
    case 'delivered':
      return { state: 'delivered', nextEventId, destinationId, needsLook };
    case 'dead':
      return { state: 'dead', note, nextEventId, destinationId, needsLook };
    case 'failed':
      return { state: 'failed', attemptsMade: event.attempts, note, retryAfterMs, destinationId, needsLook };
  }
}
