import { InvalidArgumentError, Option } from 'commander';
import type { CommandGroup } from './command-group.ts';
import { type NotificationListOptions, notificationsList } from './commands/notifications-list.ts';
import {
  type NotificationSimulateOptions,
  notificationsSimulate,
} from './commands/notifications-simulate.ts';
import {
  type NotificationUnmatchedOptions,
  notificationsUnmatched,
} from './commands/notifications-unmatched.ts';
import type { examples } from './help.ts';
import { SIMULATED_EVENTS, type SimulatedEvent } from './input/simulated-events.ts';
import { wholeNumber } from './option-values.ts';

type Name = `notifications ${string}` & keyof typeof examples;

export function addNotificationCommands({ run, subcommand }: Omit<CommandGroup<Name>, 'following'>): void {
  subcommand('notifications list', "List the notifications about the account's patients, newest first")
    .option('--patient <id>', 'only notifications about this patient')
    .option('--count <n>', 'how many to list', wholeNumber(1, COUNT_MAX), 50)
    .action((options: NotificationListOptions) =>
      run(options, (context) => notificationsList(options, context)),
    );

  subcommand(
    'notifications unmatched',
    "List received messages that matched no patient, across all accounts; reads the stack's database, or DATABASE_URL",
  )
    .option('--count <n>', 'how many to list', wholeNumber(1, COUNT_MAX), 50)
    .action((options: NotificationUnmatchedOptions) =>
      run(options, (context) => notificationsUnmatched(options, context)),
    );

  subcommand('notifications simulate', "Send events about a sample patient from the stack's simulator")
    .argument('<sample>', 'key of the sample patient (samples/patients.json)')
    .argument('<events...>', SIMULATED_EVENTS.join(', '), parseEvents)
    .option(
      '--visit <name>',
      'name of the encounter; the same name always means the same encounter',
      'visit-1',
    )
    .addOption(
      new Option('--format <format>', 'format of the messages').choices(['hl7v2', 'fhir']).default('hl7v2'),
    )
    .addOption(
      new Option('--order <order>', 'order in which the messages arrive')
        .choices(['as-happened', 'reversed', 'shuffled'])
        .default('as-happened'),
    )
    .option('--times <n>', 'how many times to send each message', wholeNumber(1, COUNT_MAX), 1)
    .action((sample: string, events: SimulatedEvent[], options: NotificationSimulateOptions) =>
      run(options, (context) => notificationsSimulate(sample, events, options, context)),
    );
}

function parseEvents(text: string, before: SimulatedEvent[] = []): SimulatedEvent[] {
  const event = SIMULATED_EVENTS.find((known) => known === text);
  if (event === undefined)
    throw new InvalidArgumentError(`Expected one or more of ${SIMULATED_EVENTS.join(', ')}.`);
  return [...before, event];
}

const COUNT_MAX = 500;
