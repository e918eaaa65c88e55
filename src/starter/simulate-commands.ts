import { InvalidArgumentError } from 'commander';
import { SOURCE_TYPES } from '../contract/primitives.ts';
import type { CommandGroup } from './command-group.ts';
import {
  type SimulateOptions,
  simulateClear,
  simulateList,
  simulateSet,
  TROUBLES,
  type Trouble,
} from './commands/simulate.ts';
import type { examples } from './help.ts';
import { parseSource } from './input/sources.ts';
import { wholeNumber } from './option-values.ts';

type Name = `simulate ${string}` & keyof typeof examples;

export function addSimulateCommands({ run, subcommand }: Omit<CommandGroup<Name>, 'following'>): void {
  subcommand('simulate set', "Make a source of the stack's simulator misbehave, to try retry and cancel")
    .argument('<source>', SOURCE_TYPES.join(', '), parseSource)
    .argument('<behaviour>', BEHAVIOURS, parseTrouble)
    .option('--sample <key>', 'only for this sample patient (samples/patients.json)')
    .option('--times <n>', 'how often, after which the source behaves again', wholeNumber(1, 1_000_000))
    .action((source, trouble: Trouble, options: SimulateOptions) =>
      run(options, (context) => simulateSet(source, trouble, options, context)),
    );

  subcommand('simulate list', 'List what the sources are made to do').action((options) =>
    run(options, (context) => simulateList(options, context)),
  );

  subcommand('simulate clear', 'Make all sources behave again').action((options) =>
    run(options, (context) => simulateClear(options, context)),
  );
}

const BEHAVIOURS = Object.entries(TROUBLES)
  .map(([name, { help }]) => `${name}: ${help}`)
  .join('; ');

function parseTrouble(text: string): Trouble {
  const names = Object.keys(TROUBLES) as Trouble[];
  const trouble = names.find((name) => name === text);
  if (trouble === undefined) throw new InvalidArgumentError(`Expected one of ${names.join(', ')}.`);
  return trouble;
}
