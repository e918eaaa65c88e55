import { getEventListeners } from 'node:events';
import { Registry } from 'prom-client';
import { expect, test, vi } from 'vitest';
import {
  createReconcileMetrics,
  createReconciler,
} from '../../../src/exchange/platform/recovery/reconciler.ts';
import {
  deleting,
  itemRecovery,
  type Recovery,
  type TakenUp,
} from '../../../src/exchange/platform/recovery/recovery.ts';

const logger = { info: vi.fn(), warn: vi.fn() };
const nothing: TakenUp = { found: 0, healed: 0, failures: [] };
const kind = (name: string, taken: Partial<TakenUp> | Error): Recovery => ({
  name,
  takeUp: async () => {
    if (taken instanceof Error) throw taken;
    return { ...nothing, ...taken };
  },
});
const roundCount = {
  isPaused: async () => false,
  begin: async () => ({ recheckBefore: new Date() }),
  end: async (counted: number) => counted + 1,
};
const isImporting = async () => false;
const neverAborted = () => new AbortController().signal;
const round = (
  recoveries: Recovery[],
  cursors: Record<string, string> = {},
  kindMs = 50,
) =>
  createReconciler({
    roundCount,
    isImporting,
    recoveries,
    logger,
    kindMs,
    overtimeMs: 20,
  }).round({ rounds: 0, cursors }, neverAborted());

test('a kind that fails, or that never ends, stops no other kind', async () => {
  const hanging: Recovery = {
    name: 'hanging',
    takeUp: () => new Promise(() => undefined),
  };
  const hangers = ['a', 'b', 'c', 'd'].map((name) => ({ ...hanging, name }));
  const { kinds } = await round([
    ...hangers,
    kind('broken', new Error('no')),
    kind('sound', { found: 2, healed: 2 }),
  ]);
  expect(kinds.sound).toEqual({ found: 2, healed: 2, failed: 0 });
  expect(kinds.broken).toMatchObject({ failed: 1 });
  expect(kinds.a).toMatchObject({ failed: 1 });
});

test('a kind that still works since the last round is not started a second time', async () => {
  let starts = 0;
  const hanging: Recovery = {
    name: 'hanging',
    takeUp: () => {
      starts += 1;
      return new Promise(() => undefined);
    },
  };
  const reconciler = createReconciler({
    roundCount,
    isImporting,
    recoveries: [hanging],
    logger,
    kindMs: 20,
    overtimeMs: 10,
  });
  await reconciler.round(undefined, neverAborted());
  expect(
    (await reconciler.round(undefined, neverAborted())).kinds.hanging,
  ).toMatchObject({ failed: 1 });
  expect(starts).toBe(1);
});

test('a round leaves no listener on its signal', async () => {
  const { signal } = new AbortController();
  const recoveries = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) =>
    kind(name, {}),
  );
  await createReconciler({
    roundCount,
    isImporting,
    recoveries,
    logger,
    kindMs: 1_000,
    overtimeMs: 20,
  }).round(undefined, signal);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('each kind gets its own cursor back; one that fails keeps its own', async () => {
  const seen: Record<string, string | undefined> = {};
  const slices: Recovery = {
    name: 'slices',
    takeUp: async ({ cursor }) => {
      seen.slices = cursor;
      return { ...nothing, cursor: `${cursor}+` };
    },
  };
  const { cursors } = await round(
    [slices, kind('broken', new Error('no')), kind('whole', {})],
    {
      slices: 's',
      broken: 'b',
    },
  );
  expect(seen).toEqual({ slices: 's' });
  expect(cursors).toEqual({ slices: 's+', broken: 'b' });
});

test('a round that is cancelled ends as cancelled, and begins no further kind', async () => {
  const cancelled = new AbortController();
  const begun: string[] = [];
  const recoveries = Array.from(
    { length: 10 },
    (_, n): Recovery => ({
      name: String(n),
      takeUp: async () => {
        begun.push(String(n));
        cancelled.abort(new Error('stop'));
        return nothing;
      },
    }),
  );
  const reconciler = createReconciler({
    roundCount,
    isImporting,
    recoveries,
    logger,
  });
  await expect(reconciler.round(undefined, cancelled.signal)).rejects.toThrow(
    'stop',
  );
  expect(begun.length).toBeLessThan(10);
});

