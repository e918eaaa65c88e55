import type { Command } from 'commander';
import { wholeNumber } from '../../../../lib/option-values.ts';
import { acknowledgeFindingCommand, opsCommand } from '../ops.ts';
import {
  listReconcileCommand,
  pauseReconcileCommand,
  resumeReconcileCommand,
} from '../reconcile.ts';
import {
  checkSenderCommand,
  decideMessageCommand,
  listUnmatchedCommand,
} from '../senders.ts';
import {
  listSourcesCommand,
  pauseSourceCommand,
  resumeSourceCommand,
} from '../sources.ts';
import type { RunAdmin } from './run-admin.ts';
import { withAdminOptions, withStatement } from './shared-options.ts';

const OPS_EXIT_CODES = [
  '',
  'Its exit codes, for a script:',
  '  0  Everything answers, and nothing needs attention.',
  '  1  PostgreSQL, Temporal, the gateway or the blob store does not answer: it is named, and not all is known.',
  '  3  Everything answers, and something is listed.',
].join('\n');

/** What an operator watches and steers. */
export function addOperationsCommands(program: Command, run: RunAdmin): void {
  const ops = withAdminOptions(program.command('ops'))
    .description(
      'Show what is stuck, late, dead-lettered, refused, paused or waits now, over all accounts, and the command that helps',
    )
    .addHelpText('after', OPS_EXIT_CODES)
    .action(run(opsCommand));
  withStatement(withAdminOptions(ops.command('acknowledge')))
    .description(
      'Leave out a finding about what has happened, until it happens again',
    )
    .argument('<finding>', 'its id, as "ops" shows it')
    .action(run(acknowledgeFindingCommand));

  const notifications = program
    .command('notifications')
    .description(
      'Notifications of admissions, prescription fills and lab results',
    );

  withAdminOptions(notifications.command('unmatched'))
    .description(
      'List received messages that matched no patient, over all accounts',
    )
    .option('--count <n>', 'how many to list', wholeNumber(1, 500), 50)
    .action(run(listUnmatchedCommand));

  withAdminOptions(notifications.command('accept'))
    .description(
      "Let a held message count: its record is the person's whom it describes",
    )
    .argument('<message>', 'id of a held message')
    .action(run(decideMessageCommand('accepted')));

  withAdminOptions(notifications.command('refuse'))
    .description('Never let a held message count')
    .argument('<message>', 'id of a held message')
    .action(run(decideMessageCommand('refused')));

  const senders = program
    .command('senders')
    .description("Senders of messages: what a new one's messages would do");

  withAdminOptions(senders.command('check'))
    .description(
      "Read a day's messages of a sender from a folder, and record nothing: what would be recorded, refused, not used",
    )
    .argument(
      '<folder>',
      'folder of files with HL7 v2 messages, or FHIR Bundles (.json)',
    )
    .option(
      '--time-zone <zone>',
      "time zone of the sender's times without an offset",
      'UTC',
    )
    .action(run(checkSenderCommand));

  const sources = program
    .command('sources')
    .description('Sources of all accounts: their state, pause and resume');

  withAdminOptions(sources.command('list'))
    .description(
      'Show which sources are called, why not, and how many queries wait',
    )
    .action(run(listSourcesCommand));

  withAdminOptions(sources.command('pause'))
    .description(
      'Stop all calls to a source; its queries wait, and up to 14 days do not count for their deadlines',
    )
    .argument('<source>', 'hie, pharmacy or lab')
    .requiredOption('--by <name>', 'your name')
    .requiredOption(
      '--reason <text>',
      'why, without patient data; shown to callers whose queries wait',
    )
    .action(run(pauseSourceCommand));

  withAdminOptions(sources.command('resume'))
    .description('End a pause')
    .argument('<source>', 'hie, pharmacy or lab')
    .action(run(resumeSourceCommand));

  const reconcile = program
    .command('reconcile')
    .description('What reconcile deletes and heals: pause and resume');

  withAdminOptions(reconcile.command('list'))
    .description('Show which parts are paused')
    .action(run(listReconcileCommand));

  withStatement(withAdminOptions(reconcile.command('pause')))
    .description('Stop a part of it until you resume it, also across restarts')
    .argument('<part>', 'deleting or healing')
    .action(run(pauseReconcileCommand));

  withAdminOptions(reconcile.command('resume'))
    .description('End a pause')
    .argument('<part>', 'deleting or healing')
    .action(run(resumeReconcileCommand));
}
