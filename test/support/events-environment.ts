import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Client } from '@temporalio/client';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { webhookDestinationWorkflowId } from '../../src/contract/temporal.ts';
import { createNotifier } from '../../src/exchange/delivery/subscriptions/notifier.ts';
import { linkedBody } from '../../src/exchange/event-links.ts';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import type { LinkMaker } from '../../src/exchange/platform/links/signed-link.ts';
import { createWebhookDelivery } from '../../src/exchange/platform/outbox/delivery.ts';
import type { DestinationRules } from '../../src/exchange/platform/outbox/destination-guard.ts';
import { insertEvent } from '../../src/exchange/platform/outbox/event-store.ts';
import { createWebhookSender } from '../../src/exchange/platform/outbox/sender.ts';
import { createWebhookDispatcher } from '../../src/exchange/platform/outbox/webhook-dispatcher.ts';
import { createWebhookKeys } from '../../src/exchange/platform/outbox/webhook-key.ts';
import { testKeyRing } from './test-keys.ts';

const LINKS: LinkMaker = {
  url: (_kind, { targetId }) =>
    `https://exchange.example.org/links/${targetId}`,
};

export interface Received {
  id: string;
  headers: IncomingMessage['headers'];
  /** As it came over the wire. */
  raw: string;
  path: string;
}

/** A receiver over real HTTP; `answer` says what each delivery gets. */
export async function startReceiver(
  answer: (received: Received, response: ServerResponse) => void = (
    _,
    response,
  ) => void response.end(),
) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { headers, url: path = '' } = request;
      const one = {
        id: String(headers['webhook-id']),
        headers,
        raw: Buffer.concat(chunks).toString(),
        path,
      };
      received.push(one);
      answer(one, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    received,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What brings events out, as a process of the exchange has it. */
export function createDeliveries(
  store: Store,
  temporal: Client,
  options: {
    destinations?: DestinationRules;
    responseTimeoutMs?: number;
    handOverPauseMs?: number;
  } = {},
) {
  const webhookKeys = createWebhookKeys(testKeyRing());
  const sender = createWebhookSender({
    destinations: options.destinations ?? { allowLoopback: true },
    withLinks: (accountId, event) => linkedBody(LINKS, accountId, event),
    webhookKeys,
    notificationOf: createNotifier({
      store,
      webhookKeys,
      publicBaseUrl: 'https://exchange.test.example.org',
    }),
    responseTimeoutMs: options.responseTimeoutMs,
  });
  const delivery = createWebhookDelivery({ store, sender });
  const webhookDispatcher = createWebhookDispatcher({
    store,
    delivery,
    temporal,
    logger: pino({ level: 'silent' }),
    handOverPauseMs: options.handOverPauseMs,
  });
  return { sender, delivery, webhookDispatcher };
}

/** Commits one event about a patient, as the end of a source does. */
export async function addEvent(
  store: Store,
  accountId: string,
  patientId: string,
): Promise<string> {
  const requestId = uuidv7();
  const type = 'network-query.hie';
  const id = await store.asAccount(accountId, (tx) =>
    insertEvent(tx, {
      type,
      factKey: `${type}/${requestId}/1`,
      patientId,
      requestId,
      occurredAt: new Date(),
      body: {
        meta: {
          requestId,
          when: new Date().toISOString(),
          type,
          data: { jobId: 'ä€' },
        },
        payload: {
          patientId,
          source: {
            type: 'hie',
            status: 'completed',
            completedAt: new Date().toISOString(),
          },
        },
      },
    }),
  );
  if (id === undefined) throw new Error('the fact was told before');
  return id;
}

export const eventRow = (store: Store, accountId: string, eventId: string) =>
  store.asAccount(accountId, (tx) =>
    tx.db
      .selectFrom('event')
      .selectAll()
      .where('id', '=', eventId)
      .executeTakeFirstOrThrow(),
  );

export const attemptRows = (store: Store, accountId: string, eventId: string) =>
  store.asAccount(accountId, (tx) =>
    tx.db
      .selectFrom('event_attempt')
      .select(['attempt', 'http_status', 'outcome'])
      .where('event_id', '=', eventId)
      .orderBy('attempt')
      .execute(),
  );

/** Whether a workflow was started for a destination. */
export async function hasWorkflow(
  temporal: Client,
  accountId: string,
  destinationId: string,
): Promise<boolean> {
  const handle = temporal.workflow.getHandle(
    webhookDestinationWorkflowId(accountId, destinationId),
  );
  return handle.describe().then(
    () => true,
    () => false,
  );
}
