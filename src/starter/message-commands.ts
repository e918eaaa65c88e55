import { Option } from 'commander';
import {
  MESSAGE_DIRECTIONS,
  MESSAGE_NETWORKS,
  MESSAGE_SORT,
  MESSAGE_STATUSES,
} from '../contract/messages.ts';
import type { CommandGroup } from './command-group.ts';
import type { CommonOptions } from './commands/command.ts';
import { type MessagesListOptions, messagesList } from './commands/messages-list.ts';
import { type MessagesSendOptions, messagesSend } from './commands/messages-send.ts';
import { messagesShow } from './commands/messages-show.ts';
import { type MessagesSimulateOptions, messagesSimulate } from './commands/messages-simulate.ts';
import type { examples } from './help.ts';
import { wholeNumber } from './option-values.ts';

type Name = `messages ${string}` & keyof typeof examples;

export function addMessageCommands({ run, subcommand, following }: CommandGroup<Name>): void {
  subcommand('messages list', 'List the messages sent and received, newest first')
    .addOption(
      new Option('--direction <direction>', 'only messages in this direction').choices(MESSAGE_DIRECTIONS),
    )
    .option('--patient <id>', 'only messages about this patient')
    .option('--destination <address>', 'only messages to exactly this OID or Direct address')
    .addOption(new Option('--status <status>', 'only messages in this state').choices(MESSAGE_STATUSES))
    .addOption(new Option('--sort <column=direction>', 'sort order (default: sentAt=desc)').choices(SORTS))
    .option('--count <n>', 'messages per page', wholeNumber(1, COUNT_MAX), 50)
    .addOption(
      new Option(
        '--from-item <cursor>',
        'page that begins at this cursor (printed by the previous page)',
      ).conflicts('toItem'),
    )
    .option('--to-item <cursor>', 'page that ends at this cursor (printed by the next page)')
    .action((options: MessagesListOptions) => run(options, (context) => messagesList(options, context)));

  following(
    subcommand('messages send', 'Send a message about a patient, and follow its transmission until it ends'),
  )
    .argument('<patientId>', 'id of the patient')
    .requiredOption('--to <address>', 'destination: an OID (sent by XDR) or a Direct address')
    .requiredOption('--subject <text>', 'subject of the message')
    .option('--body <text>', 'text of the message')
    .option('--attach <documentIds...>', "ids of the patient's documents to attach")
    .option('--npi <numbers...>', 'NPIs of the intended recipients')
    .addOption(
      new Option('--network <network>', 'network through which the OID is reached').choices(MESSAGE_NETWORKS),
    )
    .action((patientId: string, options: MessagesSendOptions) =>
      run(options, (context) => messagesSend(patientId, options, context)),
    );

  subcommand('messages show', 'Show one message with its text')
    .argument('<messageId>', 'id of the message')
    .action((messageId: string, options: CommonOptions) =>
      run(options, (context) => messagesShow(messageId, options, context)),
    );

  subcommand('messages simulate', 'Deliver a message to the exchange through the simulated transport partner')
    .option('--to <address>', "destination: OID or Direct address (default: the facility's OID)")
    .option('--sample <key>', 'sample patient that the message is about (default: none)')
    .option('--subject <text>', 'subject of the message', 'Simulated message')
    .option('--body <text>', 'text of the message', 'Sent by the simulator.')
    .option('--attach-file <paths...>', 'files to attach')
    .option('--npi <numbers...>', 'NPIs of the intended recipients')
    .addOption(
      new Option('--network <network>', 'network that the message arrives from').choices(MESSAGE_NETWORKS),
    )
    .option('--id <id>', "the partner's id of the message; the same id always means the same message")
    .option('--times <n>', 'how many times to deliver it', wholeNumber(1, COUNT_MAX), 1)
    .action((options: MessagesSimulateOptions) =>
      run(options, (context) => messagesSimulate(options, context)),
    );
}

const COUNT_MAX = 500;
const SORTS = MESSAGE_SORT.flatMap((column) => [`${column}=asc`, `${column}=desc`]);
