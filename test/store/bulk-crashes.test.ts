import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BlobStore } from '../../src/exchange/blobs/blob-store.ts';
import type { Store } from '../../src/exchange/store/database.ts';
import { type BulkEnvironment, createBulkEnvironment, csvOf } from './bulk-environment.ts';
import { someRows, withoutIds } from './bulk-rows.ts';

let env: BulkEnvironment;
beforeAll(async () => {
  env = await createBulkEnvironment({ chunkRows: 2 });
});
afterAll(() => env?.close());

class Killed extends Error {}

/**
 * An engine whose process dies at its n-th dealing with the outside: before a transaction's commit, after it, or after
 * a blob is safe. A dead process does nothing more, so every later call fails too.
 */
function mortalEngine(diesAt: number, moment: 'before' | 'after') {
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
    asAccount: (accountId, work) =>
      moment === 'after'
        ? deal(() => env.store.asAccount(accountId, work))
        : env.store.asAccount(accountId, async (tx) => {
            const done = await work(tx);
            await deal(async () => undefined);
            return done;
          }),
  };
  const blobs: BlobStore = {
    ...env.blobs,
    put: (...put) => deal(() => env.blobs.put(...put)),
    delete: (ref) => deal(() => env.blobs.delete(ref)),
  };
  return env.engineWith({ store, blobs });
}

describe('an import whose process is killed again and again', () => {
  test('ends as an undisturbed one, wherever it was killed', async () => {
    const kills = fc.array(
      fc.record({ diesAt: fc.integer({ min: 1, max: 12 }), moment: fc.constantFrom('before', 'after') }),
      { minLength: 1, maxLength: 6 },
    );
    await fc.assert(
      fc.asyncProperty(someRows(9), kills, fc.boolean(), async (rows, deaths, dryRun) => {
        const [calm, hard] = [await env.addAccount(), await env.addAccount()];
        const csv = csvOf(rows);
        const expected = await env.run(calm.accountId, await env.upload(calm, csv, { dryRun }));
        const requestId = await env.upload(hard, csv, { dryRun });
        for (const { diesAt, moment } of deaths) {
          await env.run(hard.accountId, requestId, mortalEngine(diesAt, moment)).catch((error: unknown) => {
            if (!(error instanceof Killed)) throw error;
          });
        }
        const result = await env.run(hard.accountId, requestId);
        expect(withoutIds(result)).toEqual(withoutIds(expected));
        expect(await env.patients(hard.accountId)).toEqual(await env.patients(calm.accountId));
        const { handled, created, updated, failed } = await env.counts(hard.accountId, requestId);
        expect(handled).toBe(rows.length);
        expect(created + updated + failed).toBe(rows.length);
      }),
      { numRuns: 15 },
    );
  });
});
