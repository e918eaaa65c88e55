import { randomInt } from 'node:crypto';
import { Command, InvalidArgumentError } from 'commander';
import { fuzzReader, openReaderThread } from '../../test/unit/fuzz/fuzz-reader.ts';
import { READERS } from '../../test/unit/fuzz/readers.ts';

const number = (text: string): number => {
  const value = Number(text);
  if (!(value >= 0)) throw new InvalidArgumentError('Expected a number of 0 or more.');
  return value;
};
const print = (line: string) => void process.stdout.write(`${line}\n`);

const program = new Command('npm run fuzz --')
  .description(
    'Gives every reader of foreign bytes mutated samples: it must read or refuse each within bounded time and memory.',
  )
  .option('--minutes <n>', 'duration, shared by all readers', number, 5)
  .option('--seed <n>', 'the same seed gives the same inputs', number, randomInt(2 ** 31))
  .option('--path <path>', 'repeats one counterexample of a seed; with --reader')
  .option('--reader <text>', `only readers whose name contains this: ${Object.keys(READERS).join(', ')}`, '')
  .parse();

const options = program.opts<{ minutes: number; seed: number; path?: string; reader: string }>();
const readers = Object.keys(READERS).filter((name) => name.includes(options.reader));
if (readers.length === 0) program.error(`No reader is called ${options.reader}`);
print(`seed ${options.seed}`);
const thread = openReaderThread();
for (const reader of readers) {
  const untilMs = Date.now() + (options.minutes * 60_000) / readers.length;
  try {
    const runs = await fuzzReader(thread, reader, { seed: options.seed, path: options.path, untilMs });
    print(`${reader}: ${runs} inputs read or refused`);
  } catch (error) {
    process.exitCode = 1;
    const { message, cause } = error as Error;
    print(`${reader}: ${message}\n${cause instanceof Error ? cause.message : ''}`);
  }
}
await thread.close();
