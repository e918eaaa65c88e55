import { randomInt } from 'node:crypto';
import { Command, InvalidArgumentError } from 'commander';
import { fuzzGrowth, type GrowthOptions } from './growth.ts';
import { fuzzModels, MODEL_NAMES, type ModelOptions } from './models.ts';
import { fuzzReaders, READER_NAMES, type ReaderOptions } from './readers.ts';

const number = (text: string): number => {
  const value = Number(text);
  if (!(value >= 0))
    throw new InvalidArgumentError('Expected a number of 0 or more.');
  return value;
};
const print = (line: string) => void process.stdout.write(`${line}\n`);
const anySeed = randomInt(2 ** 31);

const program = new Command('npm run fuzz --').description(
  'Random inputs and commands, repeated by their seed.',
);
program
  .command('readers', { isDefault: true })
  .description(
    'Gives every reader of foreign bytes mutated samples: it must read or refuse each within bounded time and memory.',
  )
  .option('--minutes <n>', 'duration, shared by all readers', number, 5)
  .option('--seed <n>', 'the same seed gives the same inputs', number, anySeed)
  .option(
    '--path <path>',
    'repeats one counterexample of a seed; with --reader',
  )
  .option(
    '--reader <text>',
    `only readers whose name contains this: ${READER_NAMES.join(', ')}`,
    '',
  )
  .action(async (options: ReaderOptions) => {
    print(`seed ${options.seed}`);
    await fuzzReaders(options, print);
  });
program
  .command('growth')
  .description(
    'Searches for worst cases of what callers write: twice as much text must cost about twice the steps.',
  )
  .option('--minutes <n>', 'duration, shared by all languages', number, 5)
  .option('--seed <n>', 'the same seed gives the same texts', number, anySeed)
  .action((options: GrowthOptions) => {
    print(`seed ${options.seed}`);
    fuzzGrowth(options, print);
  });
program
  .command('models')
  .description(
    'Carries out random commands on a whole stack, kills included: its callers must see what a model expects.',
  )
  .option('--minutes <n>', 'duration, shared by all models', number, 5)
  .option(
    '--seed <n>',
    'seed of the first run of each model; each further run has the next',
    number,
    anySeed,
  )
  .option(
    '--model <text>',
    `only models whose name contains this: ${MODEL_NAMES.join(', ')}`,
    '',
  )
  .option('--commands <n>', 'at most so many commands in a run', number, 40)
  .action(async (options: ModelOptions) => {
    print(`seed ${options.seed}`);
    await fuzzModels(options, print);
  });
await program.parseAsync();
