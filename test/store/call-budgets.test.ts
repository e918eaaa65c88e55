import { expect } from 'vitest';
import { createCallBudgets } from '../../src/exchange/sources/connectors/budgets.ts';
import { createCallPace } from '../../src/exchange/sources/connectors/http/source-http.ts';
import { storeTest as test } from '../support/fixtures.ts';

const never = new AbortController().signal;
const slow = { perSecond: 10, perMinute: 60 };

test('workers share the budget of a base address: what one takes, the others wait for', async ({
  store,
}) => {
  const workers = [
    createCallBudgets(store),
    createCallBudgets(store),
    createCallBudgets(store),
  ];
  const began = performance.now();
  const starts = await Promise.all(
    Array.from({ length: 60 }, async (_, call) => {
      const wait = (await workers[call % 3]?.take('http://a/', slow, 1)) ?? 0;
      // Each wait counts from its own turn in the database, which comes late on
      // a busy machine.
      return performance.now() - began + wait;
    }),
  );
  // Sixty a minute, of which twelve may be made at once: the last of sixty
  // comes a minute after the twelfth.
  expect(Math.max(...starts)).toBeGreaterThan(50_000);
  expect(await createCallBudgets(store).take('http://b/', slow, 1)).toBe(0);
});

test('a block holds every worker', async ({ store }) => {
  await createCallBudgets(store).block('http://c/', 30_000);
  expect(
    await createCallBudgets(store).take('http://c/', slow, 1),
  ).toBeGreaterThan(25_000);
});

test('a busy worker does not take each call singly', async ({ store }) => {
  const budgets = createCallBudgets(store);
  let taken = 0;
  const counting = {
    ...budgets,
    take: (...args: Parameters<typeof budgets.take>) => {
      taken += 1;
      return budgets.take(...args);
    },
  };
  const pace = createCallPace(counting, 'http://d/', {
    perSecond: 100_000,
    perMinute: 6_000_000,
  });
  await Promise.all(Array.from({ length: 500 }, () => pace.turn(never)));
  expect(taken).toBeLessThan(50);
});

test('a call that is cancelled while it waits for its turn is not made', async ({
  store,
}) => {
  const budgets = createCallBudgets(store);
  await budgets.block('http://e/', 60_000);
  const controller = new AbortController();
  const turn = createCallPace(budgets, 'http://e/', slow).turn(
    controller.signal,
  );
  controller.abort(new Error('cancelled'));
  await expect(turn).rejects.toThrow();
});
