import { Command } from 'commander';
import { whole } from '../command-parts.ts';
import { totalOf } from './count-actions.ts';
import { benchActions, type Measured as MeasuredActions } from './run.ts';

export const actionsCommand = new Command('actions')
  .description(
    'billed actions of Temporal Cloud for the main jobs, counted from the histories of a whole stack',
  )
  .option(
    '--rows <list>',
    'rows of the imports, separated by commas',
    (text) => text.split(',').map(whole),
    [1_000, 10_000],
  )
  .option('--monitored <n>', 'patients of the monitored cohort', whole, 100)
  .option('--json', 'print the result as one JSON line')
  .action(
    async ({
      json,
      ...options
    }: {
      rows: number[];
      monitored: number;
      json?: true;
    }) => {
      const lines = ({ name, runs, actions, heartbeats }: MeasuredActions) =>
        [
          `${name}: ${Object.values(actions).reduce((sum, each) => sum + totalOf(each), heartbeats)} actions`,
          ...Object.entries(actions).map(([type, each]) => {
            const kinds = Object.entries(each).filter(([, count]) => count > 0);
            return `  ${runs[type]} ${type}: ${totalOf(each)} (${kinds.map(([kind, count]) => `${kind} ${count}`).join(', ')})`;
          }),
          `  heartbeats: ${heartbeats}`,
        ].join('\n');
      const result = await benchActions(options, (measured) =>
        process.stderr.write(`${lines(measured)}\n`),
      );
      if (json === true) process.stdout.write(`${JSON.stringify(result)}\n`);
    },
  );
