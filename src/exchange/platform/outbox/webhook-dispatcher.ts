import { setTimeout as delay } from 'node:timers/promises';
import { type Client, WorkflowIdReusePolicy } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import {
  TASK_QUEUES,
  WORKFLOW_TYPES,
  webhookDestinationWorkflowId,
} from '../../../contract/temporal.ts';
import {
  WEBHOOK_DESTINATION_MESSAGES as MESSAGES,
  type WebhookDestinationInput,
} from '../../../contract/webhook-destination-workflow.ts';
import { Batches } from '../../../lib/batches.ts';
import { Lanes } from '../../../lib/lanes.ts';
import type { Logger } from '../../../lib/logger.ts';
import { withSpan } from '../../../lib/tracing/spans.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import type { Store } from '../database/database.ts';
import type { WebhookDelivery } from './delivery.ts';
import { type Routes, routesOf, type Unrouted } from './event-store.ts';

interface Requested {
  /** Requested again since the work last began. */
  again: boolean;
  done: Promise<void>;
}

/**
 * Work that is requested by key: it begins at once, then again after a pause,
 * however often it was requested meanwhile.
 */
export class PacedWork {
  readonly #requested = new Map<string, Requested>();
  #hurry = new AbortController();
  #drains = 0;

  private readonly options: {
    pauseMs: number;
    work(key: string): Promise<void>;
  };

  /** `work` must not throw. */
  constructor(options: {
    pauseMs: number;
    work(key: string): Promise<void>;
  }) {
    this.options = options;
  }

  request(key: string): void {
    const requested = this.#requested.get(key);
    if (requested !== undefined) {
      requested.again = true;
      return;
    }
    const first: Requested = { again: false, done: Promise.resolve() };
    this.#requested.set(key, first);
    first.done = this.#run(key, first);
  }

  get isIdle(): boolean {
    return this.#requested.size === 0;
  }

