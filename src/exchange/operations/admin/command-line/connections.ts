import { type Command, Option } from 'commander';
import { SOURCE_TYPES } from '../../../../contract/primitives.ts';
import { oneOf } from '../../../../lib/option-values.ts';
import { CONNECTION_PROTOCOLS } from '../../../sources/connections/connection-options.ts';
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
} from '../connections.ts';
import { listSigningKeysCommand, rotateSigningKeysCommand } from '../keys.ts';
import { decideCandidateCommand, listCandidatesCommand } from '../sources.ts';
import type { RunAdmin } from './run-admin.ts';
import {
  withAccount,
  withAdminOptions,
  withConnectionSettings,
  withCredentials,
  withIheSettings,
  withNetworkSettings,
  withStatement,
} from './shared-options.ts';

/** Connections to networks, our keys there, and matches to decide on. */
export function addConnectionCommands(program: Command, run: RunAdmin): void {
  const connections = program
    .command('connections')
    .description('Connections of an account to its networks');

  withNetworkSettings(
    withIheSettings(
      withConnectionSettings(
        withCredentials(
          withAccount(withAdminOptions(connections.command('create'))),
        ),
      ),
    ),
  )
    .description('Connect the account to a network')
    .requiredOption(
      '--source <kind>',
      `kind of source: ${SOURCE_TYPES.join(', ')}`,
      oneOf(SOURCE_TYPES),
    )
    .requiredOption('--name <name>', 'name shown in timelines')
    .option(
      '--base-url <url>',
      'FHIR R4 base address; ihe: address of patient discovery (ITI-55)',
    )
    .addOption(
      new Option(
        '--protocol <name>',
        'fhir; ihe: XCPD and XCA; ihe-network and fhir-network: the gateways or FHIR servers of a directory',
      )
        .choices(CONNECTION_PROTOCOLS)
        .default('fhir'),
    )
    .option(
      '--replaces-default',
      'it is the server that the environment variables named so far',
    )
    .option('--paused', 'create it paused')
    .action(run(createConnectionCommand));

  withAdminOptions(connections.command('list'))
    .description('List connections; their credentials are not shown')
    .option('--account <id>', 'of this account only')
    .action(
      run((target, { account }) => listConnectionsCommand(target, account)),
    );

  withAdminOptions(connections.command('show'))
    .description('Show the settings of a connection')
    .argument('<connection>', 'id of the connection')
    .action(run(showConnectionCommand));

  withAdminOptions(connections.command('register'))
    .description(
      'udap: register us at the authorization server, and store the client id',
    )
    .argument('<connection>', 'id of the connection')
    .action(run(registerConnectionCommand));

  withAdminOptions(connections.command('check'))
    .description('Try the connection: login, server, and a patient')
    .argument('<connection>', 'id of the connection')
    .option('--patient <id>', 'a patient of the account that the network knows')
    .action(
      run((target, id, { patient }) =>
        checkConnectionCommand(target, id, patient),
      ),
    );

  withCredentials(withAdminOptions(connections.command('rotate')))
    .description('Replace all credentials of a connection')
    .argument('<connection>', 'id of the connection')
    .action(run(rotateConnectionCommand));

  withNetworkSettings(
    withIheSettings(
      withConnectionSettings(withAdminOptions(connections.command('set'))),
    ),
  )
    .description(
      'Change the named settings of a connection; the value "default" restores the default',
    )
    .argument('<connection>', 'id of the connection')
    .action(run(setConnectionCommand));

  withAdminOptions(connections.command('pause'))
    .description('Call the connection no more until it is resumed')
    .argument('<connection>', 'id of the connection')
    .action(run((target, id) => enableConnectionCommand(target, id, false)));

  withAdminOptions(connections.command('resume'))
    .description('Call the connection again')
    .argument('<connection>', 'id of the connection')
    .action(run((target, id) => enableConnectionCommand(target, id, true)));

  withAdminOptions(connections.command('delete'))
    .description('Delete a connection; what it delivered stays')
    .argument('<connection>', 'id of the connection')
    .action(run(deleteConnectionCommand));

  const signingKeys = program
    .command('signing-keys')
    .description('Keys with which we sign for sources');

  withAdminOptions(signingKeys.command('list'))
    .description('List the keys of our JWKS')
    .action(run(listSigningKeysCommand));

  withAdminOptions(signingKeys.command('rotate'))
    .description(
      'Create new keys; they sign after 24 hours, and the old ones end after 48',
    )
    .option(
      '--at-once',
      'for keys that are no longer secret: the old ones end now',
    )
    .action(
      run((target, { atOnce }) =>
        rotateSigningKeysCommand(target, atOnce === true),
      ),
    );

  const candidates = program
    .command('candidates')
    .description(
      'Patients of sources that may be ours, for a person to decide',
    );

  withAccount(withAdminOptions(candidates.command('list')))
    .description('List those that wait for a decision, newest first')
    .option('--all', 'also those that were decided')
    .action(run(listCandidatesCommand));

  withStatement(withAdminOptions(candidates.command('accept')))
    .description(
      'It is the patient: the next query of the source collects it, or a retry of one that failed',
    )
    .argument('<candidate>', 'id of the candidate')
    .action(run(decideCandidateCommand('accepted')));

  withStatement(withAdminOptions(candidates.command('refuse')))
    .description('It is another person: never collect it for this patient')
    .argument('<candidate>', 'id of the candidate')
    .action(run(decideCandidateCommand('refused')));
}