test('while patients are imported, a round leaves out only the kinds that can wait, and the next one follows at once', async () => {
  const reconciler = createReconciler({
    roundCount,
    isImporting: async () => true,
    recoveries: [
      { ...kind('can wait', { found: 1, healed: 1 }), canWait: true },
      kind('cannot', { found: 1, healed: 1 }),
    ],
    logger,
  });
  const { kinds, isBehind } = await reconciler.round(undefined, neverAborted());
  expect(Object.keys(kinds)).toEqual(['cannot']);
  expect(isBehind).toBe(true);
});

test('an item that fails does not stop its kind; the oldest one found is reported', async () => {
  const items = [1, 2, 3, 4].map((n) => ({
    n,
    since: new Date(2020, 1, 10 - n),
  }));
  const healed: number[] = [];
  const recovery = itemRecovery({
    name: 'items',
    find: async () => items,
    heal: async ({ n }) => {
      if (n === 1) throw new Error('poisoned');
      healed.push(n);
      // The fourth turns out to be in order.
      return n !== 4;
    },
  });
  const taken = await recovery.takeUp({
    limit: 4,
    signal: neverAborted(),
    recheckBefore: new Date(),
  });
  expect(healed).toEqual([2, 3, 4]);
  expect(taken).toMatchObject({
    found: 3,
    healed: 2,
    oldestSince: items[2]?.since,
    isBehind: true,
  });
  expect(taken.failures).toHaveLength(1);
});

test('items that always fail do not make the rounds follow each other without a pause', async () => {
  const recovery = itemRecovery({
    name: 'items',
    find: async () => [{ since: new Date() }],
    heal: () => Promise.reject(new Error('poisoned')),
  });
  expect(
    await recovery.takeUp({
      limit: 1,
      signal: neverAborted(),
      recheckBefore: new Date(),
    }),
  ).toMatchObject({ isBehind: false });
});

test('items that the time did not suffice for are left to the next round, which follows at once', async () => {
  const end = new AbortController();
  let healed = 0;
  const recovery = itemRecovery({
    name: 'items',
    find: async () => [1, 2, 3].map(() => ({ since: new Date() })),
    heal: async () => {
      healed += 1;
      end.abort();
      return true;
    },
  });
  expect(
    await recovery.takeUp({
      limit: 500,
      signal: end.signal,
      recheckBefore: new Date(),
    }),
  ).toMatchObject({
    healed: 1,
    isBehind: true,
  });
  expect(healed).toBe(1);
});

test('metrics count by kind what was found, healed and failed, and show the age of the oldest', async () => {
  const registry = new Registry();
  const recoveries = [
    kind('messages', {
      found: 3,
      healed: 2,
      failures: [new Error('one')],
      oldestSince: new Date(Date.now() - 90_000),
    }),
    kind('idle', {}),
  ];
  const reconciler = createReconciler({
    roundCount,
    isImporting,
    recoveries,
    logger,
    metrics: createReconcileMetrics(registry),
  });
  await reconciler.round(undefined, neverAborted());
  await reconciler.round(undefined, neverAborted());
  const lines = (await registry.metrics())
    .split('\n')
    .filter((line) => line.startsWith('reconcile_'));
  expect(lines).toEqual(
    expect.arrayContaining([
      'reconcile_found_total{kind="messages"} 6',
      'reconcile_healed_total{kind="messages"} 4',
      'reconcile_failed_total{kind="messages"} 2',
      'reconcile_oldest_seconds{kind="messages"} 90',
      'reconcile_oldest_seconds{kind="idle"} 0',
    ]),
  );
});

test('pausing one part stops its kinds, keeps where they were, and never stops the other part', async () => {
  const recoveries = [
    kind('heals', { found: 1, healed: 1 }),
    deleting(kind('deletes', { found: 1, healed: 1 })),
  ];
  for (const paused of ['deleting', 'healing'] as const) {
    const state = {
      ...roundCount,
      isPaused: async (part: string) => part === paused,
    };
    const reconciler = createReconciler({
      roundCount: state,
      isImporting,
      recoveries,
      logger,
    });
    const cursors = { heals: 'here', deletes: 'there' };
    const stopped = paused === 'deleting' ? 'deletes' : 'heals';
    const result = await reconciler.round(
      { rounds: 0, cursors },
      neverAborted(),
    );
    expect(result.paused).toEqual([paused]);
    expect(Object.keys(result.kinds)).toEqual([
      stopped === 'heals' ? 'deletes' : 'heals',
    ]);
    expect(result.cursors).toEqual({ [stopped]: cursors[stopped] });
  }
});

