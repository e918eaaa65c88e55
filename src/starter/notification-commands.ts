import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CommandContext, CommonOptions } from './commands/command.ts';
import { type NotificationListOptions, notificationsList } from './commands/notifications-list.ts';
import {
  type NotificationSimulateOptions,
  notificationsSimulate,
  SIMULATED_EVENTS,
  type SimulatedEvent,
} from './commands/notifications-simulate.ts';
import {
  type NotificationUnmatchedOptions,
  notificationsUnmatched,
} from './commands/notifications-unmatched.ts';
import type { examples } from './help.ts';
import type { CommandResult } from './terminal.ts';

/** What the program gives to each group of commands. */
interface ProgramParts {
  run(common: CommonOptions, command: (context: CommandContext) => Promise<CommandResult>): Promise<void>;
  subcommand(name: `notifications ${string}` & keyof typeof examples, description: string): Command;
}

export function addNotificationCommands({ run, subcommand }: ProgramParts): void {
  subcommand('notifications list', 'What was told of the account’s patients, newest first')
    .option('--patient <id>', 'of this patient only')
    .option('--count <n>', 'how many', count, 50)
    .action((options: NotificationListOptions) =>
      run(options, (context) => notificationsList(options, context)),
    );

  subcommand(
    'notifications unmatched',
    'Messages of senders for which nobody was found, over all accounts; reads the database (the stack’s, or DATABASE_URL)',
  )
    .option('--count <n>', 'how many', count, 50)
    .action((options: NotificationUnmatchedOptions) =>
      run(options, (context) => notificationsUnmatched(options, context)),
    );

  subcommand('notifications simulate', 'Have the stack’s simulator tell of a sample person')
    .argument('<sample>', 'key of the person, as in samples/patients.json')
    .argument('<events...>', SIMULATED_EVENTS.join(', '), parseEvents)
    .option('--visit <name>', 'the same visit is the same encounter', 'visit-1')
    .addOption(new Option('--format <format>', 'of encounters').choices(['hl7v2', 'fhir']).default('hl7v2'))
    .addOption(
      new Option('--order <order>', 'in which the messages arrive')
        .choices(['as-happened', 'reversed', 'shuffled'])
        .default('as-happened'),
    )
    .option('--times <n>', 'how often each is sent', count, 1)
    .action((sample: string, events: SimulatedEvent[], options: NotificationSimulateOptions) =>
      run(options, (context) => notificationsSimulate(sample, events, options, context)),
    );
}

function parseEvents(text: string, before: SimulatedEvent[] = []): SimulatedEvent[] {
  const event = SIMULATED_EVENTS.find((known) => known === text);
  if (event === undefined) throw new InvalidArgumentError(`give any of ${SIMULATED_EVENTS.join(', ')}.`);
  return [...before, event];
}

function count(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 500) return value;
  throw new InvalidArgumentError('give a number from 1 to 500.');
}
