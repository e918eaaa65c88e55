import type { CommandGroup } from './command-group.ts';
import type { CommonOptions } from './commands/command.ts';
import { type ExportOptions, exportCancel, exportRecords } from './commands/export.ts';

type Name = 'export' | 'export-cancel';

export function addExportCommands({ run, subcommand, following }: CommandGroup<Name>): void {
  following(
    subcommand(
      'export',
      'Export the records of a cohort or of all patients as FHIR (NDJSON), and save the files',
    ),
  )
    .option('--cohort <id>', 'only the patients of this cohort')
    .option('--since <instant>', 'only what changed after this instant, such as 2026-05-01T12:00:00Z')
    .option('--type <types>', 'FHIR resource types, separated by commas (default: all)')
    .option('--out <folder>', 'folder for the files; required unless --no-wait is given')
    .option('--export <id>', 'go on with an export that was started before: its id, or its status URL')
    .action((options: ExportOptions) => run(options, (context) => exportRecords(options, context)));

  subcommand('export-cancel', 'Cancel an export, or delete the files of a completed one at the exchange')
    .argument('<export>', 'id of the export, or its status URL')
    .action((id: string, options: CommonOptions) =>
      run(options, (context) => exportCancel(id, options, context)),
    );
}
