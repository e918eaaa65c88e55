import { Batches } from '../../../lib/batches.ts';
import type { Store } from '../database/database.ts';
import { claimDue, claimEvents, type EventClaim, type EventKey, type OpenEvent } from './claim-store.ts';
import { type AfterDelivery, afterDelivery, type PlainDelivery, recordDelivered } from './delivered-store.ts';
import { type AttemptResult, disableDestination, recordDelivery } from './delivery-record-store.ts';
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

/** The outcome of an attempt that was made, and whether the destination's workflow must look at its events. */
export type Attempted = Extract<DeliveryOutcome, { state: 'delivered' | 'dead' | 'failed' }> & {
  destinationId: string;
  needsLook: boolean;
};
export type Attempt = Attempted | Extract<DeliveryOutcome, { state: 'closed' | 'blocked' }>;

/** Each function throws only if the database fails. */
export interface WebhookDelivery {
  /** Makes one attempt to deliver an event and records its result. */
  attempt(accountId: string, eventId: string): Promise<Attempt>;
  /** Claims the oldest events of a destination that may be sent now; each is to be passed to `attemptClaimed`. */
  claimDue(accountId: string, destinationId: string, max: number): Promise<OpenEvent[]>;
  attemptClaimed(accountId: string, event: OpenEvent): Promise<Attempted>;
}

/** Statements about events of all accounts together: as many rows as may be sent at a time, few statements at a time. */
const BATCH = { batchMax: 100, inProgressMax: 2 };

/**
 * Claims and results of events that are sent at the same time are written together, because the transactions cost more than
 * the requests to the receivers (docs/decisions/0099-webhooks-in-batches.md).
 */
export function createWebhookDelivery(deps: { store: Store; sender: WebhookSender }): WebhookDelivery {
  const { store, sender } = deps;
  const claims = new Batches<EventKey, EventClaim>({
    ...BATCH,
    work: (keys) => store.asSystem((tx) => claimEvents(tx, keys)),
  });
  const deliveries = new Batches<PlainDelivery, boolean>({
    ...BATCH,
    work: async (plain) => {
      const closed = await store.asSystem((tx) => recordDelivered(tx, plain));
      return plain.map(({ eventId }) => closed.has(eventId));
    },
  });
  const endings = new Batches<OpenEvent, AfterDelivery>({
    ...BATCH,
    work: (events) => store.asSystem((tx) => afterDelivery(tx, events)),
  });

  async function attemptClaimed(accountId: string, event: OpenEvent): Promise<Attempted> {
    const sent = await sender.send(accountId, event);
    const result = resultOf(event, sent);
    const { destinationId } = event;
    const isPlain = result.outcome === 'delivered' && event.isHealthy && !event.isProbe;
    const { isClosed, needsLook } =
      isPlain && (await isRecorded(event, sent))
        ? { isClosed: true, needsLook: false }
        : await record(accountId, event, sent, result);
    const hasMore = isClosed && (event.patientId !== null || event.hasWorkflow);
    const after = hasMore ? await endings.run(event) : { needsLook };
    switch (result.outcome) {
      case 'delivered':
        return { state: 'delivered', ...after, destinationId };
      case 'dead':
        return { state: 'dead', note: result.note, ...after, destinationId };
      case 'failed': {
        const { note, retryAfterMs } = result;
        return {
          state: 'failed',
          attemptsMade: event.attempts,
          note,
          retryAfterMs,
          destinationId,
          needsLook,
        };
      }
    }
  }

  /** Whether the delivery was recorded together with others. */
  const isRecorded = ({ id }: OpenEvent, { httpStatus, note }: SendResult): Promise<boolean> =>
    deliveries.run({ eventId: id, httpStatus: httpStatus ?? 200, note }).catch(() => false);

  const record = (accountId: string, event: OpenEvent, sent: SendResult, result: AttemptResult) =>
    store.asAccount(accountId, async (tx) => {
      const recorded = await recordDelivery(tx, event, result);
      if (sent.kind === 'gone') await disableDestination(tx, event.destinationId);
      return recorded;
    });

  return {
    attemptClaimed,
    claimDue: (accountId, destinationId, max) =>
      store.asAccount(accountId, (tx) => claimDue(tx, destinationId, max)),
    async attempt(accountId, eventId) {
      const claim = await claims.run({ accountId, eventId });
      if (claim.kind === 'closed') return { state: 'closed' };
      if (claim.kind === 'blocked') return { state: 'blocked', attemptsMade: claim.attempts };
      return attemptClaimed(accountId, claim.event);
    },
  };
}

function resultOf(event: OpenEvent, sent: SendResult): AttemptResult {
  const { httpStatus, note } = sent;
  const retryAfterMs = sent.kind === 'failed' ? sent.retryAfterMs : undefined;
  const delayMs = deliveryDelayMs(event.attempts, Math.random(), retryAfterMs);
  const isLast = delayMs === undefined && !event.isProbe;
  const isDead = sent.kind === 'gone' || (sent.kind === 'failed' && isLast);
  const outcome = sent.kind === 'delivered' ? 'delivered' : isDead ? 'dead' : 'failed';
  const nextAttemptAt = outcome === 'failed' ? new Date(Date.now() + (delayMs ?? 0)) : undefined;
  return { outcome, httpStatus, note, retryAfterMs, nextAttemptAt };
}
