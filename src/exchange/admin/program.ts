import { Command, CommanderError, Option } from 'commander';
import { SOURCE_TYPES } from '../../contract/primitives.ts';
import { SCOPES } from '../../contract/scope.ts';
import { changeAccountCommand, createAccountCommand, listAccountsCommand } from './accounts.ts';
import { listClientsCommand, registerClientCommand, revokeClientCommand } from './clients.ts';
import { withConnectionSettings, withCredentials } from './connection-flags.ts';
import {
  checkConnectionCommand,
  createConnectionCommand,
  deleteConnectionCommand,
  enableConnectionCommand,
  listConnectionsCommand,
  registerConnectionCommand,
  rotateConnectionCommand,
  setConnectionCommand,
  showConnectionCommand,
} from './connections.ts';
import { disclosuresCommand } from './disclosures.ts';
import { revokeEmbedTokenCommand } from './embed-tokens.ts';
import { createFacilityCommand, listFacilitiesCommand } from './facilities.ts';
import { liftHoldCommand, listHoldsCommand, placeHoldCommand } from './holds.ts';
import { createKeyCommand, listKeysCommand, revokeKeyCommand } from './keys.ts';
import { retentionReportCommand, runRetentionCommand, setRetentionCommand } from './retention.ts';
import { listSigningKeysCommand, rotateSigningKeysCommand } from './signing-keys.ts';
import { listSourcesCommand, pauseSourceCommand, resumeSourceCommand } from './sources.ts';
import { addAuditCommands, addBlobCommands } from './storage-commands.ts';
import { ofAccount, type RunAlone, type RunCommand, subcommand } from './subcommand.ts';

export interface ProgramStreams {
  out(text: string): void;
  err(text: string): void;
}

const WHERE = [
  'Works directly on the database: on DATABASE_URL if it is set, else on the running embedded stack of the data folder',
  '(npm start). Access to either is sufficient for all commands, and there is no other way to create accounts and keys.',
  'Every change is recorded in the audit of the account, with the actor "admin".',
  '',
  'Exit codes: 0 done · 1 error · 2 invalid options, not found or rejected · 3 the audit, the blobs, or a checked connection have a fault',
].join('\n');

/** The command line of `npm run admin`. Each command ends in one call of `run`. */
export function createAdminProgram(
  run: RunCommand,
  runAlone: RunAlone,
  { out, err }: ProgramStreams,
): Command {
  const program = new Command('admin')
    .description('Manages accounts, their facilities, API keys and connections, and their audit.')
    .exitOverride()
    .configureOutput({ writeOut: out, writeErr: err })
    .showHelpAfterError('(use --help to show the options)')
    .addHelpText('after', `\n${WHERE}`);
  addAccountCommands(group(program, 'accounts', 'Accounts and their settings'), run);
  addFacilityCommands(group(program, 'facilities', 'Facilities of an account'), run);
  addKeyCommands(group(program, 'keys', 'API keys of an account'), run);
  addClientCommands(group(program, 'clients', 'Clients of the FHIR API with keys of their own'), run);
  addEmbedTokenCommands(group(program, 'embed-tokens', 'Tokens of the embedded patient page'), run);
  addSourceCommands(group(program, 'sources', 'Sources of all accounts: their state, pause and resume'), run);
  addConnectionCommands(group(program, 'connections', 'Connections of an account to its networks'), run);
  addSigningKeyCommands(group(program, 'signing-keys', 'Keys with which we sign for sources'), run);
  addHoldCommands(group(program, 'holds', 'Legal holds on patients'), run);
  addDisclosureCommands(group(program, 'disclosures', 'Who was given the data of a patient'), run);
  addRetentionCommands(group(program, 'retention', 'How long data is kept'), run);
  addAuditCommands(group(program, 'audit', 'The audit trail of an account'), run);
  addBlobCommands(
    group(program, 'blobs', 'The stored content of documents, uploads and results'),
    run,
    runAlone,
    err,
  );
  return program;
}

const group = (program: Command, name: string, description: string): Command =>
  program.command(name).description(description);

function addAccountCommands(accounts: Command, run: RunCommand): void {
  withSettings(subcommand(accounts, 'create', 'Create an account, without a key'))
    .requiredOption('--name <name>', 'display name')
    .action((options) => run(options, (target) => createAccountCommand(target, options)));
  subcommand(accounts, 'list', 'List all accounts').action((options) => run(options, listAccountsCommand));
  withSettings(subcommand(accounts, 'set', 'Change the given settings, and show all of them'))
    .argument('<account>', 'id of the account')
    .option('--name <name>', 'display name')
    .action((id, options) => run(options, (target) => changeAccountCommand(target, id, options)));
}

