import type { Command } from 'commander';
import { type BulkOptions, bulk } from './commands/bulk.ts';
import { bulkCancel, bulkStatus, bulkSteer } from './commands/bulk-control.ts';
import type { CommandContext, CommonOptions, FollowingOptions } from './commands/command.ts';
import type { CommandResult } from './terminal.ts';

/** What the program gives to each group of commands. */
interface ProgramParts {
  run(common: CommonOptions, command: (context: CommandContext) => Promise<CommandResult>): Promise<void>;
  subcommand(
    name: 'bulk' | 'bulk-status' | 'bulk-pause' | 'bulk-resume' | 'bulk-cancel',
    description: string,
  ): Command;
  following(command: Command): Command;
}

const JOB = 'your id of the job, or its workflow id';

export function addBulkCommands({ run, subcommand, following }: ProgramParts): void {
  following(
    subcommand(
      'bulk',
      'Onboard a panel: check a CSV, send it, wait until its rows are handled, save what came of each',
    ),
  )
    .argument('<file.csv>', 'columns as in docs/interface.md; samples/panel.csv is one')
    .option('--dry-run', 'ask the exchange what it would do with each row; nothing is created')
    .option('--send-anyway', 'also when rows break a rule: the others go in, these come back to correct')
    .option('--job <id>', 'your id of this job: the same id and file is the same job (default: a new one)')
    .option('--out <folder>', 'for the files that come of it (default: next to the CSV)')
    .action((file: string, options: BulkOptions) => run(options, (context) => bulk(file, options, context)));

  subcommand('bulk-status', 'How a bulk onboarding stands')
    .argument('<job>', JOB)
    .option('--out <folder>', 'save the files that came of it there')
    .action((job: string, options: CommonOptions & { out?: string }) =>
      run(options, (context) => bulkStatus(job, options, context)),
    );

  for (const [how, description] of [
    ['pause', 'Pause a bulk onboarding: the exchange stops after the rows it has in hand'],
    ['resume', 'Let a paused bulk onboarding go on'],
  ] as const)
    subcommand(`bulk-${how}`, description)
      .argument('<job>', JOB)
      .action((job: string, options: CommonOptions) =>
        run(options, (context) => bulkSteer(how, job, options, context)),
      );

  following(subcommand('bulk-cancel', 'Cancel a bulk onboarding; rows that were handled stay'))
    .argument('<job>', JOB)
    .action((job: string, options: FollowingOptions) =>
      run(options, (context) => bulkCancel(job, options, context)),
    );
}
