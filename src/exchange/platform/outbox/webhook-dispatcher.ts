import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
} from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { TASK_QUEUES, WORKFLOW_TYPES, webhookDeliveryWorkflowId } from '../../../contract/temporal.ts';
import type { WebhookDeliveryInput } from '../../../contract/webhook-delivery-workflow.ts';
import type { Logger } from '../../../lib/logger.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import type { Store } from '../database/database.ts';
import type { WebhookDelivery } from './delivery.ts';
import { routesOf } from './event-copy-store.ts';
import { markHandedOver } from './hand-over-store.ts';

/**
 * Makes the first delivery attempt right after the commit (`Store.onEventsCommitted`), in the process that committed the
 * event and outside any activity slot. An event that it cannot deliver gets a `webhookDelivery` workflow; an event that a
 * crash interrupts is found by `reconcile`.
 */
export interface WebhookDispatcher {
  /**
   * Sends committed events to all their destinations, in the background; the events of one call in their order. To be called
   * by `Store.onEventsCommitted`.
   */
  send(accountId: string, eventIds: readonly string[]): void;
  /** Sends single rows of the outbox in the background, each to its own destination only. */
  resume(accountId: string, eventIds: readonly string[]): void;
  /** Starts a `webhookDelivery` workflow for an event. Harmless if repeated. */
  handOver(accountId: string, eventId: string, attempts: AttemptsMade): Promise<void>;
  /** Resolves when no delivery is in progress. */
  drain(): Promise<void>;
}

export type AttemptsMade = Pick<WebhookDeliveryInput, 'attemptsMade' | 'retryAfterMs'>;

/** Events to send: rows of single destinations, or with `areWhole` messages with the rows of all their destinations. */
interface Batch {
  accountId: string;
  eventIds: readonly string[];
  areWhole: boolean;
}

/** Maximum number of concurrent first attempts; further events wait in memory and in the outbox. */
const SENDING_MAX = 50;
const START_TIMEOUT_MS = 5_000;

export function createWebhookDispatcher(deps: {
  store: Store;
  delivery: WebhookDelivery;
  temporal: Client;
  logger: Logger;
}): WebhookDispatcher {
  const waiting: Batch[] = [];
  const underWay = new Set<Promise<void>>();

  async function handOver(accountId: string, eventId: string, attempts: AttemptsMade): Promise<void> {
    const { attemptsMade, retryAfterMs } = attempts;
    const input: WebhookDeliveryInput = { accountId, eventId, attemptsMade, retryAfterMs };
    try {
      await deps.temporal.withDeadline(Date.now() + START_TIMEOUT_MS, () =>
        deps.temporal.workflow.start(WORKFLOW_TYPES.webhookDelivery, {
          workflowId: webhookDeliveryWorkflowId(eventId),
          taskQueue: TASK_QUEUES.exchange,
          args: [input],
          // A dead-lettered event may be replayed later.
          workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
          workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
          typedSearchAttributes: new TypedSearchAttributes([
            { key: searchAttribute.accountId, value: accountId },
          ]),
          staticSummary: 'Webhook that could not be delivered at once',
        }),
      );
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
    await deps.store.asAccount(accountId, (tx) => markHandedOver(tx, eventId));
  }

  async function deliver(accountId: string, eventId: string): Promise<void> {
    const outcome = await deps.delivery.attempt(accountId, eventId);
    switch (outcome.state) {
      case 'failed':
        return handOver(accountId, eventId, outcome);
      case 'delivered':
      case 'dead':
        if (outcome.nextEventId !== undefined) resume(accountId, [outcome.nextEventId]);
        return;
      // The delivery of the earlier event continues with this one; if that takes long, reconcile hands it over.
      case 'blocked':
      case 'closed':
    }
  }

  function next(): void {
    if (underWay.size >= SENDING_MAX) return;
    const batch = waiting.shift();
    if (batch === undefined) return;
    const work = sendAll(batch).finally(() => {
      underWay.delete(work);
      next();
    });
    underWay.add(work);
  }

  async function sendAll({ accountId, eventIds, areWhole }: Batch): Promise<void> {
    if (areWhole) return route(accountId, eventIds);
    for (const eventId of eventIds) {
      await deliver(accountId, eventId).catch((error: unknown) =>
        deps.logger.warn({ err: error, eventId }, 'webhook not sent yet; reconcile will send it'),
      );
    }
  }

  /** Sends to each destination independently, so that a slow one does not delay the others. */
  async function route(accountId: string, eventIds: readonly string[]): Promise<void> {
    try {
      const [first = [], ...others] = await deps.store.asAccount(accountId, (tx) => routesOf(tx, eventIds));
      for (const rows of others) resume(accountId, rows);
      await sendAll({ accountId, eventIds: first, areWhole: false });
    } catch (error) {
      deps.logger.warn({ err: error, eventIds }, 'webhooks not sent yet; reconcile will send them');
    }
  }

  function add(batch: Batch): void {
    if (batch.eventIds.length === 0) return;
    waiting.push(batch);
    next();
  }
  const send: WebhookDispatcher['send'] = (accountId, eventIds) =>
    add({ accountId, eventIds, areWhole: true });
  const resume: WebhookDispatcher['resume'] = (accountId, eventIds) =>
    add({ accountId, eventIds, areWhole: false });

  return {
    handOver,
    send,
    resume,
    async drain() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