const withSettings = (command: Command): Command =>
  command
    .addOption(
      new Option(
        '--dialect <dialect>',
        'interface: the interface to the letter; published: compatible with existing clients',
      ).choices(['interface', 'published']),
    )
    .option('--sources <names>', 'enabled sources, separated by commas, or none (new account: all)')
    .option('--bulk-sources <names>', 'sources of the queries after a bulk create (default: hie)')
    .option('--requests-per-minute <n>', 'limit of requests (default: 1200)')
    .option('--network-queries-per-minute <n>', 'limit of network queries per source (default: 120)')
    .option('--pharmacy-realtime-per-day <n>', 'limit of realtime pharmacy queries (default: 1000)')
    .option('--consolidated-queries-per-minute <n>', 'limit of consolidated queries (default: 120)')
    .option('--messages-per-minute <n>', 'limit of messages sent (default: 60)')
    .option('--monitoring-hours <from-to>', 'hours in which scheduled monitoring may start (default: 1-5)')
    .option('--monitoring-time-zone <zone>', 'time zone of these hours (default: America/New_York)')
    .option(
      '--frame-ancestors <origins>',
      'origins whose pages may embed the patient view, separated by commas, or none',
    );

function addFacilityCommands(facilities: Command, run: RunCommand): void {
  ofAccount(subcommand(facilities, 'create', 'Create a facility; its OID is assigned'))
    .requiredOption('--name <name>', 'name shown to callers')
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
  ofAccount(subcommand(facilities, 'list', 'List the facilities of an account')).action((options) =>
    run(options, (target) => listFacilitiesCommand(target, options.account)),
  );
}

function addEmbedTokenCommands(embedTokens: Command, run: RunCommand): void {
  subcommand(embedTokens, 'revoke', 'Revoke one token; to revoke all tokens of an API key, revoke the key')
    .argument('<token>', 'the token, or its id from the audit')
    .action((token, options) => run(options, (target) => revokeEmbedTokenCommand(target, token)));
}

function addKeyCommands(keys: Command, run: RunCommand): void {
  ofAccount(subcommand(keys, 'create', 'Create a key and show it once; existing keys stay valid'))
    .option('--label <text>', 'purpose of the key')
    .option('--scopes <names>', `separated by commas: ${SCOPES.join(', ')}`, 'read,write')
    .option('--expires <when>', '90d, 2027-01-31 or 2027-01-31T12:00:00Z (default: never)')
    .action((options) => run(options, (target) => createKeyCommand(target, options)));
  ofAccount(
    subcommand(keys, 'list', 'List the keys of an account; the keys themselves are not stored'),
  ).action((options) => run(options, (target) => listKeysCommand(target, options.account)));
  subcommand(keys, 'revoke', 'Revoke a key and the embed tokens created with it')
    .argument('<key>', 'id of the key, or its prefix (mdx_ and eight characters)')
    .action((key, options) => run(options, (target) => revokeKeyCommand(target, key)));
}

function addSourceCommands(sources: Command, run: RunCommand): void {
  subcommand(sources, 'list', 'Show which sources are called, why not, and how many queries wait').action(
    (options) => run(options, listSourcesCommand),
  );
  subcommand(sources, 'pause', 'Stop all calls to a source; its queries wait, and their deadlines continue')
    .argument('<source>', 'hie, pharmacy or lab')
    .requiredOption('--by <name>', 'your name')
    .requiredOption('--reason <text>', 'why, without patient data; shown to callers whose queries wait')
    .action((source, options) => run(options, (target) => pauseSourceCommand(target, source, options)));
  subcommand(sources, 'resume', 'End a pause')
    .argument('<source>', 'hie, pharmacy or lab')
    .action((source, options) => run(options, (target) => resumeSourceCommand(target, source)));
}

function addConnectionCommands(connections: Command, run: RunCommand): void {
  withConnectionSettings(
    withCredentials(ofAccount(subcommand(connections, 'create', 'Connect the account to a network'))),
  )
    .requiredOption('--source <kind>', `kind of source: ${SOURCE_TYPES.join(', ')}`)
    .requiredOption('--name <name>', 'name shown in timelines')
    .requiredOption('--base-url <url>', 'FHIR R4 base address')
    .option('--replaces-default', 'it is the server that the environment variables named so far')
    .option('--paused', 'create it paused')
    .action(({ dataDir, json: _, ...options }) =>
      run({ dataDir }, (target) => createConnectionCommand(target, options)),
    );
  subcommand(connections, 'list', 'List connections; their credentials are not shown')
    .option('--account <id>', 'of this account only')
    .action((options) => run(options, (target) => listConnectionsCommand(target, options.account)));
  const one = (name: string, description: string) =>
    subcommand(connections, name, description).argument('<connection>', 'id of the connection');
  one('show', 'Show the settings of a connection').action((id, options) =>
    run(options, (target) => showConnectionCommand(target, id)),
  );
  one('register', 'udap: register us at the authorization server, and store the client id').action(
    (id, options) => run(options, (target) => registerConnectionCommand(target, id)),
  );
  one('check', 'Try the connection: token, metadata, and a patient')
    .option('--patient <id>', 'a patient of the account that the network knows')
    .action((id, options) => run(options, (target) => checkConnectionCommand(target, id, options.patient)));
  withCredentials(one('rotate', 'Replace all credentials of a connection')).action(
    (id, { dataDir, json: _, ...options }) =>
      run({ dataDir }, (target) => rotateConnectionCommand(target, id, options)),
  );
  withConnectionSettings(
    one('set', 'Change the named settings of a connection; the value "default" restores the default'),
  ).action((id, { dataDir, json: _, ...options }) =>
    run({ dataDir }, (target) => setConnectionCommand(target, id, options)),
  );
  one('pause', 'Call the connection no more until it is resumed').action((id, options) =>
    run(options, (target) => enableConnectionCommand(target, id, false)),
  );
  one('resume', 'Call the connection again').action((id, options) =>
    run(options, (target) => enableConnectionCommand(target, id, true)),
  );
  one('delete', 'Delete a connection; what it delivered stays').action((id, options) =>
    run(options, (target) => deleteConnectionCommand(target, id)),
  );
}

