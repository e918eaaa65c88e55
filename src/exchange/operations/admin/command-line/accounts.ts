import type { Command } from 'commander';
import { SCOPES } from '../../../../contract/scope.ts';
import {
  changeAccountCommand,
  createAccountCommand,
  createFacilityCommand,
  labelCodesCommand,
  listAccountsCommand,
  listFacilitiesCommand,
} from '../accounts.ts';
import {
  listClientsCommand,
  registerClientCommand,
  revokeClientCommand,
} from '../clients.ts';
import {
  createKeyCommand,
  listKeysCommand,
  revokeEmbedTokenCommand,
  revokeKeyCommand,
} from '../keys.ts';
import type { RunAdmin } from './run-admin.ts';
import {
  withAccount,
  withAdminOptions,
  withSettings,
} from './shared-options.ts';

/** Accounts, their facilities, keys and clients. */
export function addAccountCommands(program: Command, run: RunAdmin): void {
  const accounts = program
    .command('accounts')
    .description('Accounts and their settings');

  withSettings(withAdminOptions(accounts.command('create')))
    .description('Create an account, without a key')
    .requiredOption('--name <name>', 'display name')
    .action(run(createAccountCommand));

  withAdminOptions(accounts.command('list'))
    .description('List all accounts')
    .action(run(listAccountsCommand));

  withAdminOptions(accounts.command('label'))
    .description(
      'Give what has a code of this FHIR ValueSet a security label, in all accounts, in what is stored and in what arrives',
    )
    .argument(
      '<file>',
      'a FHIR ValueSet in JSON, with its codes listed or expanded',
    )
    .requiredOption('--label <label>', 'the label, such as ETH')
    .action(run(labelCodesCommand));

  withSettings(withAdminOptions(accounts.command('set')))
    .description('Change the given settings, and show all of them')
    .argument('<account>', 'id of the account')
    .option('--name <name>', 'display name')
    .action(run(changeAccountCommand));

  const facilities = program
    .command('facilities')
    .description('Facilities of an account');

  withAccount(withAdminOptions(facilities.command('create')))
    .description('Create a facility; its OID is assigned')
    .requiredOption('--name <name>', 'name shown to callers')
    .requiredOption('--npi <npi>', 'National Provider Identifier, 10 digits')
    .option('--tin <tin>', 'tax identification number')
    .requiredOption('--address-line1 <text>', 'street and number')
    .option('--address-line2 <text>', 'suite, floor')
    .requiredOption('--city <text>', 'city')
    .requiredOption('--state <code>', 'two letters')
    .requiredOption('--zip <zip>', '5 digits, or ZIP+4')
    .action(run(createFacilityCommand));

  withAccount(withAdminOptions(facilities.command('list')))
    .description('List the facilities of an account')
    .action(
      run((target, { account }) => listFacilitiesCommand(target, account)),
    );

  const keys = program.command('keys').description('API keys of an account');

  withAccount(withAdminOptions(keys.command('create')))
    .description('Create a key and show it once; existing keys stay valid')
    .option('--label <text>', 'purpose of the key')
    .option(
      '--scopes <names>',
      `separated by commas: ${SCOPES.join(', ')}`,
      'read,write',
    )
    .option(
      '--expires <when>',
      '90d, 2027-01-31 or 2027-01-31T12:00:00Z (default: never)',
    )
    .action(run(createKeyCommand));

  withAccount(withAdminOptions(keys.command('list')))
    .description(
      'List the keys of an account; the keys themselves are not stored',
    )
    .action(run((target, { account }) => listKeysCommand(target, account)));

  withAdminOptions(keys.command('revoke'))
    .description('Revoke a key and the embed tokens created with it')
    .argument(
      '<key>',
      'id of the key, or its prefix (mdx_ and eight characters)',
    )
    .action(run(revokeKeyCommand));

  const clients = program
    .command('clients')
    .description('Clients of the FHIR API with keys of their own');

  withAccount(withAdminOptions(clients.command('register')))
    .description('Register a client (SMART Backend Services), and show its id')
    .option('--label <text>', "purpose of the client, or the network's name")
    .option(
      '--network',
      "it is a network's: it reads contributed data only, at /fhir/responder",
    )
    .option(
      '--jwks-url <url>',
      'https address at which the client publishes its public keys',
    )
    .option(
      '--jwks-file <file>',
      'file with its public keys, if it publishes none',
    )
    .option(
      '--scopes <names>',
      'separated by blanks: system/*.rs, system/Observation.rs, …',
      'system/*.rs',
    )
    .action(run(registerClientCommand));

  withAccount(withAdminOptions(clients.command('list')))
    .description('List the clients of an account')
    .action(run((target, { account }) => listClientsCommand(target, account)));

  withAdminOptions(clients.command('revoke'))
    .description('Revoke a client and its tokens')
    .argument('<client>', 'id of the client')
    .action(run(revokeClientCommand));

  const embedTokens = program
    .command('embed-tokens')
    .description('Tokens of the embedded patient page');

  withAdminOptions(embedTokens.command('revoke'))
    .description(
      'Revoke one token; to revoke all tokens of an API key, revoke the key',
    )
    .argument('<token>', 'the token, or its id from the audit')
    .action(run(revokeEmbedTokenCommand));
}
