import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  MESSAGE_DIRECTIONS,
  MESSAGE_NETWORKS,
  MESSAGE_SORT,
  MESSAGE_STATUSES,
} from '../contract/messages.ts';
import type { CommandContext, CommonOptions } from './commands/command.ts';
import { type MessagesListOptions, messagesList } from './commands/messages-list.ts';
import { type MessagesSendOptions, messagesSend } from './commands/messages-send.ts';
import { messagesShow } from './commands/messages-show.ts';
import { type MessagesSimulateOptions, messagesSimulate } from './commands/messages-simulate.ts';
import type { examples } from './help.ts';
import type { CommandResult } from './terminal.ts';

/** What the program gives to each group of commands. */
interface ProgramParts {
  run(common: CommonOptions, command: (context: CommandContext) => Promise<CommandResult>): Promise<void>;
  subcommand(name: `messages ${string}` & keyof typeof examples, description: string): Command;
  following(command: Command): Command;
}

export function addMessageCommands({ run, subcommand, following }: ProgramParts): void {
  subcommand('messages list', 'Messages of other providers and to them, newest first')
    .addOption(new Option('--direction <direction>', 'only these').choices(MESSAGE_DIRECTIONS))
    .option('--patient <id>', 'about this patient only')
    .option('--destination <address>', 'to (or at) exactly this OID or Direct address')
    .addOption(new Option('--status <status>', 'only these').choices(MESSAGE_STATUSES))
    .addOption(new Option('--sort <column=direction>', 'order (default: sentAt=desc)').choices(SORTS))
    .option('--count <n>', 'how many on a page', count, 50)
    .addOption(new Option('--from-item <cursor>', 'the page that begins there').conflicts('toItem'))
    .option('--to-item <cursor>', 'the page that ends there')
    .action((options: MessagesListOptions) => run(options, (context) => messagesList(options, context)));

  following(
    subcommand('messages send', 'Send a message about a patient, and follow its transmission to the end'),
  )
    .argument('<patientId>', 'id of the patient')
    .requiredOption('--to <address>', 'an OID (goes by XDR) or a Direct address')
    .requiredOption('--subject <text>', 'what it is about')
    .option('--body <text>', 'its text')
    .option('--attach <documentIds...>', "ids of the patient's documents")
    .option('--npi <numbers...>', 'NPIs of those who shall read it')
    .addOption(new Option('--network <network>', 'over which an OID is reached').choices(MESSAGE_NETWORKS))
    .action((patientId: string, options: MessagesSendOptions) =>
      run(options, (context) => messagesSend(patientId, options, context)),
    );

  subcommand('messages show', 'One message with its text')
    .argument('<messageId>', 'id of the message')
    .action((messageId: string, options: CommonOptions) =>
      run(options, (context) => messagesShow(messageId, options, context)),
    );

  subcommand('messages simulate', 'Have the stack’s simulator bring a message to the exchange')
    .option('--to <address>', "OID or Direct address (default: the facility's OID)")
    .option('--sample <key>', 'it is about this sample person (default: nobody is named)')
    .option('--subject <text>', 'what it is about', 'Simulated message')
    .option('--body <text>', 'its text', 'Brought by the simulator.')
    .option('--attach-file <paths...>', 'files to attach')
    .option('--npi <numbers...>', 'NPIs of those who shall read it')
    .addOption(new Option('--network <network>', 'by which it came').choices(MESSAGE_NETWORKS))
    .option('--id <id>', 'id of the message at the partner: the same again is the same message')
    .option('--times <n>', 'how often it is brought', count, 1)
    .action((options: MessagesSimulateOptions) =>
      run(options, (context) => messagesSimulate(options, context)),
    );
}

const SORTS = MESSAGE_SORT.flatMap((column) => [`${column}=asc`, `${column}=desc`]);

function count(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 500) return value;
  throw new InvalidArgumentError('give a number from 1 to 500.');
}
