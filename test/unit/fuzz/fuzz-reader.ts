import fc from 'fast-check';
import { createJobThread } from '../../../src/lib/job-thread.ts';
import { mutate, mutations } from './mutations.ts';
import type { ReaderAnswer, ReaderJob } from './reader-thread.ts';
import { readerNamed } from './readers.ts';

const THREAD = new URL('./reader-thread.ts', import.meta.url);
/**
 * Inputs have at most 1 MB. Far above what any of them needs, also on a busy
 * machine: only a stall meets the time.
 */
const LIMITS = { heapMb: 512, timeoutMs: 240_000, idleMs: 60_000 };

export const openReaderThread = () =>
  createJobThread<ReaderJob, ReaderAnswer>(THREAD, LIMITS);

/**
 * Gives a reader mutated samples, in a thread: it must read or refuse each of
 * them within bounded time and memory. Rejects with the smallest input found
 * that it does not, and with the seed and path that repeat it.
 */
export async function fuzzReader(
  thread: ReturnType<typeof openReaderThread>,
  reader: string,
  options: { seed: number; path?: string } & (
    | { runs: number }
    | { untilMs: number }
  ),
): Promise<number> {
  const samples = readerNamed(reader)?.samples ?? [];
  let runs = 0;
  const property = fc.asyncProperty(
    fc.nat(samples.length - 1),
    mutations,
    async (index, changes) => {
      const bytes = mutate(samples[index] ?? Buffer.alloc(0), changes);
      runs += 1;
      const end = await thread.run({ reader, bytes });
      const fault = end.kind === 'broken' ? end.reason : end.answer.fault;
      if (fault !== undefined)
        throw new Error(`${reader}, ${bytes.length} bytes: ${fault}`);
    },
  );
  const { seed, path } = options;
  const until =
    'runs' in options
      ? { numRuns: options.runs }
      : {
          numRuns: Number.MAX_SAFE_INTEGER,
          interruptAfterTimeLimit: options.untilMs - Date.now(),
        };
  await fc.assert(property, {
    seed,
    ...(path !== undefined && { path }),
    ...until,
  });
  return runs;
}
