import type { CommandGroup } from './command-group.ts';
import { type PatientListOptions, patientsList, patientsShow } from './commands/patients.ts';
import type { examples } from './help.ts';
import { wholeNumber } from './option-values.ts';

type Name = `patients ${string}` & keyof typeof examples;

export function addPatientCommands({ run, subcommand }: Omit<CommandGroup<Name>, 'following'>): void {
  subcommand('patients list', "List the account's patients, newest first")
    .option('--count <n>', 'how many to list', wholeNumber(1, COUNT_MAX), 50)
    .action((options: PatientListOptions) => run(options, (context) => patientsList([], options, context)));

  subcommand(
    'patients find',
    'Find patients by words in their names, dates of birth, ids, contacts and addresses',
  )
    .argument('<words...>', 'words, all of which must occur')
    .option('--count <n>', 'how many to list', wholeNumber(1, COUNT_MAX), 50)
    .action((words: string[], options: PatientListOptions) =>
      run(options, (context) => patientsList(words, options, context)),
    );

  subcommand('patients show', 'Show a patient with cohorts and latest queries')
    .argument('<patientId>', 'id of the patient')
    .action((id, options) => run(options, (context) => patientsShow(id, options, context)));
}

const COUNT_MAX = 500;
