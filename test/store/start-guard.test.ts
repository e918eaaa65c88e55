import { randomUUID } from 'node:crypto';
import { describe, expect, vi } from 'vitest';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import {
  createStartGuard,
  ProcessEndedTooOften,
  STARTS_IN_COMPANY,
  STARTS_MAX,
  type StartGuard,
} from '../../src/exchange/platform/recovery/start-guard.ts';
import { queryTest } from '../support/fixtures.ts';

const never = new AbortController().signal;

const test = queryTest.extend(
  'work',
  { scope: 'file' },
  async ({ environment, account }) => {
    const startsOf = (name: string) =>
      account.inTx(async (tx) => {
        const row = await tx.db
          .selectFrom('activity_start')
          .select('starts')
          .where('work', '=', name)
          .executeTakeFirst();
        return row?.starts ?? 0;
      });
    /** Begins work in a process of its own that ends before the work does. */
    async function beginAndDie(name: string, progress = ''): Promise<void> {
      const guard = createStartGuard(environment.store, randomUUID());
      await new Promise<void>((begun, failed) => {
        const dies = () => {
          begun();
          return new Promise(() => undefined);
        };
        guard
          .run({ accountId: account.accountId, name, progress }, never, dies)
          .catch(failed);
      });
    }
    /**
     * A guard whose process loses PostgreSQL as often as `times` says, each
     * time while it works.
     */
    function losing(times: number) {
      let left = times;
      let isAway = false;
      const orAway = <T>(call: () => Promise<T>): Promise<T> =>
        isAway ? Promise.reject(new Error('PostgreSQL is away')) : call();
      const asAccount: Store['asAccount'] = (...args) =>
        orAway(() => environment.store.asAccount(...args));
      const callAsAccount: Store['callAsAccount'] = (...args) =>
        orAway(() => environment.store.callAsAccount(...args));
      const guard = createStartGuard(
        { asAccount, callAsAccount },
        randomUUID(),
      );
      return async (name: string) => {
        isAway = false;
        return guard.run(
          { accountId: account.accountId, name, progress: '' },
          never,
          async () => {
            isAway = left-- > 0;
            if (isAway) throw new Error('PostgreSQL is away');
            return 'done';
          },
        );
      };
    }
    /**
     * All of it at once in one process: until everything has ended, or until
     * the deadly work takes the process with it.
     */
    async function liveOnce(
      guard: StartGuard,
      names: string[],
      ended: Map<string, string>,
    ): Promise<void> {
      let died: () => void = () => undefined;
      const death = new Promise<void>((resolve) => {
        died = resolve;
      });
      const begun = new Set<string>();
      const workOf = (name: string) => async () => {
        begun.add(name);
        // In company, what is innocent is still at work when the process ends.
        const isAlone = (await startsOf(name)) > STARTS_IN_COMPANY;
        if (name !== 'deadly')
          return isAlone || !names.includes('deadly')
            ? 'done'
            : new Promise(() => undefined);
        while (!isAlone && begun.size < names.length)
          await new Promise(setImmediate);
        died();
        return new Promise(() => undefined);
      };
      const all = names.map(async (name) => {
        const run = guard.run(
          { accountId: account.accountId, name, progress: '' },
          never,
          workOf(name),
        );
        const end = await run.catch((error: unknown) => {
          if (error instanceof ProcessEndedTooOften) return 'given up';
          throw error;
        });
        ended.set(name, String(end));
      });
      await Promise.race([death, Promise.all(all)]);
    }
    return { startsOf, beginAndDie, losing, liveOnce };
  },
);

test('work that ends, well or not, leaves no count', async ({
  environment,
  account,
  work,
}) => {
  const guard = createStartGuard(environment.store);
  const of = { accountId: account.accountId, name: 'ends', progress: '' };
  expect(await guard.run(of, never, async () => work.startsOf('ends'))).toBe(1);
  expect(await work.startsOf('ends')).toBe(0);
  await expect(
    guard.run(of, never, () => Promise.reject(new Error('failed'))),
  ).rejects.toThrow('failed');
  expect(await work.startsOf('ends')).toBe(0);
});

test('work that gets on between two deaths is not given up', async ({
  work,
}) => {
  for (let page = 0; page < 2 * STARTS_MAX; page += 1)
    await work.beginAndDie('gets on', String(page));
  expect(await work.startsOf('gets on')).toBe(1);
});

test('what was given up and is asked for anew begins anew', async ({
  work,
}) => {
  for (let start = 0; start < STARTS_MAX; start += 1)
    await work.beginAndDie('anew');
  await expect(work.beginAndDie('anew')).rejects.toThrow(ProcessEndedTooOften);
  await work.beginAndDie('anew');
  expect(await work.startsOf('anew')).toBe(1);
});

test('innocent work beside it is not given up with it', async ({
  environment,
  work,
}) => {
  const names = ['innocent 1', 'deadly', 'innocent 2'];
  const ended = new Map<string, string>();
  for (
    let life = 0;
    life < 4 * STARTS_MAX && ended.size < names.length;
    life += 1
  )
    await work.liveOnce(
      createStartGuard(environment.store, randomUUID()),
      names.filter((name) => !ended.has(name)),
      ended,
    );
  expect(Object.fromEntries(ended)).toEqual({
    'innocent 1': 'done',
    deadly: 'given up',
    'innocent 2': 'done',
  });
});

test('work that was stopped while it waited for its turn does not begin', async ({
  environment,
  account,
  work,
}) => {
  for (let start = 0; start < STARTS_IN_COMPANY; start += 1)
    await work.beginAndDie('stopped');
  const stop = AbortSignal.abort(new Error('stopped'));
  const run = createStartGuard(environment.store).run(
    { accountId: account.accountId, name: 'stopped', progress: '' },
    stop,
    () => Promise.reject(new Error('begun')),
  );
  await expect(run).rejects.toThrow('stopped');
  expect(await work.startsOf('stopped')).toBe(STARTS_IN_COMPANY);
});

describe('when PostgreSQL goes away while work is done', () => {
  test('its end is not taken for the end of the process, however often that happens', async ({
    work,
  }) => {
    const run = work.losing(2 * STARTS_MAX);
    for (let each = 0; each < 2 * STARTS_MAX; each += 1)
      await expect(run('away')).rejects.toThrow('PostgreSQL is away');
    expect(await run('away')).toBe('done');
    expect(await work.startsOf('away')).toBe(0);
  });

  test('each process removes its own count when PostgreSQL is back, and only that', async ({
    work,
  }) => {
    await work.beginAndDie('back');
    for (let each = 0; each < 2; each += 1) {
      const run = work.losing(1);
      await expect(run('back')).rejects.toThrow('PostgreSQL is away');
      expect(await work.startsOf('back')).toBe(2);
      expect(await run('something else')).toBe('done');
      await vi.waitFor(
        async () => expect(await work.startsOf('back')).toBe(1),
        { timeout: 240_000 },
      );
    }
  });
});