test('a slice that takes longer than a round allows still gets its kind on: its end counts in the next round', async () => {
  const begun: (string | undefined)[] = [];
  let end: () => void = () => undefined;
  const slow: Recovery = {
    name: 'slow',
    takeUp: async ({ cursor = '0' }) => {
      begun.push(cursor);
      await new Promise<void>((resolve) => {
        end = resolve;
      });
      return {
        ...nothing,
        found: 1,
        healed: 1,
        cursor: String(Number(cursor) + 1),
      };
    },
  };
  const reconciler = createReconciler({
    roundCount,
    isImporting,
    recoveries: [slow],
    logger,
    kindMs: 20,
    overtimeMs: 10,
  });
  const first = await reconciler.round(undefined, neverAborted());
  expect(first.kinds.slow).toMatchObject({ failed: 1 });
  end();
  await vi.waitFor(async () => {
    const second = await reconciler.round(first, neverAborted());
    expect(second).toMatchObject({
      kinds: { slow: { healed: 1, failed: 0 } },
      cursors: { slow: '1' },
    });
  }, 240_000);
  expect(begun[0]).toBe('0');
});

test('a round ends before it is cut off, keeps the cursors, and the next one begins with what it did not reach', async () => {
  const begun: string[] = [];
  const recoveries = Array.from(
    { length: 8 },
    (_, index): Recovery => ({
      name: String(index),
      async takeUp() {
        begun.push(String(index));
        await new Promise((resolve) => setTimeout(resolve, 30));
        return nothing;
      },
    }),
  );
  const reconciler = createReconciler({
    roundCount,
    isImporting,
    recoveries,
    logger,
    roundMs: 10,
  });
  const first = await reconciler.round(
    { rounds: 0, cursors: { 7: 'there' } },
    neverAborted(),
  );
  expect(begun).toEqual(['0', '1', '2', '3']);
  expect(first).toMatchObject({ isBehind: true, cursors: { 7: 'there' } });
  await reconciler.round(first, neverAborted());
  expect(begun.slice(4)).toEqual(['4', '5', '6', '7']);
});

test('500 items of one account that cannot be healed do not keep those of others waiting', async () => {
  const stuck = Array.from({ length: 600 }, (_, index) => ({
    accountId: 'a',
    id: `a${index}`,
    since: new Date(0),
  }));
  const other = { accountId: 'b', id: 'b', since: new Date(1) };
  const healed: string[] = [];
  const recovery = itemRecovery({
    name: 'items',
    find: async (limit) => [...stuck, other].slice(0, limit),
    async heal({ accountId, id }) {
      if (accountId === 'a') throw new Error('cannot start');
      healed.push(id);
      return true;
    },
  });
  const take = () =>
    recovery.takeUp({
      limit: 500,
      signal: neverAborted(),
      recheckBefore: new Date(),
    });
  expect((await take()).failures).toHaveLength(500);
  await take();
  expect(healed).toEqual(['b']);
  // They were tried once, and are left alone for a while.
  expect((await take()).failures).toHaveLength(0);
});

test('accounts take turns, and what fails because Temporal is away is not postponed', async () => {
  const items = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map((id) => ({
    accountId: id.slice(0, 1),
    id,
    since: new Date(0),
  }));
  const tried: string[] = [];
  const recovery = itemRecovery({
    name: 'items',
    find: async () => items,
    async heal({ id }) {
      tried.push(id);
      throw Object.assign(new Error('14 UNAVAILABLE'), { code: 14 });
    },
  });
  const round = {
    limit: 500,
    signal: neverAborted(),
    recheckBefore: new Date(),
  };
  await recovery.takeUp(round);
  expect(tried).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  await recovery.takeUp(round);
  expect(tried).toHaveLength(12);
});
