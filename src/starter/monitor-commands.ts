import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  MONITORING_FREQUENCIES,
  MONITORING_KINDS,
  type MonitoringKind,
} from '../contract/cohort-monitoring.ts';
import type { CommandContext, CommonOptions } from './commands/command.ts';
import { type MonitorBackfillOptions, monitorBackfill } from './commands/monitor-backfill.ts';
import { type MonitorCreateOptions, monitorCreate } from './commands/monitor-create.ts';
import { type MonitorListOptions, monitorList } from './commands/monitor-list.ts';
import { monitorDelete, monitorPause, monitorResume, monitorTrigger } from './commands/monitor-steer.ts';
import type { examples } from './help.ts';
import type { CommandResult } from './terminal.ts';

/** What the program gives to each group of commands. */
interface ProgramParts {
  run(common: CommonOptions, command: (context: CommandContext) => Promise<CommandResult>): Promise<void>;
  subcommand(name: `monitor ${string}` & keyof typeof examples, description: string): Command;
}

/** Of all commands that take one, the arguments of one monitoring. */
const ofOne = (command: Command): Command =>
  command
    .argument('<cohortId>', 'id of the cohort')
    .argument('<source>', MONITORING_KINDS.join(', '), parseKind);

export function addMonitorCommands({ run, subcommand }: ProgramParts): void {
  const frequency = new Option('--frequency <how often>', 'how often').choices(MONITORING_FREQUENCIES);
  ofOne(subcommand('monitor create', 'Have a cohort monitored on a schedule, or change how often'))
    .addOption(frequency.default('monthly'))
    .option('--time-zone <zone>', 'foreign exchange: IANA time zone of the hours (America/New_York)')
    .option('--from-hour <hour>', 'foreign exchange: runs start from this hour on (1)', hour)
    .option('--to-hour <hour>', 'foreign exchange: and before this one (5)', hour)
    .option(
      '--queries-per-minute <n>',
      'foreign exchange: its limit, of which 80 % are used (120)',
      perMinute,
    )
    .action((cohortId: string, kind: MonitoringKind, options: MonitorCreateOptions) =>
      run(options, (context) => monitorCreate({ cohortId, kind }, options, context)),
    );

  subcommand('monitor list', 'What is monitored: the next run, the last one and its counts')
    .argument('[cohortId]', 'of this cohort only')
    .addOption(new Option('--kind <source>', 'of this source only').choices(MONITORING_KINDS))
    .action((cohortId: string | undefined, options: MonitorListOptions) =>
      run(options, (context) => monitorList(cohortId, options, context)),
    );

  ofOne(subcommand('monitor trigger', 'Run a monitoring now, beside its schedule')).action(
    (cohortId: string, kind: MonitoringKind, options: CommonOptions) =>
      run(options, (context) => monitorTrigger({ cohortId, kind }, options, context)),
  );

  for (const [name, description, command] of [
    ['monitor pause', 'Start no further runs until it is resumed', monitorPause],
    ['monitor resume', 'Let a paused monitoring go on with its next run', monitorResume],
  ] as const)
    ofOne(subcommand(name, description))
      .option('--note <why>', 'shown with the schedule; stands in clear text in Temporal, so name no person')
      .action((cohortId: string, kind: MonitoringKind, options: CommonOptions & { note?: string }) =>
        run(options, (context) => command({ cohortId, kind }, options, context)),
      );

  ofOne(subcommand('monitor backfill', 'Make up for the runs of a past time, one after the other'))
    .requiredOption('--from <time>', 'date or time, ISO 8601 (a date: midnight, UTC)', time)
    .requiredOption('--to <time>', 'likewise, not in the future', time)
    .action((cohortId: string, kind: MonitoringKind, options: MonitorBackfillOptions) =>
      run(options, (context) => monitorBackfill({ cohortId, kind }, options, context)),
    );

  ofOne(subcommand('monitor delete', 'Monitor a cohort no longer')).action(
    (cohortId: string, kind: MonitoringKind, options: CommonOptions) =>
      run(options, (context) => monitorDelete({ cohortId, kind }, options, context)),
  );
}

function parseKind(text: string): MonitoringKind {
  const kind = MONITORING_KINDS.find((known) => known === text);
  if (kind === undefined) throw new InvalidArgumentError(`give one of ${MONITORING_KINDS.join(', ')}.`);
  return kind;
}

function hour(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0 && value <= 24) return value;
  throw new InvalidArgumentError('give an hour from 0 to 24.');
}

function perMinute(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 1_000_000) return value;
  throw new InvalidArgumentError('give a whole number above 0.');
}

function time(text: string): Date {
  const at = new Date(text);
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(at.getTime())) return at;
  throw new InvalidArgumentError('give a date as 2026-06-01, or a time as 2026-06-01T02:30:00Z.');
}
