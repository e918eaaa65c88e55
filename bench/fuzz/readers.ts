import {
  fuzzReader,
  openReaderThread,
} from '../../test/unit/fuzz/fuzz-reader.ts';
import { READERS } from '../../test/unit/fuzz/readers.ts';

export interface ReaderOptions {
  minutes: number;
  seed: number;
  path?: string;
  reader: string;
}

export const READER_NAMES = Object.keys(READERS);

/**
 * Gives each reader mutated samples for its share of the time. Sets the exit
 * code when one of them has a fault.
 */
export async function fuzzReaders(
  options: ReaderOptions,
  print: (line: string) => void,
): Promise<void> {
  const readers = READER_NAMES.filter((name) => name.includes(options.reader));
  if (readers.length === 0)
    throw new Error(`No reader is called ${options.reader}`);
  const thread = openReaderThread();
  for (const reader of readers) {
    const untilMs = Date.now() + (options.minutes * 60_000) / readers.length;
    try {
      const runs = await fuzzReader(thread, reader, {
        seed: options.seed,
        path: options.path,
        untilMs,
      });
      print(`${reader}: ${runs} inputs read or refused`);
    } catch (error) {
      process.exitCode = 1;
      const { message, cause } = error as Error;
      print(
        `${reader}: ${message}\n${cause instanceof Error ? cause.message : ''}`,
      );
    }
  }
  await thread.close();
}