  /** Resolves when everything requested has been done, without pauses. */
  async drain(): Promise<void> {
    this.#drains += 1;
    this.#hurry.abort();
    this.#hurry = new AbortController();
    await Promise.all([...this.#requested.values()].map(({ done }) => done));
    this.#drains -= 1;
  }

  async #run(key: string, requested: Requested): Promise<void> {
    do {
      requested.again = false;
      await this.options.work(key);
      if (this.#drains === 0)
        await delay(this.options.pauseMs, undefined, {
          signal: this.#hurry.signal,
        }).catch(() => undefined);
    } while (requested.again);
    this.#requested.delete(key);
  }
}

/**
 * First attempts in progress, in all and to one destination: a receiver that
 * does not answer occupies a tenth of them until its destination is held.
 */
const SENDING_MAX = 100;
const SENDING_PER_DESTINATION_MAX = 10;
/**
 * Events that wait in memory for one destination; its workflow sends the
 * others.
 */
const WAITING_MAX = 2_000;
/** Accounts whose events are looked up together, and events of one of them. */
const ROUTED_TOGETHER_MAX = 20;
const ROUTED_AT_ONCE_MAX = 500;
const START_TIMEOUT_MS = 5_000;
/**
 * The workflow of a destination that is slower than its events continues until
 * none is due, so it need not be signalled more often.
 */
const HAND_OVER_PAUSE_MS = 1_000;

export type WebhookDispatcher = ReturnType<typeof createWebhookDispatcher>;

/**
 * Makes the first delivery attempt right after the commit
 * (`Store.onEventsCommitted`), in the process that committed the event and
 * outside any activity slot. A destination with an event that it cannot deliver
 * gets a `webhookDestination` workflow; an event that a crash interrupts is
 * found by `reconcile`.
 */
export function createWebhookDispatcher(deps: {
  store: Store;
  delivery: Pick<WebhookDelivery, 'attempt'>;
  temporal: Client;
  logger: Logger;
  handOverPauseMs?: number;
}) {
  const {
    store,
    delivery,
    temporal,
    logger,
    handOverPauseMs = HAND_OVER_PAUSE_MS,
  } = deps;
  const routes = new Batches<{ accountId: string; items: Unrouted[] }, Routes>({
    batchMax: ROUTED_TOGETHER_MAX,
    inProgressMax: 2,
    work: (accounts) => routesOf(store, accounts),
  });
  /** A lane for each account. */
  const routing = new Lanes<Unrouted>({
    inProgressMax: 2 * ROUTED_TOGETHER_MAX,
    perLaneMax: 1,
    batchMax: ROUTED_AT_ONCE_MAX,
    waitingMax: Number.POSITIVE_INFINITY,
    work: (accountId, items) =>
      withSpan(undefined, () => route(accountId, items)),
  });
  /**
   * A lane for each destination; the items are rows of the outbox with their
   * account.
   */
  const sending = new Lanes<{ accountId: string; eventId: string }>({
    inProgressMax: SENDING_MAX,
    perLaneMax: SENDING_PER_DESTINATION_MAX,
    batchMax: 1,
    waitingMax: WAITING_MAX,
    work: async (_destinationId, [item]) => {
      // Lanes serve several requests, whose spans end before.
      if (item !== undefined)
        await withSpan(undefined, () => deliver(item.accountId, item.eventId));
    },
  });
  /**
   * Hands over the destinations that have too many events in memory; a key is
   * `<account id>/<destination id>`.
   */
  const handingOver = new PacedWork({
    pauseMs: handOverPauseMs,
    work: async (key) => {
      const [accountId = '', destinationId = ''] = key.split('/');
      await handOver(accountId, destinationId).catch((error: unknown) =>
        logger.warn(
          { err: error, destinationId },
          'webhooks not sent yet; reconcile will send them',
        ),
      );
    },
  });

  /**
   * Makes the destination's workflow look at its events; starts it if it is not
   * running. With `deliverNow` it sends all of them now. Harmless if repeated.
   */
  async function handOver(
    accountId: string,
    destinationId: string,
    signal: 'look' | 'deliverNow' = 'look',
  ): Promise<void> {
    const input: WebhookDestinationInput = { accountId, destinationId };
    await temporal.withDeadline(Date.now() + START_TIMEOUT_MS, () =>
      temporal.workflow.signalWithStart(WORKFLOW_TYPES.webhookDestination, {
        signal: MESSAGES[signal],
        workflowId: webhookDestinationWorkflowId(accountId, destinationId),
        taskQueue: TASK_QUEUES.exchange,
        args: [input],
        // A destination can fail again later.
        workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
        typedSearchAttributes: new TypedSearchAttributes([
          { key: searchAttribute.accountId, value: accountId },
        ]),
        staticSummary: 'Webhooks that could not be delivered at once',
      }),
    );
  }

  /**
   * Rows of one account. Each destination is sent to independently, so that a
   * slow one does not delay the others.
   */
  async function route(accountId: string, items: Unrouted[]): Promise<void> {
    try {
      for (const [destinationId, eventIds] of await routes.run({
        accountId,
        items,
      }))
        enqueue(accountId, destinationId, eventIds);
    } catch (error) {
      const eventIds = items.map(({ eventId }) => eventId);
      logger.warn(
        { err: error, eventIds },
        'webhooks not sent yet; reconcile will send them',
      );
    }
  }

  function enqueue(
    accountId: string,
    destinationId: string,
    eventIds: readonly string[],
  ): void {
    const items = eventIds.map((eventId) => ({ accountId, eventId }));
    if (!sending.add(destinationId, items))
      handingOver.request(`${accountId}/${destinationId}`);
  }

  async function deliver(accountId: string, eventId: string): Promise<void> {
    try {
      const attempt = await delivery.attempt(accountId, eventId);
      // Of an earlier event that blocks this one, the delivery continues with
      // this one.
      if (attempt.state === 'blocked' || attempt.state === 'closed') return;
      const { destinationId, needsLook } = attempt;
      if (attempt.state !== 'failed' && attempt.nextEventId !== undefined)
        enqueue(accountId, destinationId, [attempt.nextEventId]);
      if (needsLook) await handOver(accountId, destinationId);
    } catch (error) {
      logger.warn(
        { err: error, eventId },
        'webhook not sent yet; reconcile will send it',
      );
    }
  }

  const add = (
    accountId: string,
    eventIds: readonly string[],
    isWhole: boolean,
  ): void => {
    if (eventIds.length === 0) return;
    routing.add(
      accountId,
      eventIds.map((eventId) => ({ eventId, isWhole })),
    );
  };
  return {
    handOver,
    /**
     * Sends committed events to all their destinations, in the background;
     * those of one patient in their order. To be called by
     * `Store.onEventsCommitted`.
     */
    send: (accountId: string, eventIds: readonly string[]) =>
      add(accountId, eventIds, true),
    /**
     * Sends single rows of the outbox in the background, each to its own
     * destination only.
     */
    resume: (accountId: string, eventIds: readonly string[]) =>
      add(accountId, eventIds, false),
    /** Resolves when no delivery is in progress. */
    async drain() {
      while (!routing.isIdle || !sending.isIdle || !handingOver.isIdle)
        await Promise.all([
          routing.drain(),
          sending.drain(),
          handingOver.drain(),
        ]);
    },
  };
}
