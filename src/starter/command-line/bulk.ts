import type { Command } from 'commander';
import { examples } from '../../lib/command-line.ts';
import { bulk } from '../commands/bulk.ts';
import { bulkCancel, bulkStatus, bulkSteer } from '../commands/bulk-control.ts';
import { parseJobId } from '../input/arguments.ts';
import type { RunStarter } from './run-starter.ts';
import { withFollowing, withStarterOptions } from './shared-options.ts';

/** Bulk onboardings. */
export function addBulkCommands(program: Command, run: RunStarter): void {
  const bulkCommand = withFollowing(withStarterOptions(program.command('bulk')))
    .description(
      'Onboard a panel of patients: check a CSV, send it, wait until all rows are processed, save the results',
    )
    // Options belong to the command after whose name they stand.
    .enablePositionalOptions()
    .argument(
      '<file.csv>',
      'CSV file; for its columns see docs/interface.md, for an example samples/panel.csv',
    )
    .option(
      '--dry-run',
      'report what the exchange would do with each row, without creating anything',
    )
    .option(
      '--send-anyway',
      'send the file although some rows are invalid; those rows fail and are saved for correction',
    )
    .option(
      '--job <id>',
      'your id for this job; the same id always means the same job (default: a new id)',
      parseJobId,
    )
    .option(
      '--out <folder>',
      'folder for the result files (default: the folder of the CSV)',
    )
    .addHelpText(
      'after',
      examples(
        'npm run starter -- bulk samples/panel.csv --dry-run',
        'npm run starter -- bulk panel.csv --job spring-panel --out results',
        'npm run starter -- bulk panel.csv --send-anyway --no-wait --json',
      ),
    )
    .action(run(bulk));

  withStarterOptions(bulkCommand.command('status'))
    .description('Show the state of a bulk onboarding')
    .argument('<job>', 'job id that "bulk" printed, or the workflow id')
    .option('--out <folder>', 'save the result files into this folder')
    .addHelpText(
      'after',
      examples('npm run starter -- bulk status spring-panel --out results'),
    )
    .action(run(bulkStatus));

  withStarterOptions(bulkCommand.command('pause'))
    .description(
      'Pause a bulk onboarding after the rows that are being processed',
    )
    .argument('<job>', 'job id that "bulk" printed, or the workflow id')
    .addHelpText(
      'after',
      examples('npm run starter -- bulk pause spring-panel'),
    )
    .action(
      run((job, options, context) => bulkSteer('pause', job, options, context)),
    );

  withStarterOptions(bulkCommand.command('resume'))
    .description('Resume a paused bulk onboarding')
    .argument('<job>', 'job id that "bulk" printed, or the workflow id')
    .addHelpText(
      'after',
      examples('npm run starter -- bulk resume spring-panel'),
    )
    .action(
      run((job, options, context) =>
        bulkSteer('resume', job, options, context),
      ),
    );

  withFollowing(withStarterOptions(bulkCommand.command('cancel')))
    .description(
      'Cancel a bulk onboarding; rows that were already processed are kept',
    )
    .argument('<job>', 'job id that "bulk" printed, or the workflow id')
    .addHelpText(
      'after',
      examples('npm run starter -- bulk cancel spring-panel'),
    )
    .action(run(bulkCancel));
}
