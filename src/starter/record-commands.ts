import { type Command, Option } from 'commander';
import { CONVERSION_TYPES } from '../contract/consolidated-query.ts';
import type { CommandContext, CommonOptions } from './commands/command.ts';
import { type RecordsOptions, records } from './commands/records.ts';
import type { CommandResult } from './terminal.ts';

/** What the program gives to each group of commands. */
interface ProgramParts {
  run(common: CommonOptions, command: (context: CommandContext) => Promise<CommandResult>): Promise<void>;
  subcommand(name: 'records', description: string): Command;
  following(command: Command): Command;
}

export function addRecordCommands({ run, subcommand, following }: ProgramParts): void {
  following(
    subcommand('records', "Save a patient's merged record: as FHIR, or as a medical record summary to read"),
  )
    .argument('<patientId>', 'id of the patient')
    .addOption(
      new Option('--format <format>', 'form of the record').choices([...CONVERSION_TYPES]).default('pdf'),
    )
    .requiredOption('--out <file>', 'where to save it')
    .option('--resources <types>', 'FHIR resource types, separated by commas (default: all)')
    .option('--from <date>', 'YYYY-MM-DD, first day that counts')
    .option('--to <date>', 'YYYY-MM-DD, last day that counts')
    .action((patientId: string, options: RecordsOptions) =>
      run(options, (context) => records(patientId, options, context)),
    );
}
