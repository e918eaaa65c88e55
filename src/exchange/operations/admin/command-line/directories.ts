import type { Command } from 'commander';
import { wholeNumber } from '../../../../lib/option-values.ts';
import {
  deleteDirectoryCommand,
  findEntriesCommand,
  listDirectoriesCommand,
  loadDirectoryCommand,
  refreshDirectoryCommand,
  showDirectoryCommand,
  stopDirectoryCommand,
} from '../directories.ts';
import type { RunAdmin } from './run-admin.ts';
import { withAdminOptions } from './shared-options.ts';

/** The directories of networks. */
export function addDirectoryCommands(program: Command, run: RunAdmin): void {
  const directory = program
    .command('directory')
    .description('Directories of networks: who is in them, and who answers');

  withSecret(withAdminOptions(directory.command('load')))
    .description(
      'Load a directory: a Bundle, NDJSON, or the address of a search on a FHIR server',
    )
    .argument('<name>', 'name of the directory, such as carequality')
    .argument('<from>', 'file or address')
    .action(run(loadDirectoryCommand));

  withSecret(withAdminOptions(directory.command('refresh')))
    .description('Load a directory now and again and again, in a workflow')
    .argument('<name>', 'name of the directory')
    .requiredOption('--from <address>', 'file or address that workers can read')
    .option(
      '--every-hours <n>',
      'how often (default: 24)',
      wholeNumber(1, 720),
      24,
    )
    .action(run(refreshDirectoryCommand));

  withAdminOptions(directory.command('stop'))
    .description('Refresh a directory no more; its entries stay')
    .argument('<name>', 'name of the directory')
    .action(run(stopDirectoryCommand));

  withAdminOptions(directory.command('delete'))
    .description('Delete a directory with its entries')
    .argument('<name>', 'name of the directory')
    .action(run(deleteDirectoryCommand));

  withAdminOptions(directory.command('list'))
    .description('List the directories')
    .action(run(listDirectoriesCommand));

  withAdminOptions(directory.command('show'))
    .description(
      'Show the loads of a directory, and what was refused or mended',
    )
    .argument('<name>', 'name of the directory')
    .action(run(showDirectoryCommand));

  withAdminOptions(directory.command('find'))
    .description('Find entries by place, name, NPI or OID')
    .option('--directory <name>', 'in this directory only')
    .option('--name <text>', 'a part of the name')
    .option('--city <city>', 'city')
    .option('--state <code>', 'two letters')
    .option('--zip <digits>', 'zip code, or its beginning')
    .option('--npi <number>', 'NPI')
    .option('--oid <oid>', 'home community')
    .option('--id <id>', 'id in the directory')
    .option('--count <n>', 'how many to list', wholeNumber(1, 500), 50)
    .action(run(findEntriesCommand));
}

const withSecret = (command: Command): Command =>
  command.option(
    '--secret-file <file>',
    'file with the Authorization header of the requests',
  );
