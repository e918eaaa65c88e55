import { afterEach, beforeAll, expect, test, vi } from 'vitest';
import { checkClock } from '../../src/exchange/platform/database/check-clock.ts';
import { createStore, type Store } from '../../src/exchange/platform/database/database.ts';
import { createTestStore } from '../support/postgres.ts';

let store: Store;
beforeAll(async () => {
  const test = await createTestStore();
  store = test.store;
  return test.close;
});
afterEach(() => void vi.useRealTimers());

const withClock = (aheadMs: number): void =>
  void vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + aheadMs, shouldAdvanceTime: true });

test.each([
  [600_000, /clock is 600 s ahead of PostgreSQL's: synchronise both/],
  [-600_000, /clock is 600 s behind PostgreSQL's: synchronise both/],
])('a process whose clock is off by %i ms does not start', async (aheadMs, message) => {
  withClock(aheadMs);
  await expect(checkClock(store)).rejects.toThrow(message);
});

test('a difference of seconds is accepted', async () => {
  withClock(5_000);
  await expect(checkClock(store)).resolves.toBeUndefined();
});

test('a process starts while the database cannot be reached', async () => {
  const away = createStore({ databaseUrl: 'postgres://absent@127.0.0.1:1/none', connectionWaitMs: 2_000 });
  await expect(checkClock(away)).resolves.toBeUndefined();
  await away.close();
});
