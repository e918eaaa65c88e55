import type { CommandGroup } from './command-group.ts';
import { type BulkOptions, bulk } from './commands/bulk.ts';
import { bulkCancel, bulkStatus, bulkSteer } from './commands/bulk-control.ts';
import type { CommonOptions, FollowingOptions } from './commands/command.ts';

type Name = 'bulk' | 'bulk-status' | 'bulk-pause' | 'bulk-resume' | 'bulk-cancel';

const JOB = 'job id that "bulk" printed, or the workflow id';

export function addBulkCommands({ run, subcommand, following }: CommandGroup<Name>): void {
  following(
    subcommand(
      'bulk',
      'Onboard a panel of patients: check a CSV, send it, wait until all rows are processed, save the results',
    ),
  )
    .argument(
      '<file.csv>',
      'CSV file; for its columns see docs/interface.md, for an example samples/panel.csv',
    )
    .option('--dry-run', 'report what the exchange would do with each row, without creating anything')
    .option(
      '--send-anyway',
      'send the file although some rows are invalid; those rows fail and are saved for correction',
    )
    .option('--job <id>', 'your id for this job; the same id always means the same job (default: a new id)')
    .option('--out <folder>', 'folder for the result files (default: the folder of the CSV)')
    .action((file: string, options: BulkOptions) => run(options, (context) => bulk(file, options, context)));

  subcommand('bulk-status', 'Show the state of a bulk onboarding')
    .argument('<job>', JOB)
    .option('--out <folder>', 'save the result files into this folder')
    .action((job: string, options: CommonOptions & { out?: string }) =>
      run(options, (context) => bulkStatus(job, options, context)),
    );

  for (const [how, description] of [
    ['pause', 'Pause a bulk onboarding after the rows that are being processed'],
    ['resume', 'Resume a paused bulk onboarding'],
  ] as const)
    subcommand(`bulk-${how}`, description)
      .argument('<job>', JOB)
      .action((job: string, options: CommonOptions) =>
        run(options, (context) => bulkSteer(how, job, options, context)),
      );

  following(subcommand('bulk-cancel', 'Cancel a bulk onboarding; rows that were already processed are kept'))
    .argument('<job>', JOB)
    .action((job: string, options: FollowingOptions) =>
      run(options, (context) => bulkCancel(job, options, context)),
    );
}
