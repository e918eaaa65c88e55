import { Command, CommanderError, Option } from 'commander';
import { SCOPES } from '../../contract/scope.ts';
import { changeAccountCommand, createAccountCommand, listAccountsCommand } from './accounts.ts';
import { acceptLossCommand, exportAuditCommand, verifyAuditCommand } from './audit.ts';
import type { AdminResult, AdminTarget } from './command.ts';
import { revokeEmbedTokenCommand } from './embed-tokens.ts';
import { createFacilityCommand, listFacilitiesCommand } from './facilities.ts';
import { createKeyCommand, listKeysCommand, revokeKeyCommand } from './keys.ts';

/** Opens the target of a command, runs it, shows what it answers. */
export type RunCommand = (
  options: CommonOptions,
  command: (target: AdminTarget) => Promise<AdminResult>,
) => Promise<void>;

export interface CommonOptions {
  dataDir?: string;
}

export interface ProgramStreams {
  out(text: string): void;
  err(text: string): void;
}

const WHERE = [
  'Works on the database itself: on DATABASE_URL when that is set, else on the stack that runs on the data folder',
  '(npm start). Whoever may read the one or the other may do everything here; there is no other way to make accounts',
  'and keys. What is done is in the audit of the account, as "admin".',
  '',
  'Exit codes: 0 done · 1 error · 2 wrong options, refused, or nothing there · 3 the audit is not whole',
].join('\n');

/** The command line of `npm run admin`. Each command ends in one call of `run`. */
export function createAdminProgram(run: RunCommand, { out, err }: ProgramStreams): Command {
  const program = new Command('admin')
    .description('Accounts, their facilities and API keys, and their audit.')
    .exitOverride()
    .configureOutput({ writeOut: out, writeErr: err })
    .showHelpAfterError('(--help shows the options)')
    .addHelpText('after', `\n${WHERE}`);
  addAccountCommands(group(program, 'accounts', 'Who may use the exchange, and how'), run);
  addFacilityCommands(group(program, 'facilities', 'Where patients of an account receive care'), run);
  addKeyCommands(group(program, 'keys', 'API keys of an account'), run);
  addEmbedTokenCommands(group(program, 'embed-tokens', 'Tokens of the embedded patient page'), run);
  addAuditCommands(group(program, 'audit', 'Who did what to which patient'), run);
  return program;
}

const group = (program: Command, name: string, description: string): Command =>
  program.command(name).description(description);

const subcommand = (parent: Command, name: string, description: string): Command =>
  parent
    .command(name)
    .description(description)
    .option('--data-dir <folder>', 'data folder of the running stack (default: DATA_DIR, else .data)')
    .option('--json', 'one JSON document on stdout');

const ofAccount = (command: Command): Command =>
  command.requiredOption('--account <id>', 'the account: see "accounts list"');

function addAccountCommands(accounts: Command, run: RunCommand): void {
  withSettings(subcommand(accounts, 'create', 'Make an account; it has no key yet'))
    .requiredOption('--name <name>', 'for people')
    .action((options) => run(options, (target) => createAccountCommand(target, options)));
  subcommand(accounts, 'list', 'Every account').action((options) => run(options, listAccountsCommand));
  withSettings(subcommand(accounts, 'set', 'Change what is named, and show the settings'))
    .argument('<account>', 'id of the account')
    .option('--name <name>', 'for people')
    .action((id, options) => run(options, (target) => changeAccountCommand(target, id, options)));
}

const withSettings = (command: Command): Command =>
  command
    .addOption(
      new Option(
        '--dialect <dialect>',
        'interface: exactly the interface; published: as clients in the field expect it',
      ).choices(['interface', 'published']),
    )
    .option('--sources <names>', 'sources it may ask, separated by commas, or none (new account: all)')
    .option('--bulk-sources <names>', 'sources that the queries after a bulk create ask (default: hie)')
    .option('--requests-per-minute <n>', 'limit of requests (default: 1200)')
    .option('--network-queries-per-minute <n>', 'limit of network queries of each source (default: 120)')
    .option('--consolidated-queries-per-minute <n>', 'limit of consolidated queries (default: 120)')
    .option('--messages-per-minute <n>', 'limit of messages sent (default: 60)')
    .option('--monitoring-hours <from-to>', 'hours in which scheduled monitoring may start (default: 1-5)')
    .option('--monitoring-time-zone <zone>', 'of these hours (default: America/New_York)')
    .option(
      '--frame-ancestors <origins>',
      'whose pages may embed the patient view, separated by commas, or none',
    );

