import { setTimeout as delay } from 'node:timers/promises';
import type { Store } from '../database/database.ts';
import { itemRecovery, type Recovery } from '../recovery/recovery.ts';
import type { OpenEvent } from './claim-store.ts';
import type { WebhookDelivery } from './delivery.ts';
import {
  beginLook,
  endLook,
  type Look,
  overdueDestinations,
} from './look-store.ts';
import type { WebhookDispatcher } from './webhook-dispatcher.ts';

/**
 * Deliveries of one destination that are in progress at a time, and started
 * each second, while it is caught up.
 */
const IN_PROGRESS_MAX = 8;
const PER_SECOND = 100;
/**
 * After this time no delivery is started; with the response time of a receiver
 * it fits into a worker's shutdown.
 */
const SENDING_MS = 4_000;
/**
 * When nothing could be sent although something was due, for example because
 * another process is sending it.
 */
const NOTHING_SENT_MS = 1_000;

/**
 * Sends the events of a destination that are due, in their order. Several at a
 * time, but those of a patient one after the other; the first alone, so that a
 * destination which still fails receives only one.
 */
export async function drainDestination(
  {
    store,
    delivery,
  }: {
    store: Store;
    delivery: Pick<WebhookDelivery, 'claimDue' | 'attemptClaimed'>;
  },
  {
    accountId,
    destinationId,
    dueNow,
  }: { accountId: string; destinationId: string; dueNow: boolean },
  signal: AbortSignal,
): Promise<{ look: Look; sent: number; note?: string }> {
  const startedAt = Date.now();
  const inProgress = new Set<Promise<void>>();
  let sent = 0;
  let begun = 0;
  let note: string | undefined;

  async function send(event: OpenEvent): Promise<void> {
    const attempted = await delivery.attemptClaimed(accountId, event);
    if (attempted.state === 'delivered') sent += 1;
    else note = attempted.note;
  }
  /**
   * Begins with as many as may be in progress; false if none can be sent now.
   */
  async function begin(inProgressMax: number): Promise<boolean> {
    await delay(
      Math.max(0, startedAt + (begun * 1_000) / PER_SECOND - Date.now()),
    );
    const events = await delivery.claimDue(
      accountId,
      destinationId,
      inProgressMax - inProgress.size,
    );
    begun += events.length;
    for (const event of events) {
      const sending = send(event).finally(() => inProgress.delete(sending));
      inProgress.add(sending);
    }
    return events.length > 0;
  }
  const mayBegin = () => !signal.aborted && Date.now() - startedAt < SENDING_MS;

  await store.asAccount(accountId, (tx) =>
    beginLook(tx, destinationId, dueNow),
  );
  const hasSent = await begin(1);
  await Promise.all(inProgress);
  while (hasSent && mayBegin()) {
    const hasBegun = await begin(IN_PROGRESS_MAX);
    // The end of one may allow the next of its patient.
    if (inProgress.size > 0) await Promise.race(inProgress);
    else if (!hasBegun) break;
  }
  await Promise.all(inProgress);
  const look = await store.asAccount(accountId, (tx) =>
    endLook(tx, destinationId),
  );
  return {
    look: hasSent ? look : notBefore(look, Date.now() + NOTHING_SENT_MS),
    sent,
    note,
  };
}

function notBefore(look: Look, earliestMs: number): Look {
  if (look.state === 'empty') return look;
  if (look.state === 'due')
    return { state: 'waiting', untilMs: earliestMs, held: false };
  return { ...look, untilMs: Math.max(look.untilMs, earliestMs) };
}

/** The process that committed an event has this long to send it itself. */
const GRACE_MS = 30_000;

/**
 * Starts the workflows of destinations with committed events that were not sent
 * in time, because of a crash.
 */
export const eventRecovery = (deps: {
  store: Pick<Store, 'asSystem'>;
  webhookDispatcher: Pick<WebhookDispatcher, 'handOver'>;
}): Recovery =>
  itemRecovery({
    name: 'webhooks',
    find: (limit) =>
      deps.store.asSystem((tx) =>
        overdueDestinations(tx, { graceMs: GRACE_MS, limit }),
      ),
    async heal({ accountId, destinationId }) {
      await deps.webhookDispatcher.handOver(accountId, destinationId);
      return true;
    },
  });
