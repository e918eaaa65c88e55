import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import { createWebhookDelivery } from '../../src/exchange/platform/outbox/delivery.ts';
import { insertEvent } from '../../src/exchange/platform/outbox/event-store.ts';
import type { WebhookSender } from '../../src/exchange/platform/outbox/sender.ts';
import { createWebhookDispatcher } from '../../src/exchange/platform/outbox/webhook-dispatcher.ts';
import { cpuOfTree } from '../cpu.ts';

export type Pids = Record<'postgres' | 'receivers', number>;

export interface Phase {
  deliveriesPerSecond: number;
  /** From the commit to the 200, in milliseconds. */
  p50Ms: number;
  p99Ms: number;
  /** CPU time per delivery, in milliseconds. */
  cpuMs: {
    /** Of this process: commit, sending, recording. */
    sender: number;
    /** NaN without /proc. */
    postgres: number;
    receivers: number;
  };
}

/**
 * A destination that is held needs a workflow; the benchmark has no Temporal
 * server, and counts only what is delivered at once.
 */
const NO_TEMPORAL = {
  withDeadline: (_deadline: number, call: () => Promise<unknown>) => call(),
  workflow: { signalWithStart: async () => undefined },
} as unknown as Client;

/**
 * Commits events for the accounts in turn, each in a transaction of its own,
 * with `inFlight` of those that can be delivered between commit and 200, and
 * measures for `seconds` after a warm-up.
 */
export async function measureDeliveries(
  deps: { store: Store; sender: WebhookSender },
  accountIds: readonly string[],
  options: {
    seconds: number;
    inFlight: number;
    deadAccountId?: string;
    pids: Pids;
  },
): Promise<Phase> {
  const { store, sender } = deps;
  const committedAt = new Map<string, number>();
  const endings = new Map<string, () => void>();
  let latencies: number[] = [];
  const delivery = createWebhookDelivery({
    store,
    sender: {
      ...sender,
      async send(accountId, event) {
        const result = await sender.send(accountId, event);
        const at = committedAt.get(event.id);
        if (result.kind === 'delivered' && at !== undefined)
          latencies.push(performance.now() - at);
        endings.get(event.id)?.();
        return result;
      },
    },
  });
  const logger = pino({ level: 'silent' });
  const dispatcher = createWebhookDispatcher({
    store,
    delivery,
    temporal: NO_TEMPORAL,
    logger,
  });

  let stopped = false;
  let turn = 0;
  async function commitOn(): Promise<void> {
    while (!stopped) {
      const accountId = accountIds[turn++ % accountIds.length] ?? '';
      const id = await commitEvent(store, accountId);
      committedAt.set(id, performance.now());
      const delivered = new Promise<void>((resolve) =>
        endings.set(id, resolve),
      );
      dispatcher.send(accountId, [id]);
      if (accountId !== options.deadAccountId) await delivered;
      committedAt.delete(id);
      endings.delete(id);
    }
  }
  const running = Promise.all(
    Array.from({ length: options.inFlight }, commitOn),
  );
  await delay(WARM_UP_MS);
  latencies = [];
  const startedAt = performance.now();
  const cpuAtStart = await cpuOf(options.pids);
  await delay(options.seconds * 1_000);
  const measured = latencies;
  const seconds = (performance.now() - startedAt) / 1_000;
  const cpu = await cpuOf(options.pids);
  stopped = true;
  await running;
  const sorted = [...measured].sort((a, b) => a - b);
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ??
    Number.NaN;
  return {
    deliveriesPerSecond: measured.length / seconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    cpuMs: {
      sender: (cpu.sender - cpuAtStart.sender) / measured.length,
      postgres: (cpu.postgres - cpuAtStart.postgres) / measured.length,
      receivers: (cpu.receivers - cpuAtStart.receivers) / measured.length,
    },
  };
}

async function cpuOf({ postgres, receivers }: Pids): Promise<Phase['cpuMs']> {
  const { user, system } = process.cpuUsage();
  return {
    sender: (user + system) / 1_000,
    postgres: await cpuOfTree(postgres),
    receivers: await cpuOfTree(receivers),
  };
}

const WARM_UP_MS = 2_000;

async function commitEvent(store: Store, accountId: string): Promise<string> {
  const requestId = uuidv7();
  const patientId = uuidv7();
  const type = 'network-query.hie';
  const when = new Date();
  const id = await store.asAccount(accountId, (tx) =>
    insertEvent(tx, {
      type,
      factKey: `${type}/${requestId}/1`,
      patientId,
      requestId,
      occurredAt: when,
      body: {
        meta: {
          requestId,
          when: when.toISOString(),
          type,
          data: { jobId: 'bench' },
        },
        payload: {
          patientId,
          source: {
            type: 'hie',
            status: 'completed',
            completedAt: when.toISOString(),
          },
        },
      },
    }),
  );
  if (id === undefined) throw new Error('the event exists already');
  return id;
}
