import { Batches } from '../../../lib/batches.ts';
import {
  NOT_FLUSHED,
  type Store,
  type SystemTx,
} from '../database/database.ts';
import { sqlFile } from '../database/pg-arrays.ts';
import {
  claimDue,
  claimEvents,
  type EventClaim,
  type EventKey,
  type OpenEvent,
  sameDestination,
} from './claim-store.ts';
import {
  type AttemptResult,
  disableDestination,
  recordDelivery,
} from './delivery-record-store.ts';
import { deliveryDelayMs } from './rules/delivery-schedule.ts';
import type { SendResult, WebhookSender } from './sender.ts';

const RECORD_DELIVERED = sqlFile('record-delivered.sql', import.meta.url);
const AFTER_DELIVERY = sqlFile('after-delivery.sql', import.meta.url);

/**
 * The outcome of an attempt that was made, and whether the destination's
 * workflow must look at its events.
 */
export type Attempted = { destinationId: string; needsLook: boolean } & (
  | { state: 'delivered'; nextEventId?: string }
  | { state: 'dead'; note: string; nextEventId?: string }
  | {
      state: 'failed';
      attemptsMade: number;
      note: string;
      retryAfterMs?: number;
    }
);
export type Attempt =
  | Attempted
  /**
   * Nothing to do: already delivered, dead-lettered, or without a destination.
   */
  | { state: 'closed' }
  /**
   * An earlier event of its patient is open, another process is sending this
   * one, or the destination is held.
   */
  | { state: 'blocked'; attemptsMade: number };

export type WebhookDelivery = ReturnType<typeof createWebhookDelivery>;

/**
 * Statements about events of all accounts together: as many rows as may be sent
 * at a time, few statements at a time.
 */
const BATCH = { batchMax: 100, inProgressMax: 2 };

/**
 * Claims and results of events that are sent at the same time are written
 * together, because the transactions cost more than the requests to the
 * receivers (docs/decisions/0099-webhooks-in-batches.md). Each function throws
 * only if the database fails.
 */
export function createWebhookDelivery(deps: {
  store: Store;
  sender: WebhookSender;
}) {
  const { store, sender } = deps;
  const claims = new Batches<EventKey, EventClaim>({
    ...BATCH,
    work: (keys) => store.asSystem((tx) => claimEvents(tx, keys), NOT_FLUSHED),
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

  async function attemptClaimed(
    accountId: string,
    event: OpenEvent,
  ): Promise<Attempted> {
    const sent = await sender.send(accountId, event);
    const result = resultOf(event, sent);
    const { destinationId } = event;
    const isPlain =
      result.outcome === 'delivered' && event.isHealthy && !event.isProbe;
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
  const isRecorded = (
    { id }: OpenEvent,
    { httpStatus, note }: SendResult,
  ): Promise<boolean> =>
    deliveries
      .run({ eventId: id, httpStatus: httpStatus ?? 200, note })
      .catch(() => false);

  const record = (
    accountId: string,
    event: OpenEvent,
    sent: SendResult,
    result: AttemptResult,
  ) =>
    store.asAccount(accountId, async (tx) => {
      const recorded = await recordDelivery(tx, event, result);
      if (sent.kind === 'gone')
        await disableDestination(tx, event.destinationId);
      return recorded;
    });

  return {
    attemptClaimed,
    /**
     * Claims the oldest events of a destination that may be sent now; each is
     * to be passed to `attemptClaimed`.
     */
    claimDue: (accountId: string, destinationId: string, max: number) =>
      store.asAccount(accountId, (tx) => claimDue(tx, destinationId, max)),
    /** Makes one attempt to deliver an event and records its result. */
    async attempt(accountId: string, eventId: string): Promise<Attempt> {
      const claim = await claims.run({ accountId, eventId });
      if (claim.kind === 'closed') return { state: 'closed' };
      if (claim.kind === 'blocked')
        return { state: 'blocked', attemptsMade: claim.attempts };
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
  const outcome =
    sent.kind === 'delivered' ? 'delivered' : isDead ? 'dead' : 'failed';
  const nextAttemptMs = outcome === 'failed' ? (delayMs ?? 0) : undefined;
  return { outcome, httpStatus, note, retryAfterMs, nextAttemptMs };
}

/**
 * A delivery that changes nothing about its destination: that was healthy
 * before.
 */
interface PlainDelivery {
  eventId: string;
  httpStatus: number;
  note: string;
}

/**
 * Records deliveries of any accounts in one statement. Rows that another
 * transaction has locked are not waited for.
 *
 * @returns the ids of the events that it closed; the others are to be recorded
 *   one by one (`recordDelivery`)
 */
export async function recordDelivered(
  tx: Pick<SystemTx, 'db'>,
  deliveries: readonly PlainDelivery[],
): Promise<ReadonlySet<string>> {
  const { rows } = await RECORD_DELIVERED<{ id: string }>({
    eventIds: deliveries.map(({ eventId }) => eventId),
    statuses: deliveries.map(({ httpStatus }) => httpStatus),
    notes: deliveries.map(({ note }) => note),
  }).execute(tx.db);
  return new Set(rows.map(({ id }) => id));
}

/** What follows the end of an event. */
interface AfterDelivery {
  /** The patient's next event for the destination, if it can be sent now. */
  nextEventId?: string;
  /**
   * The destination's workflow has nothing left to do, and should look so that
   * it ends. To be ignored by it itself.
   */
  needsLook: boolean;
}

/**
 * What follows the end of events of any accounts. To be called after their end
 * is committed: an event that is committed meanwhile either finds them closed
 * when it is claimed, or is found here.
 *
 * @returns a result for each event, in their order
 */
export async function afterDelivery(
  tx: Pick<SystemTx, 'db'>,
  events: readonly Pick<OpenEvent, 'id'>[],
): Promise<AfterDelivery[]> {
  const { rows } = await AFTER_DELIVERY<{
    id: string;
    next_id: string | null;
    needs_look: boolean;
  }>({
    isSameDestination: sameDestination('later', 'e'),
    ids: events.map(({ id }) => id),
  }).execute(tx.db);
  const found = new Map(rows.map((row) => [row.id, row]));
  return events.map(({ id }) => {
    const row = found.get(id);
    return {
      nextEventId: row?.next_id ?? undefined,
      needsLook: row?.needs_look === true,
    };
  });
}
