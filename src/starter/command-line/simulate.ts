import type { Command } from 'commander';
import { SOURCE_TYPES } from '../../contract/primitives.ts';
import { examples } from '../../lib/command-line.ts';
import { oneOf, wholeNumber } from '../../lib/option-values.ts';
import {
  BEHAVIOURS,
  simulateAsk,
  simulateClear,
  simulateList,
  simulateSet,
  TROUBLE_NAMES,
} from '../commands/simulate.ts';
import type { RunStarter } from './run-starter.ts';
import { withStarterOptions } from './shared-options.ts';

/** Trouble at the sources of the stack's simulator. */
export function addSimulateCommands(program: Command, run: RunStarter): void {
  const simulate = program
    .command('simulate')
    .description(
      "Trouble at the sources of the stack's simulator: slow, down, lost callbacks",
    );

  withStarterOptions(simulate.command('set'))
    .description(
      "Make a source of the stack's simulator misbehave, to try retry and cancel",
    )
    .argument('<source>', SOURCE_TYPES.join(', '), oneOf(SOURCE_TYPES))
    .argument('<behaviour>', BEHAVIOURS, oneOf(TROUBLE_NAMES))
    .option(
      '--sample <key>',
      'only for this sample patient (samples/patients.json)',
    )
    .option(
      '--times <n>',
      'how often, after which the source behaves again',
      wholeNumber(1, 1000000),
    )
    .addHelpText(
      'after',
      examples(
        'npm run starter -- simulate set hie lost-callback',
        'npm run starter -- simulate set lab down --sample keith-kiehn --times 3',
      ),
    )
    .action(run(simulateSet));

  withStarterOptions(simulate.command('ask'))
    .description(
      'Have the simulated gateway ask the exchange for a patient and documents, as a member of a network',
    )
    .requiredOption(
      '--sample <key>',
      'sample patient that is asked for (samples/patients.json)',
    )
    .addHelpText(
      'after',
      examples('npm run starter -- simulate ask --sample keith-kiehn'),
    )
    .action(run(simulateAsk));

  withStarterOptions(simulate.command('list'))
    .description('List what the sources are made to do')
    .addHelpText('after', examples('npm run starter -- simulate list'))
    .action(run(simulateList));

  withStarterOptions(simulate.command('clear'))
    .description('Make all sources behave again')
    .addHelpText('after', examples('npm run starter -- simulate clear'))
    .action(run(simulateClear));
}
