import { type Command, Option } from 'commander';
import { CONVERSION_TYPES } from '../../contract/consolidated-query.ts';
import { examples } from '../../lib/command-line.ts';
import { exportCancel, exportRecords } from '../commands/export.ts';
import { records } from '../commands/records.ts';
import { viewsList, viewsRun, viewsShow } from '../commands/views.ts';
import type { RunStarter } from './run-starter.ts';
import { withFollowing, withStarterOptions } from './shared-options.ts';

/** Merged records, exports and views. */
export function addRecordCommands(program: Command, run: RunStarter): void {
  withFollowing(withStarterOptions(program.command('records')))
    .description(
      "Save a patient's merged record, as FHIR (json) or as a readable summary (pdf, html)",
    )
    .argument('<patientId>', 'id of the patient')
    .addOption(
      new Option('--format <format>', 'format of the file')
        .choices(CONVERSION_TYPES)
        .default('pdf'),
    )
    .requiredOption('--out <file>', 'file to create')
    .option(
      '--resources <types>',
      'FHIR resource types, separated by commas (default: all)',
    )
    .option('--from <date>', 'first day to include (YYYY-MM-DD)')
    .option('--to <date>', 'last day to include (YYYY-MM-DD)')
    .addHelpText(
      'after',
      examples(
        'npm run starter -- records 0198f1c2-… --format pdf --out record.pdf',
        'npm run starter -- records 0198f1c2-… --format html --from 2024-01-01 --out since-2024.html',
        'npm run starter -- records 0198f1c2-… --format json --resources Condition,Observation --out record.json',
      ),
    )
    .action(run(records));

  const exportCommand = withFollowing(
    withStarterOptions(program.command('export')),
  )
    .description(
      'Export the records of a cohort or of all patients as FHIR (NDJSON), and save the files',
    )
    // Options belong to the command after whose name they stand.
    .enablePositionalOptions()
    .option('--cohort <id>', 'only the patients of this cohort')
    .option(
      '--since <instant>',
      'only what changed after this instant, such as 2026-05-01T12:00:00Z',
    )
    .option(
      '--type <types>',
      'FHIR resource types, separated by commas (default: all)',
    )
    .option(
      '--out <folder>',
      'folder for the files; required unless --no-wait is given',
    )
    .option(
      '--export <id>',
      'go on with an export that was started before: its id, or its status URL',
    )
    .addHelpText(
      'after',
      examples(
        'npm run starter -- export --out export',
        'npm run starter -- export --cohort 0198f1c2-… --type Patient,Condition --out diabetes',
        'npm run starter -- export --since 2026-05-01T12:00:00Z --no-wait --json',
        'npm run starter -- export --export 0198f1c3-… --out export',
      ),
    )
    .action(run(exportRecords));

  withStarterOptions(exportCommand.command('cancel'))
    .description(
      'Cancel an export, or delete the files of a completed one at the exchange',
    )
    .argument('<export>', 'id of the export, or its status URL')
    .addHelpText(
      'after',
      examples('npm run starter -- export cancel 0198f1c3-…'),
    )
    .action(run(exportCancel));

  const views = program
    .command('views')
    .description('Tables over the records, for analysis (SQL on FHIR)');

  withStarterOptions(views.command('list'))
    .description(
      'List the ready-made views: tables over the records (SQL on FHIR)',
    )
    .addHelpText('after', examples('npm run starter -- views list'))
    .action(run(viewsList));

  withStarterOptions(views.command('show'))
    .description('Print the definition of a ready-made view')
    .argument('<view>', 'id of the view')
    .addHelpText(
      'after',
      examples('npm run starter -- views show patients > my-patients.json'),
    )
    .action(run(viewsShow));

  withFollowing(withStarterOptions(views.command('run')))
    .description(
      'Write views of the records of a cohort or of all patients as tables, and save the files',
    )
    .argument(
      '<definitions...>',
      'ids of ready-made views, or JSON files with a ViewDefinition',
    )
    .option('--cohort <id>', 'only the patients of this cohort')
    .addOption(
      new Option('--format <format>', 'format of the files')
        .choices(['parquet', 'csv', 'ndjson'])
        .default('parquet'),
    )
    .option(
      '--since <instant>',
      'only what changed after this instant, and what is gone since a run before it',
    )
    .option(
      '--incremental',
      'only what changed since the last completed run of the same views; everything when there is none',
    )
    .option(
      '--deidentified',
      'without what identifies a person (HIPAA Safe Harbor)',
    )
    .option(
      '--out <folder>',
      'folder for the files; required unless --no-wait is given',
    )
    .addHelpText(
      'after',
      examples(
        'npm run starter -- views run patients conditions --out tables',
        'npm run starter -- views run results --cohort 0198f1c2-… --format csv --out results',
        'npm run starter -- views run my-view.json --deidentified --out research',
        'npm run starter -- views run conditions --incremental --out changes',
      ),
    )
    .action(run(viewsRun));
}