function addSigningKeyCommands(signingKeys: Command, run: RunCommand): void {
  subcommand(signingKeys, 'list', 'List the keys of our JWKS').action((options) =>
    run(options, listSigningKeysCommand),
  );
  subcommand(
    signingKeys,
    'rotate',
    'Create new keys; they sign after 24 hours, and the old ones end after 48',
  )
    .option('--at-once', 'for keys that are no longer secret: the old ones end now')
    .action((options) => run(options, (target) => rotateSigningKeysCommand(target, options.atOnce === true)));
}

function addClientCommands(clients: Command, run: RunCommand): void {
  ofAccount(subcommand(clients, 'register', 'Register a client (SMART Backend Services), and show its id'))
    .option('--label <text>', 'purpose of the client')
    .option('--jwks-url <url>', 'https address at which the client publishes its public keys')
    .option('--jwks-file <file>', 'file with its public keys, if it publishes none')
    .option('--scopes <names>', 'separated by blanks: system/*.rs, system/Observation.rs, …', 'system/*.rs')
    .action((options) => run(options, (target) => registerClientCommand(target, options)));
  ofAccount(subcommand(clients, 'list', 'List the clients of an account')).action((options) =>
    run(options, (target) => listClientsCommand(target, options.account)),
  );
  subcommand(clients, 'revoke', 'Revoke a client and its tokens')
    .argument('<client>', 'id of the client')
    .action((client, options) => run(options, (target) => revokeClientCommand(target, client)));
}

const stated = (command: Command): Command =>
  command
    .requiredOption('--by <name>', 'your name; recorded permanently in the audit')
    .requiredOption('--reason <text>', 'why, without patient data; recorded permanently');

function addDisclosureCommands(disclosures: Command, run: RunCommand): void {
  ofAccount(subcommand(disclosures, 'report', 'Accounting of disclosures of a patient, as CSV (or --json)'))
    .requiredOption('--patient <id>', 'id of the patient, who may have been deleted')
    .option(
      '--from <time>',
      'first time, inclusive: 2026-11-21 (UTC) or 2026-11-21T12:00:00Z (default: 6 years back)',
    )
    .option('--to <time>', 'last time, exclusive, in the same format (default: now)')
    .action((options) => run(options, (target) => disclosuresCommand(target, options)));
}

function addRetentionCommands(retention: Command, run: RunCommand): void {
  subcommand(retention, 'report', 'Show the rule of each kind of data, and what it would remove now').action(
    (options) => run(options, retentionReportCommand),
  );
  stated(subcommand(retention, 'set', 'Set how long a kind of data is kept, in all accounts'))
    .argument('<kind>', 'kind of data, from "retention report"')
    .option('--days <n>', 'remove it after so many days, at least 30')
    .option('--forever', 'keep it for ever, as without a rule')
    .action((kind, options) => run(options, (target) => setRetentionCommand(target, kind, options)));
  subcommand(retention, 'run', 'Apply the rules now; workers do it once a day')
    .option('--dry-run', 'only show what would be removed')
    .action((options) => run(options, (target) => runRetentionCommand(target, options)));
}

function addHoldCommands(holds: Command, run: RunCommand): void {
  stated(ofAccount(subcommand(holds, 'place', 'Keep a patient and everything about the patient')))
    .requiredOption('--patient <id>', 'id of the patient')
    .action((options) => run(options, (target) => placeHoldCommand(target, options)));
  ofAccount(subcommand(holds, 'list', 'List the holds in force')).action((options) =>
    run(options, (target) => listHoldsCommand(target, options.account)),
  );
  stated(subcommand(holds, 'lift', 'End a hold; other holds on the same patient stay in force'))
    .argument('<hold>', 'id of the hold')
    .action((hold, options) => run(options, (target) => liftHoldCommand(target, hold, options)));
}

export const isUsageError = (error: unknown): error is CommanderError => error instanceof CommanderError;
