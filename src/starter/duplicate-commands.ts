import type { CommandGroup } from './command-group.ts';
import {
  type DuplicateListOptions,
  duplicatesDecide,
  duplicatesList,
  duplicatesShow,
} from './commands/duplicates.ts';
import type { examples } from './help.ts';
import { wholeNumber } from './option-values.ts';

type Name = `duplicates ${string}` & keyof typeof examples;

export function addDuplicateCommands({ run, subcommand }: Omit<CommandGroup<Name>, 'following'>): void {
  subcommand('duplicates list', 'List the pairs that nobody has decided about, newest first')
    .option('--all', 'also those already decided')
    .option('--patient <id>', 'only pairs with this patient')
    .option('--count <n>', 'how many to list', wholeNumber(1, COUNT_MAX), 50)
    .action((options: DuplicateListOptions) => run(options, (context) => duplicatesList(options, context)));

  const one = (name: Name, description: string) =>
    subcommand(name, description).argument('<pair>', 'id of the pair, from "duplicates list"');
  one('duplicates show', 'Show the two patients of a pair side by side').action((id, options) =>
    run(options, (context) => duplicatesShow(id, options, context)),
  );
  one('duplicates accept', 'Mark the two patients as one person; nothing is merged').action((id, options) =>
    run(options, (context) => duplicatesDecide(id, 'accept', context)),
  );
  one('duplicates refuse', 'Mark the two patients as two people').action((id, options) =>
    run(options, (context) => duplicatesDecide(id, 'refuse', context)),
  );
}

const COUNT_MAX = 500;
