import { type Command, Option } from 'commander';
import { COHORT_COLORS } from '../../contract/cohorts.ts';
import { examples } from '../../lib/command-line.ts';
import { wholeNumber } from '../../lib/option-values.ts';
import {
  cohortsAdd,
  cohortsCreate,
  cohortsList,
  cohortsRemove,
  cohortsShow,
} from '../commands/cohorts.ts';
import {
  duplicatesDecide,
  duplicatesList,
  duplicatesShow,
} from '../commands/duplicates.ts';
import { patientsList, patientsShow } from '../commands/patients.ts';
import type { RunStarter } from './run-starter.ts';
import { withStarterOptions } from './shared-options.ts';

/** Patients, possible duplicates and cohorts. */
export function addPatientCommands(program: Command, run: RunStarter): void {
  const patients = program
    .command('patients')
    .description('Patients of the account');

  withStarterOptions(patients.command('list'))
    .description("List the account's patients, newest first")
    .option('--count <n>', 'how many to list', wholeNumber(1, 500), 50)
    .addHelpText(
      'after',
      examples(
        'npm run starter -- patients list',
        'npm run starter -- patients list --count 500 --json',
      ),
    )
    .action(run((options, context) => patientsList([], options, context)));

  withStarterOptions(patients.command('find'))
    .description(
      'Find patients by words in their names, dates of birth, ids, contacts and addresses',
    )
    .argument('<words...>', 'words, all of which must occur')
    .option('--count <n>', 'how many to list', wholeNumber(1, 500), 50)
    .addHelpText(
      'after',
      examples(
        'npm run starter -- patients find kiehn 02108',
        'npm run starter -- patients find chart-20481',
      ),
    )
    .action(run(patientsList));

  withStarterOptions(patients.command('show'))
    .description('Show a patient with cohorts and latest queries')
    .argument('<patientId>', 'id of the patient')
    .addHelpText(
      'after',
      examples('npm run starter -- patients show 0198f1c2-…'),
    )
    .action(run(patientsShow));

  const duplicates = program
    .command('duplicates')
    .description('Patients that may be one person');

  withStarterOptions(duplicates.command('list'))
    .description('List the undecided pairs, newest first')
    .option('--all', 'also those already decided')
    .option('--patient <id>', 'only pairs with this patient')
    .option('--count <n>', 'how many to list', wholeNumber(1, 500), 50)
    .addHelpText(
      'after',
      examples(
        'npm run starter -- duplicates list',
        'npm run starter -- duplicates list --patient 0198f1c2-… --all --json',
      ),
    )
    .action(run(duplicatesList));

  withStarterOptions(duplicates.command('show'))
    .description('Show the two patients of a pair side by side')
    .argument('<pair>', 'id of the pair, from "duplicates list"')
    .addHelpText(
      'after',
      examples('npm run starter -- duplicates show 0198f1c2-…'),
    )
    .action(run(duplicatesShow));

  withStarterOptions(duplicates.command('accept'))
    .description('Mark the two patients as one person; nothing is merged')
    .argument('<pair>', 'id of the pair, from "duplicates list"')
    .addHelpText(
      'after',
      examples('npm run starter -- duplicates accept 0198f1c2-…'),
    )
    .action(run((id, _, context) => duplicatesDecide(id, 'accept', context)));

  withStarterOptions(duplicates.command('refuse'))
    .description('Mark the two patients as two people')
    .argument('<pair>', 'id of the pair, from "duplicates list"')
    .addHelpText(
      'after',
      examples('npm run starter -- duplicates refuse 0198f1c2-…'),
    )
    .action(run((id, _, context) => duplicatesDecide(id, 'refuse', context)));

  const cohorts = program.command('cohorts').description('Groups of patients');

  withStarterOptions(cohorts.command('list'))
    .description("List the account's cohorts")
    .addHelpText('after', examples('npm run starter -- cohorts list'))
    .action(run(cohortsList));

  withStarterOptions(cohorts.command('create'))
    .description('Create a cohort')
    .argument('<name>', 'name of the cohort')
    .option('--description <text>', 'what the cohort is for')
    .addOption(
      new Option('--color <color>', 'color of the cohort').choices(
        COHORT_COLORS,
      ),
    )
    .addOption(
      new Option('--purpose <use>', 'purpose of use').choices([
        'treatment',
        'operations',
      ]),
    )
    .option('--adt', 'send webhooks about admissions, transfers and discharges')
    .option('--fills', 'send webhooks about fills that pharmacies report')
    .option('--results', 'send webhooks about results that laboratories report')
    .addOption(
      new Option(
        '--hie <frequency>',
        'query the hie source for every patient this often',
      ).choices(['weekly', 'biweekly', 'monthly']),
    )
    .addHelpText(
      'after',
      examples(
        'npm run starter -- cohorts create "Diabetes, high risk" --adt',
        'npm run starter -- cohorts create Panel --hie monthly --json',
      ),
    )
    .action(run(cohortsCreate));

  withStarterOptions(cohorts.command('show'))
    .description('Show a cohort and its patients')
    .argument('<cohortId>', 'id of the cohort')
    .option('--count <n>', 'how many patients to list', wholeNumber(1, 100), 50)
    .addHelpText(
      'after',
      examples('npm run starter -- cohorts show 0198f1c2-…'),
    )
    .action(run(cohortsShow));

  withStarterOptions(cohorts.command('add'))
    .description('Add patients to a cohort')
    .argument('<cohortId>', 'id of the cohort')
    .argument('<patientIds...>', 'ids of the patients')
    .addHelpText(
      'after',
      examples(
        'npm run starter -- cohorts add 0198f1c2-… 0198f1c3-… 0198f1c4-…',
      ),
    )
    .action(run(cohortsAdd));

  withStarterOptions(cohorts.command('remove'))
    .description('Remove patients from a cohort')
    .argument('<cohortId>', 'id of the cohort')
    .argument('<patientIds...>', 'ids of the patients')
    .addHelpText(
      'after',
      examples('npm run starter -- cohorts remove 0198f1c2-… 0198f1c3-…'),
    )
    .action(run(cohortsRemove));
}
