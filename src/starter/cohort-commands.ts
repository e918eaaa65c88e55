import { Option } from 'commander';
import { COHORT_COLORS } from '../contract/cohorts.ts';
import type { CommandGroup } from './command-group.ts';
import {
  type CohortCreateOptions,
  type CohortShowOptions,
  cohortsAdd,
  cohortsCreate,
  cohortsList,
  cohortsRemove,
  cohortsShow,
} from './commands/cohorts.ts';
import type { examples } from './help.ts';
import { wholeNumber } from './option-values.ts';

type Name = `cohorts ${string}` & keyof typeof examples;

export function addCohortCommands({ run, subcommand }: Omit<CommandGroup<Name>, 'following'>): void {
  subcommand('cohorts list', "List the account's cohorts").action((options) =>
    run(options, (context) => cohortsList(options, context)),
  );

  subcommand('cohorts create', 'Create a cohort')
    .argument('<name>', 'name of the cohort')
    .option('--description <text>', 'what the cohort is for')
    .addOption(new Option('--color <color>', 'color of the cohort').choices(COHORT_COLORS))
    .addOption(new Option('--purpose <use>', 'purpose of use').choices(['treatment', 'operations']))
    .option('--adt', 'send webhooks about admissions, transfers and discharges')
    .option('--fills', 'send webhooks about fills that pharmacies report')
    .option('--results', 'send webhooks about results that laboratories report')
    .addOption(
      new Option('--hie <frequency>', 'query the hie source for every patient this often').choices([
        'weekly',
        'biweekly',
        'monthly',
      ]),
    )
    .action((name: string, options: CohortCreateOptions) =>
      run(options, (context) => cohortsCreate(name, options, context)),
    );

  subcommand('cohorts show', 'Show a cohort and its patients')
    .argument('<cohortId>', 'id of the cohort')
    .option('--count <n>', 'how many patients to list', wholeNumber(1, COUNT_MAX), 50)
    .action((id: string, options: CohortShowOptions) =>
      run(options, (context) => cohortsShow(id, options, context)),
    );

  subcommand('cohorts add', 'Add patients to a cohort')
    .argument('<cohortId>', 'id of the cohort')
    .argument('<patientIds...>', 'ids of the patients')
    .action((id, patientIds, options) =>
      run(options, (context) => cohortsAdd(id, patientIds, options, context)),
    );

  subcommand('cohorts remove', 'Remove patients from a cohort')
    .argument('<cohortId>', 'id of the cohort')
    .argument('<patientIds...>', 'ids of the patients')
    .action((id, patientIds, options) =>
      run(options, (context) => cohortsRemove(id, patientIds, options, context)),
    );
}

/** Maximum page size of "List patients of a cohort" (docs/interface.md, Limits). */
const COUNT_MAX = 100;
