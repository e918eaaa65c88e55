import { randomInt } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { fuzzReader, openReaderThread } from './fuzz-reader.ts';
import { FAULTY_READER, READERS } from './readers.ts';

/**
 * The short form of `npm run fuzz`; a failure names the seed and the path that
 * repeat it.
 */
const RUNS = 60;
const seed = randomInt(2 ** 31);
const thread = openReaderThread();
afterAll(() => thread.close());

test.each(Object.keys(READERS))(
  '%s: any bytes are read or refused, within bounded time and memory',
  async (reader) => {
    expect(
      await fuzzReader(thread, reader, { seed, runs: RUNS }),
    ).toBeGreaterThanOrEqual(RUNS);
  },
);

test('a fault of a reader is found, with the seed and path that repeat it', async () => {
  const found = fuzzReader(thread, FAULTY_READER, { seed, runs: 5_000 });
  await expect(found).rejects.toThrow(new RegExp(`seed: ${seed}, path: `));
});
