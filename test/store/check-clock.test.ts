import { sql } from 'kysely';
import { afterEach, expect, vi } from 'vitest';
import {
  checkClock,
  readWrongClocks,
  showClock,
} from '../../src/exchange/platform/database/check-clock.ts';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { storeTest as test } from '../support/fixtures.ts';

afterEach(() => void vi.useRealTimers());

const withClock = (aheadMs: number): void =>
  void vi.useFakeTimers({
    toFake: ['Date'],
    now: Date.now() + aheadMs,
    shouldAdvanceTime: true,
  });

test.for<[number, RegExp]>([
  [
    600_000,
    /clock is (?:599|600|601) s ahead of PostgreSQL's: synchronise both/,
  ],
  [
    -600_000,
    /clock is (?:599|600|601) s behind PostgreSQL's: synchronise both/,
  ],
])(
  'a process whose clock is off by %i ms does not start',
  async ([aheadMs, message], { store }) => {
    withClock(aheadMs);
    await expect(checkClock(store)).rejects.toThrow(message);
  },
);

test('a difference of seconds is accepted', async ({ store }) => {
  withClock(5_000);
  await expect(checkClock(store)).resolves.toBeUndefined();
});

test('a process starts while the database cannot be reached', async () => {
  const away = createStore({
    databaseUrl: 'postgres://absent@127.0.0.1:1/none',
    connectionWaitMs: 2_000,
  });
  await expect(checkClock(away)).resolves.toBeUndefined();
  await away.close();
});

test('a clock that goes wrong after the start is reported while it is wrong', async ({
  store,
}) => {
  const wrong = () => store.asSystem(readWrongClocks);
  const gone = () =>
    store.asSystem((tx) =>
      sql`select from process_clock where process = 'worker on gone-host'`.execute(
        tx.db,
      ),
    );
  await store.asSystem((tx) =>
    sql`insert into process_clock values ('worker on gone-host', now(), now() - interval '25 hours')`.execute(
      tx.db,
    ),
  );
  expect((await gone()).rows).toHaveLength(1);
  const stop = showClock(store, 'worker', 20);
  try {
    expect(await wrong()).toEqual([]);
    withClock(-90_000);
    const found = [
      expect.stringMatching(
        /^the clock of worker on .+ is (89|90|91) s behind PostgreSQL's$/,
      ),
    ];
    await expect.poll(wrong, { timeout: 240_000 }).toEqual(found);
    expect((await gone()).rows).toEqual([]);
    vi.useRealTimers();
    await expect.poll(wrong, { timeout: 240_000 }).toEqual([]);
  } finally {
    stop();
  }
  await store.asSystem((tx) =>
    sql`update process_clock set shown = now() - interval '1 hour', seen_at = now() - interval '4 minutes'`.execute(
      tx.db,
    ),
  );
  expect(await wrong()).toEqual([]);
});
