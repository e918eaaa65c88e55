import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, onTestFinished } from 'vitest';
import { createSweepActivities } from '../../src/activities/exchange/query-sweep.ts';
import { DEFAULT_SWEEP_PACE } from '../../src/contract/bulk-create-workflow.ts';
import {
  areCallersServed,
  GATEWAY_CONNECTIONS,
} from '../../src/exchange/platform/database/connections.ts';
import {
  createStore,
  type Store,
} from '../../src/exchange/platform/database/database.ts';
import type { BlobStore } from '../../src/shared/blobs/blob-store.ts';
import { closedGate } from '../support/gate.ts';
import {
  CALLBACK_KEY,
  createSweepEnvironment,
} from '../support/sweep-environment.ts';
import { installTestRuntime } from '../support/temporal-runtime.ts';
import {
  type BulkEnvironment,
  test as bulkTest,
  csvOf,
  person,
} from './bulk-environment.ts';

const test = bulkTest
  /**
   * A process with connections of this name that is in the middle of a
   * transaction, until the test ends.
   */
  .extend('serveOneCaller', ({ env }, { onCleanup }) => {
    const endings: (() => Promise<unknown>)[] = [];
    onCleanup(async () => {
      for (const end of endings.reverse()) await end();
    });
    return async (name: string): Promise<void> => {
      const store = createStore({
        databaseUrl: env.databaseUrl,
        name,
        poolMax: 1,
      });
      const began = closedGate();
      const asked = closedGate();
      const request = store.asSystem(() => {
        began.open();
        return asked.passed;
      });
      endings.push(async () => {
        asked.open();
        await request;
        await store.close();
      });
      await began.passed;
    };
  });

test('background work sees that a gateway serves a caller, and only then', async ({
  env,
  serveOneCaller,
}) => {
  expect(await areCallersServed(env.store)).toBe(false);
  await serveOneCaller('exchange-worker');
  expect(await areCallersServed(env.store)).toBe(false);
  await serveOneCaller(GATEWAY_CONNECTIONS);
  expect(await areCallersServed(env.store)).toBe(true);
});

test('an import writes several chunks at a time', async ({ env }) => {
  expect((await importWatched(env)).atOnce).toBeGreaterThan(1);
});

test('while callers are served, an import writes one chunk at a time, with the same result', async ({
  env,
  serveOneCaller,
}) => {
  await serveOneCaller(GATEWAY_CONNECTIONS);
  expect(await importWatched(env)).toEqual({
    atOnce: 1,
    statuses: Array(8).fill('created'),
  });
});

/**
 * Imports eight rows in four chunks. Each result part is stored only after a
 * further chunk has been read, if there is one.
 */
async function importWatched(
  env: BulkEnvironment,
): Promise<{ atOnce: number; statuses: (string | undefined)[] }> {
  const account = await env.addAccount();
  const rows = ['Ann', 'Bea', 'Cid', 'Dee', 'Eve', 'Fay', 'Gus', 'Hal'].map(
    (name) => person(name, '02116'),
  );
  const requestId = await env.upload(account, csvOf(rows));
  let open = 0;
  let atOnce = 0;
  let read = 0;
  let stored = 0;
  const store: Store = {
    ...env.store,
    asAccount: (accountId, work) =>
      env.store.asAccount(accountId, async (tx) => {
        atOnce = Math.max(atOnce, ++open);
        return work(tx).finally(() => {
          open -= 1;
        });
      }),
  };
  const blobs: BlobStore = {
    ...env.blobs,
    getRange: async (...args) => {
      const bytes = await env.blobs.getRange(...args);
      read += 1;
      return bytes;
    },
    put: async (...args) => {
      stored += 1;
      const isNextRead = () => read > Math.min(stored, 3);
      // Some turns of the event loop later, so that the next chunk has had the
      // opportunity to begin.
      for (let turns = 0; turns < 20; turns += isNextRead() ? 1 : 0)
        await new Promise((resolve) => setTimeout(resolve, 5));
      return env.blobs.put(...args);
    },
  };
  const engine = env.engineWith({ store, blobs });
  const checked = await env.engine.check(account.accountId, requestId);
  expect(checked.kind).toBe('ok');
  const { done } = await engine.processChunks(account.accountId, requestId);
  expect(done).toBe(true);
  const result = await env.result(account.accountId, requestId);
  return { atOnce, statuses: result.map(({ status }) => status) };
}

test('the queries of a page of a sweep are started one at a time', async () => {
  const sweeps = await createSweepEnvironment();
  onTestFinished(() => sweeps.close());
  const panel = await sweeps.addPanel(5);
  const started = new Set<string>();
  let open = 0;
  let atOnce = 0;
  const activities = createSweepActivities({
    store: sweeps.store,
    callbackKey: CALLBACK_KEY,
    launcher: {
      start: async (_accountId, id) => {
        atOnce = Math.max(atOnce, ++open);
        await new Promise((resolve) => setTimeout(resolve, 5));
        open -= 1;
        started.add(id);
        if (started.size === 2) throw new Error('Temporal does not respond');
        return 'open';
      },
    },
  });
  installTestRuntime();
  const context = new MockActivityEnvironment();
  await context.run(activities.beginSweep, panel);
  const page = await context.run(activities.startSweepPage, {
    ...panel,
    pace: DEFAULT_SWEEP_PACE,
  });
  expect(page).toMatchObject({ progress: { state: 'completed', started: 5 } });
  expect({ started: started.size, atOnce }).toEqual({ started: 5, atOnce: 1 });
});
