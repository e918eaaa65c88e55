import { Option } from 'commander';
import { CONVERSION_TYPES } from '../contract/consolidated-query.ts';
import type { CommandGroup } from './command-group.ts';
import { type RecordsOptions, records } from './commands/records.ts';

export function addRecordCommands({ run, subcommand, following }: CommandGroup<'records'>): void {
  following(
    subcommand(
      'records',
      "Save a patient's merged record, as FHIR (json) or as a readable summary (pdf, html)",
    ),
  )
    .argument('<patientId>', 'id of the patient')
    .addOption(
      new Option('--format <format>', 'format of the file').choices([...CONVERSION_TYPES]).default('pdf'),
    )
    .requiredOption('--out <file>', 'file to create')
    .option('--resources <types>', 'FHIR resource types, separated by commas (default: all)')
    .option('--from <date>', 'first day to include (YYYY-MM-DD)')
    .option('--to <date>', 'last day to include (YYYY-MM-DD)')
    .action((patientId: string, options: RecordsOptions) =>
      run(options, (context) => records(patientId, options, context)),
    );
}
