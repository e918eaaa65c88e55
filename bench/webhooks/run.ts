import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { v7 as uuidv7 } from 'uuid';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import { linkedBody } from '../../src/exchange/event-links.ts';
import { setDestination } from '../../src/exchange/messaging/webhooks/settings-store.ts';
import {
  createStore,
  type Store,
} from '../../src/exchange/platform/database/database.ts';
import type { LinkMaker } from '../../src/exchange/platform/links/signed-link.ts';
import { createWebhookSender } from '../../src/exchange/platform/outbox/sender.ts';
import {
  createWebhookKeys,
  generateWebhookKey,
} from '../../src/exchange/platform/outbox/webhook-key.ts';
import { parseKeyRing } from '../../src/lib/key-ring.ts';
import { startPostgres } from '../../tools/embedded/postgres.ts';
import { besideBacklog } from './backlog.ts';
import { measureDeliveries, type Phase } from './deliveries.ts';

const LINKS: LinkMaker = {
  url: (_kind, { targetId }) =>
    `https://exchange.example.org/links/${targetId}`,
};

export interface WebhookBenchOptions {
  rounds: number;
  seconds: number;
  inFlight: number;
  destinations: number;
}

export interface WebhookBenchResult {
  /** One entry for each round. */
  healthy: Phase[];
  /** The same with one destination that accepts requests and never answers. */
  oneDead: Phase[];
  /**
   * Nine accounts, while the waiting events of a tenth are sent by its
   * destination's workflow.
   */
  backlog: Phase[];
  /** Load average of the machine at the beginning and the end. */
  load: [number, number];
}

const NAMES = {
  healthy: 'all healthy',
  oneDead: 'one dead',
  backlog: 'beside a backlog',
} as const;
const BACKLOG = 100_000;

/**
 * Measures signed deliveries from commit to 200 in turns: to healthy
 * destinations, with one of them dead, and beside an account with a backlog.
 */
export async function benchWebhooks(
  options: WebhookBenchOptions,
  print: (line: string) => void,
): Promise<WebhookBenchResult> {
  const dataDir = await mkdtemp(join(tmpdir(), 'bench-webhooks-'));
  const postgres = await startPostgres({
    dataDir: join(dataDir, 'postgres'),
    logFile: join(dataDir, 'postgres.log'),
  });
  const store = createStore({ databaseUrl: postgres.databaseUrl });
  const receivers = fork(
    fileURLToPath(new URL('./receivers.ts', import.meta.url)),
    [],
    {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    },
  );
  try {
    await store.migrate();
    receivers.send(options.destinations);
    const [urls] = (await once(receivers, 'message')) as [string[]];
    const webhookKeys = createWebhookKeys(
      parseKeyRing(`bench:${randomBytes(32).toString('base64')}`),
    );
    const sender = createWebhookSender({
      destinations: { allowLoopback: true },
      withLinks: (accountId, event) => linkedBody(LINKS, accountId, event),
      notificationOf: async () => ({ ended: 'no subscriptions' }),
      webhookKeys,
    });
    const pids = { postgres: postgres.pid, receivers: receivers.pid ?? 0 };
    const result: WebhookBenchResult = {
      healthy: [],
      oneDead: [],
      backlog: [],
      load: [loadavg()[0] ?? 0, 0],
    };
    for (let round = 1; round <= options.rounds; round++) {
      for (const kind of ['healthy', 'oneDead', 'backlog'] as const) {
        const accountIds: string[] = [];
        for (const [index, url] of urls.entries()) {
          const path =
            kind === 'oneDead' && index === 0 ? '/dead' : '/webhooks';
          accountIds.push(
            await addAccount(
              store,
              `${url}${path}`,
              webhookKeys.seal(generateWebhookKey()),
            ),
          );
        }
        const deadAccountId = kind === 'oneDead' ? accountIds[0] : undefined;
        const busyAccountId =
          kind === 'backlog' ? accountIds.shift() : undefined;
        const measure = () =>
          measureDeliveries({ store, sender }, accountIds, {
            ...options,
            deadAccountId,
            pids,
          });
        const phase = await (busyAccountId === undefined
          ? measure()
          : besideBacklog({ store, sender }, busyAccountId, BACKLOG, measure));
        result[kind].push(phase);
        print(
          `round ${round}, ${NAMES[kind]}: ${phase.deliveriesPerSecond.toFixed(0)}/s, ` +
            `p50 ${phase.p50Ms.toFixed(0)} ms, p99 ${phase.p99Ms.toFixed(0)} ms`,
        );
      }
    }
    result.load[1] = loadavg()[0] ?? 0;
    return result;
  } finally {
    receivers.disconnect();
    await store.close();
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function addAccount(
  store: Store,
  url: string,
  key: string,
): Promise<string> {
  const id = uuidv7();
  await store.asSystem((tx) =>
    insertAccount(tx, { id, name: 'Bench', settings: {} }),
  );
  await store.asAccount(id, (tx) =>
    setDestination(tx, { id: uuidv7(), url, key }),
  );
  return id;
}
