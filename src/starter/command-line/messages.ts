import { type Command, Option } from 'commander';
import {
  MESSAGE_DIRECTIONS,
  MESSAGE_NETWORKS,
  MESSAGE_SORT,
  MESSAGE_STATUSES,
  TRANSPORT_METHODS,
} from '../../contract/messages.ts';
import { examples } from '../../lib/command-line.ts';
import { oneOf, severalOf, wholeNumber } from '../../lib/option-values.ts';
import {
  DOCUMENT_TROUBLE_NAMES,
  DOCUMENT_TROUBLES,
} from '../../local-stack/simulator/letters.ts';
import {
  messagesList,
  messagesSend,
  messagesShow,
} from '../commands/messages.ts';
import {
  notificationsList,
  notificationsSimulate,
} from '../commands/notifications.ts';
import { messagesSimulate } from '../commands/simulate.ts';
import { SIMULATED_EVENTS } from '../input/arguments.ts';
import type { RunStarter } from './run-starter.ts';
import { withFollowing, withStarterOptions } from './shared-options.ts';

const MESSAGE_SORTS = MESSAGE_SORT.flatMap((column) => [
  `${column}=asc`,
  `${column}=desc`,
]);

/** Notifications and messages. */
export function addMessageCommands(program: Command, run: RunStarter): void {
  const notifications = program
    .command('notifications')
    .description(
      'Notifications of admissions, prescription fills and lab results',
    );

  withStarterOptions(notifications.command('list'))
    .description(
      "List the notifications about the account's patients, newest first",
    )
    .option('--patient <id>', 'only notifications about this patient')
    .option('--count <n>', 'how many to list', wholeNumber(1, 500), 50)
    .addHelpText(
      'after',
      examples(
        'npm run starter -- notifications list',
        'npm run starter -- notifications list --patient 0198f1c2-… --json',
      ),
    )
    .action(run(notificationsList));

  withStarterOptions(notifications.command('simulate'))
    .description(
      "Send events about a sample patient from the stack's simulator",
    )
    .argument('<sample>', 'key of the sample patient (samples/patients.json)')
    .argument(
      '<events...>',
      SIMULATED_EVENTS.join(', '),
      severalOf(SIMULATED_EVENTS),
    )
    .option(
      '--visit <name>',
      'name of the encounter; the same name always means the same encounter',
      'visit-1',
    )
    .addOption(
      new Option('--format <format>', 'format of the messages')
        .choices(['hl7v2', 'fhir'])
        .default('hl7v2'),
    )
    .addOption(
      new Option('--order <order>', 'order in which the messages arrive')
        .choices(['as-happened', 'reversed', 'shuffled'])
        .default('as-happened'),
    )
    .option(
      '--times <n>',
      'how many times to send each message',
      wholeNumber(1, 500),
      1,
    )
    .addHelpText(
      'after',
      examples(
        'npm run starter -- notifications simulate keith-kiehn admit transfer discharge',
        'npm run starter -- notifications simulate keith-kiehn admit discharge cancel-discharge --order shuffled --times 2',
        'npm run starter -- notifications simulate keith-kiehn fill result',
      ),
    )
    .action(run(notificationsSimulate));

  const messages = program
    .command('messages')
    .description('Messages to and from other providers (XDR, Direct)');

  withStarterOptions(messages.command('list'))
    .description('List the messages sent and received, newest first')
    .addOption(
      new Option(
        '--direction <direction>',
        'only messages in this direction',
      ).choices(MESSAGE_DIRECTIONS),
    )
    .option('--patient <id>', 'only messages about this patient')
    .option(
      '--destination <address>',
      'only messages to exactly this OID or Direct address',
    )
    .addOption(
      new Option('--status <status>', 'only messages in this state').choices(
        MESSAGE_STATUSES,
      ),
    )
    .addOption(
      new Option(
        '--sort <column=direction>',
        'sort order (default: sentAt=desc)',
      ).choices(MESSAGE_SORTS),
    )
    .option('--count <n>', 'messages per page', wholeNumber(1, 500), 50)
    .addOption(
      new Option(
        '--from-item <cursor>',
        'page that begins at this cursor (printed by the previous page)',
      ).conflicts(['toItem']),
    )
    .option(
      '--to-item <cursor>',
      'page that ends at this cursor (printed by the next page)',
    )
    .addHelpText(
      'after',
      examples(
        'npm run starter -- messages list --direction inbound --status completed',
        'npm run starter -- messages list --patient 0198f1c2-… --count 10 --json',
      ),
    )
    .action(run(messagesList));

  withFollowing(withStarterOptions(messages.command('send')))
    .description(
      'Send a message about a patient, and follow its transmission until it ends',
    )
    .argument('<patientId>', 'id of the patient')
    .requiredOption(
      '--to <address>',
      'destination: an OID (sent by XDR) or a Direct address',
    )
    .requiredOption('--subject <text>', 'subject of the message')
    .option('--body <text>', 'text of the message')
    .option(
      '--attach <documentIds...>',
      "ids of the patient's documents to attach",
    )
    .option('--npi <numbers...>', 'NPIs of the intended recipients')
    .addOption(
      new Option(
        '--network <network>',
        'network through which the OID is reached',
      ).choices(MESSAGE_NETWORKS),
    )
    .addHelpText(
      'after',
      examples(
        'npm run starter -- messages send 0198f1c2-… --to dr@direct.example.org --subject Referral --body "Please see her."',
        'npm run starter -- messages send 0198f1c2-… --to 2.16.840.1.113883.3.9621.7.42 --subject Records --attach 0198f1c3-… 0198f1c4-…',
      ),
    )
    .action(run(messagesSend));

  withStarterOptions(messages.command('show'))
    .description('Show one message with its text')
    .argument('<messageId>', 'id of the message')
    .addHelpText(
      'after',
      examples('npm run starter -- messages show 0198f1c2-…'),
    )
    .action(run(messagesShow));

  withStarterOptions(messages.command('simulate'))
    .description(
      'Have another provider send a message to the account of the stack',
    )
    .option(
      '--by <transport>',
      'direct or xdr',
      oneOf(TRANSPORT_METHODS),
      'direct',
    )
    .option(
      '--to <destination>',
      "destination (default: the Direct address, or the facility's OID, of the stack's account)",
    )
    .option(
      '--from <address>',
      'Direct address of the sender',
      'dr.jones@direct.simulated.example',
    )
    .option(
      '--sample <key>',
      'sample patient that the message is about (default: none)',
    )
    .option('--subject <text>', 'subject of the message', 'Simulated message')
    .option('--body <text>', 'text of the message', 'Sent by the simulator.')
    .option('--attach-file <paths...>', 'files to attach')
    .option('--package', 'by Direct: the files in a package of documents (XDM)')
    .option(
      '--as <trouble>',
      `what is wrong with the documents: ${Object.entries(DOCUMENT_TROUBLES)
        .map(([name, what]) => `${name}: ${what}`)
        .join('; ')}`,
      oneOf(DOCUMENT_TROUBLE_NAMES),
    )
    .option(
      '--id <id>',
      "the sender's id of the message; the same id is the same message",
    )
    .option(
      '--times <n>',
      'how many times to deliver it',
      wholeNumber(1, 500),
      1,
    )
    .addHelpText(
      'after',
      examples(
        'npm run starter -- messages simulate --sample keith-kiehn --subject "Discharge summary" --attach-file summary.xml',
        'npm run starter -- messages simulate --by xdr --sample keith-kiehn --attach-file summary.xml',
        'npm run starter -- messages simulate --package --attach-file summary.xml --as wrong-hash',
        'npm run starter -- messages simulate --from greylisted@direct.simulated.example --times 2',
      ),
    )
    .action(run(messagesSimulate));
}
