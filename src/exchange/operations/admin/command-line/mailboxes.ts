import type { Command } from 'commander';
import { wholeNumber } from '../../../../lib/option-values.ts';
import {
  connectMailboxCommand,
  disconnectMailboxCommand,
  listMailboxesCommand,
} from '../mailboxes.ts';
import type { RunAdmin } from './run-admin.ts';
import { withAccount, withAdminOptions } from './shared-options.ts';

/** The mailboxes by which accounts send and receive Direct messages. */
export function addMailboxCommands(program: Command, run: RunAdmin): void {
  const direct = program
    .command('direct')
    .description('Mailboxes of accounts for Direct messages');

  withAccount(withAdminOptions(direct.command('connect')))
    .description('Give the account a mailbox, or replace the one it has')
    .requiredOption('--address <address>', 'Direct address that it sends from')
    .requiredOption(
      '--smtp <address>',
      'where mail is handed over: smtps://host, or smtp://host with STARTTLS',
    )
    .requiredOption(
      '--imap <address>',
      'where mail is read: imaps://host, or imap://host with STARTTLS',
    )
    .option('--folder <name>', 'folder to read (default: INBOX)')
    .option('--user <name>', 'login at both servers')
    .option('--password-file <file>', 'file with its password')
    .option('--ca <file>', 'PEM of the authorities of both servers')
    .option(
      '--read-every-seconds <n>',
      'how often it is read (default: 60)',
      wholeNumber(2, 3_600),
    )
    .option(
      '--asks-for-dispatched',
      'ask recipients to report the final destination, and wait for that',
    )
    .option(
      '--xdm-to <domains>',
      'domains and addresses, by commas, that are sent attachments as an XDM package',
    )
    .option(
      '--no-notifies',
      'the provider notifies senders itself; the exchange does not',
    )
    .option(
      '--certificate <file>',
      'our own provider: PEM of our certificate and its chain',
    )
    .option('--private-key <file>', 'our own provider: PEM of its RSA key')
    .option('--anchors <file>', 'our own provider: PEM of whom we trust')
    .option(
      '--bundles <names>',
      'our own provider: trust bundles whose anchors we trust, separated by commas',
      (names) => names.split(','),
    )
    .option(
      '--recipients <file>',
      'our own provider: PEM of certificates of recipients, in place of those that their domains publish',
    )
    .action(run(connectMailboxCommand));

  withAdminOptions(direct.command('list'))
    .description('List the mailboxes, and how far each was read')
    .action(run(listMailboxesCommand));

  withAccount(withAdminOptions(direct.command('disconnect')))
    .description('Take the mailbox from the account; what it received stays')
    .action(run(disconnectMailboxCommand));
}