function addFacilityCommands(facilities: Command, run: RunCommand): void {
  ofAccount(subcommand(facilities, 'create', 'Make a facility; its OID is assigned'))
    .requiredOption('--name <name>', 'as callers see it')
    .requiredOption('--npi <npi>', 'National Provider Identifier, 10 digits')
    .option('--tin <tin>', 'tax identification number')
    .requiredOption('--address-line1 <text>', 'street and number')
    .option('--address-line2 <text>', 'suite, floor')
    .requiredOption('--city <text>', 'city')
    .requiredOption('--state <code>', 'two letters')
    .requiredOption('--zip <zip>', '5 digits, or ZIP+4')
    .action(({ dataDir, json: _, ...options }) =>
      run({ dataDir }, (target) => createFacilityCommand(target, options)),
    );
  ofAccount(subcommand(facilities, 'list', 'Its facilities')).action((options) =>
    run(options, (target) => listFacilitiesCommand(target, options.account)),
  );
}

function addEmbedTokenCommands(embedTokens: Command, run: RunCommand): void {
  subcommand(embedTokens, 'revoke', 'End one at once; revoking its API key ends all that it made')
    .argument('<token>', 'the token, or its id as the audit has it')
    .action((token, options) => run(options, (target) => revokeEmbedTokenCommand(target, token)));
}

function addKeyCommands(keys: Command, run: RunCommand): void {
  ofAccount(subcommand(keys, 'create', 'Make a key and show it once; the ones there are stay good'))
    .option('--label <text>', 'what it is for')
    .option('--scopes <names>', `separated by commas: ${SCOPES.join(', ')}`, 'read,write')
    .option('--expires <when>', '90d, 2027-01-31 or 2027-01-31T12:00:00Z (default: never)')
    .action((options) => run(options, (target) => createKeyCommand(target, options)));
  ofAccount(subcommand(keys, 'list', 'Its keys, by prefix; the keys themselves are not stored')).action(
    (options) => run(options, (target) => listKeysCommand(target, options.account)),
  );
  subcommand(keys, 'revoke', 'End a key at once, and the embed tokens made with it')
    .argument('<key>', 'its id, or its prefix (mdx_ and eight characters)')
    .action((key, options) => run(options, (target) => revokeKeyCommand(target, key)));
}

function addAuditCommands(audit: Command, run: RunCommand): void {
  ofAccount(subcommand(audit, 'export', 'FHIR AuditEvents, one a line, oldest first'))
    .option('--from <time>', '2026-11-21 (UTC) or 2026-11-21T12:00:00Z, included')
    .option('--to <time>', 'the same, not included')
    .option('--out <file>', 'a new file instead of stdout')
    .action((options) => run(options, (target) => exportAuditCommand(target, options)));
  subcommand(audit, 'verify', 'Whether every entry is as it was written; tells the first that is not')
    .option('--account <id>', 'of this account only')
    .action((options) => run(options, (target) => verifyAuditCommand(target, options.account)));
  subcommand(
    audit,
    'accept-loss',
    'After a restore: entries written since the backup are lost, and that is known',
  )
    .option('--account <id>', 'of this account')
    .option('--all', 'of every account from which some are lost')
    .requiredOption('--by <name>', 'who says so; stands in the audit for good')
    .requiredOption('--reason <text>', 'which restore and why, nothing about a patient; stands there too')
    .action((options) => run(options, (target) => acceptLossCommand(target, options)));
}

export const isUsageError = (error: unknown): error is CommanderError => error instanceof CommanderError;
