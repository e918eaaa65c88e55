import fc from 'fast-check';
import pino from 'pino';
import { describe, expect } from 'vitest';
import { orphanSweep } from '../../src/exchange/platform/blobs/orphan-sweep.ts';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import {
  BlobNotFoundError,
  type BlobStore,
} from '../../src/shared/blobs/blob-store.ts';
import { takeUp, takeUpAll } from '../support/take-up.ts';
import { type BulkEnvironment, csvOf, test } from './bulk-environment.ts';
import { someRows, withoutIds } from './bulk-rows.ts';

class Killed extends Error {}

/**
 * An engine whose process dies at its n-th dealing with the outside: before a
 * transaction's commit, after it, or after a blob is safe. A dead process does
 * nothing more, so every later call fails too.
 */
function mortalEngine(
  env: BulkEnvironment,
  diesAt: number,
  moment: 'before' | 'after',
) {
  let dealings = 0;
  const isOver = () => dealings >= diesAt;
  const alive = () => {
    if (isOver()) throw new Killed();
  };
  const deal = async <T>(work: () => Promise<T>): Promise<T> => {
    alive();
    dealings += 1;
    if (isOver() && moment === 'before') throw new Killed();
    const done = await work();
    alive();
    return done;
  };
  const store: Store = {
    ...env.store,
    asAccount: (accountId, work, options) =>
      moment === 'after'
        ? deal(() => env.store.asAccount(accountId, work, options))
        : env.store.asAccount(
            accountId,
            async (tx) => {
              const done = await work(tx);
              await deal(async () => undefined);
              return done;
            },
            options,
          ),
  };
  const blobs: BlobStore = {
    ...env.blobs,
    put: (...put) => deal(() => env.blobs.put(...put)),
    delete: (ref) => deal(() => env.blobs.delete(ref)),
  };
  return env.engineWith({ store, blobs });
}

describe('an import whose process is killed again and again', () => {
  test('ends as an undisturbed one, wherever it was killed', async ({
    env,
  }) => {
    const kills = fc.array(
      fc.record({
        diesAt: fc.integer({ min: 1, max: 12 }),
        moment: fc.constantFrom('before', 'after'),
      }),
      { minLength: 1, maxLength: 6 },
    );
    await fc.assert(
      fc.asyncProperty(
        someRows(9),
        kills,
        fc.boolean(),
        async (rows, deaths, dryRun) => {
          const calm = await env.addAccount();
          const hard = await env.addAccount();
          const csv = csvOf(rows);
          const expected = await env.run(
            calm.accountId,
            await env.upload(calm, csv, { dryRun }),
          );
          const requestId = await env.upload(hard, csv, { dryRun });
          for (const { diesAt, moment } of deaths) {
            await env
              .run(hard.accountId, requestId, mortalEngine(env, diesAt, moment))
              .catch((error: unknown) => {
                if (!(error instanceof Killed)) throw error;
              });
          }
          const result = await env.run(hard.accountId, requestId);
          expect(withoutIds(result)).toEqual(withoutIds(expected));
          expect(await env.patients(hard.accountId)).toEqual(
            await env.patients(calm.accountId),
          );
          const { handled, created, updated, failed } = await env.counts(
            hard.accountId,
            requestId,
          );
          expect(handled).toBe(rows.length);
          expect(created + updated + failed).toBe(rows.length);
        },
      ),
      { numRuns: 15 },
    );
  });
});

describe('blobs', () => {
  const DAY_MS = 24 * 60 * 60_000;

  const sweepAll = ({ store, blobs }: BulkEnvironment) =>
    takeUpAll(orphanSweep({ store, blobs, logger: pino({ enabled: false }) }));

  test('that kills left behind go after a day; one that a row names never does', async ({
    env,
  }) => {
    const account = await env.addAccount();
    const rows = fc.sample(someRows(6), 1)[0] ?? [];
    const done = await env.upload(account, csvOf(rows));
    const underWay = await env.upload(account, csvOf(rows));
    const result = await env.run(account.accountId, done);
    await env.engine.check(account.accountId, underWay);
    await env.engine.processChunks(account.accountId, underWay, {
      maxChunks: 2,
    });
    const aged = await env.blobs.put(
      'result',
      Buffer.from('left by a kill'),
      'text/csv',
    );
    await env.ageBlobs(DAY_MS + 60_000);
    const young = await env.blobs.put(
      'result',
      Buffer.from('its row comes any moment'),
      'text/csv',
    );

    expect(await sweepAll(env)).toBeGreaterThan(0);
    expect(await sweepAll(env)).toBe(0);
    await expect(env.blobs.read(aged.ref)).rejects.toThrow(BlobNotFoundError);
    expect((await env.blobs.read(young.ref)).toString()).toBe(
      'its row comes any moment',
    );
    expect(await env.result(account.accountId, done)).toEqual(result);
    await env.engine.processChunks(account.accountId, underWay);
    expect(await env.result(account.accountId, underWay)).toHaveLength(
      rows.length,
    );
  });

  test('stay when most of them are nobody’s, for then it is the wrong database', async ({
    env,
  }) => {
    const listed = Array.from({ length: 30 }, (_, n) => ({
      ref: `document/${String(n).padStart(32, '0')}`,
      writtenAt: new Date(0),
      sizeBytes: 1,
    }));
    const deleted: string[] = [];
    const blobs = {
      list: async function* () {
        yield* listed;
      },
      delete: async (ref: string) => void deleted.push(ref),
    };
    const sweep = orphanSweep({
      store: env.store,
      blobs,
      logger: pino({ enabled: false }),
    });
    expect(await takeUp(sweep, 500)).toBe(0);
    expect(deleted).toEqual([]);
  });
});
