import { type Command, Option } from 'commander';
import { MESSAGE_NETWORKS } from '../../../../contract/messages.ts';
import { wholeNumber } from '../../../../lib/option-values.ts';
import {
  createMembershipCommand,
  deleteMembershipCommand,
  enableMembershipCommand,
  listMembershipsCommand,
  setMembershipCommand,
  showMembershipCommand,
} from '../memberships.ts';
import type { RunAdmin } from './run-admin.ts';
import { withAccount, withAdminOptions } from './shared-options.ts';

const withMembershipSettings = (command: Command): Command =>
  command
    .option('--home-community <oid>', 'our own home community')
    .option('--organization-name <name>', 'who we are in the network')
    .option(
      '--purposes <codings>',
      'purposes that we answer, each as <OID of the code system>|<code>, separated by commas',
    )
    .option(
      '--communities <file>',
      'who may ask: a line for each, "<home community>" or "<home community> <host of its certificate>"; or - for stdin',
    )
    .option('--trust <file>', "the network's authorities (PEM); or - for stdin")
    .addOption(
      new Option(
        '--network <network>',
        'network of messages that come by XDR (default: CAREQUALITY)',
      ).choices([...MESSAGE_NETWORKS]),
    )
    .option(
      '--requests-per-minute <n>',
      'limit for each community (default: 300)',
      wholeNumber(1, 100_000),
    )
    .addOption(
      new Option(
        '--sha1 <true|false>',
        'take signatures with SHA-1 (default: false)',
      ).choices(['true', 'false']),
    )
    .option(
      '--saml-role <coding>',
      'our role in deferred answers, <OID of the code system>|<code>|<words>',
    );

/** Memberships: networks whose gateways may ask an account. */
export function addMembershipCommands(program: Command, run: RunAdmin): void {
  const memberships = program
    .command('memberships')
    .description(
      'Networks whose gateways may ask an account for patients and documents',
    );

  withMembershipSettings(
    withAccount(withAdminOptions(memberships.command('create'))),
  )
    .description('Answer the gateways of a network')
    .requiredOption('--name <name>', 'name of the network in audit and reports')
    .option('--paused', 'create it paused')
    .action(run(createMembershipCommand));

  withAdminOptions(memberships.command('list'))
    .description('List memberships')
    .option('--account <id>', 'of this account only')
    .action(
      run((target, { account }) => listMembershipsCommand(target, account)),
    );

  withAdminOptions(memberships.command('show'))
    .description('Show the settings of a membership, and its address')
    .argument('<membership>', 'id of the membership')
    .action(run(showMembershipCommand));

  withMembershipSettings(withAdminOptions(memberships.command('set')))
    .description('Change the named settings of a membership')
    .argument('<membership>', 'id of the membership')
    .action(run(setMembershipCommand));

  withAdminOptions(memberships.command('pause'))
    .description('Answer nobody until it is resumed')
    .argument('<membership>', 'id of the membership')
    .action(run((target, id) => enableMembershipCommand(target, id, false)));

  withAdminOptions(memberships.command('resume'))
    .description('Answer again')
    .argument('<membership>', 'id of the membership')
    .action(run((target, id) => enableMembershipCommand(target, id, true)));

  withAdminOptions(memberships.command('delete'))
    .description('Delete a membership; the audit keeps what was given')
    .argument('<membership>', 'id of the membership')
    .action(run(deleteMembershipCommand));
}
