import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  MONITORING_FREQUENCIES,
  MONITORING_KINDS,
  type MonitoringKind,
} from '../contract/cohort-monitoring.ts';
import type { CommandGroup } from './command-group.ts';
import type { CommonOptions } from './commands/command.ts';
import { type MonitorBackfillOptions, monitorBackfill } from './commands/monitor-backfill.ts';
import { type MonitorCreateOptions, monitorCreate } from './commands/monitor-create.ts';
import { type MonitorListOptions, monitorList } from './commands/monitor-list.ts';
import { monitorDelete, monitorPause, monitorResume, monitorTrigger } from './commands/monitor-steer.ts';
import type { examples } from './help.ts';
import { wholeNumber } from './option-values.ts';

type Name = `monitor ${string}` & keyof typeof examples;

/** Adds the arguments that name one monitoring. */
const ofOne = (command: Command): Command =>
  command
    .argument('<cohortId>', 'id of the cohort')
    .argument('<source>', MONITORING_KINDS.join(', '), parseKind);

export function addMonitorCommands({ run, subcommand }: Omit<CommandGroup<Name>, 'following'>): void {
  const frequency = new Option('--frequency <frequency>', 'how often to query the cohort').choices(
    MONITORING_FREQUENCIES,
  );
  ofOne(subcommand('monitor create', 'Monitor a cohort on a schedule, or change how often it is monitored'))
    .addOption(frequency.default('monthly'))
    .option(
      '--time-zone <zone>',
      'other exchanges only: IANA time zone of the hours (default: America/New_York)',
    )
    .option('--from-hour <hour>', 'other exchanges only: runs start at or after this hour (default: 1)', hour)
    .option('--to-hour <hour>', 'other exchanges only: runs start before this hour (default: 5)', hour)
    .option(
      '--queries-per-minute <n>',
      'other exchanges only: rate limit of that exchange, 80 % of which is used (default: 120)',
      wholeNumber(1, 1_000_000),
    )
    .action((cohortId: string, kind: MonitoringKind, options: MonitorCreateOptions) =>
      run(options, (context) => monitorCreate({ cohortId, kind }, options, context)),
    );

  subcommand('monitor list', 'List the monitored cohorts with the next run, the last run and its counts')
    .argument('[cohortId]', 'only this cohort')
    .addOption(new Option('--kind <source>', 'only this source').choices(MONITORING_KINDS))
    .action((cohortId: string | undefined, options: MonitorListOptions) =>
      run(options, (context) => monitorList(cohortId, options, context)),
    );

  ofOne(subcommand('monitor trigger', 'Start a run now, in addition to the schedule')).action(
    (cohortId: string, kind: MonitoringKind, options: CommonOptions) =>
      run(options, (context) => monitorTrigger({ cohortId, kind }, options, context)),
  );

  for (const [name, description, command] of [
    ['monitor pause', 'Pause a monitoring: no run starts until it is resumed', monitorPause],
    ['monitor resume', 'Resume a paused monitoring with its next scheduled run', monitorResume],
  ] as const)
    ofOne(subcommand(name, description))
      .option('--note <text>', 'reason, shown by "monitor list"; Temporal stores it encrypted')
      .action((cohortId: string, kind: MonitoringKind, options: CommonOptions & { note?: string }) =>
        run(options, (context) => command({ cohortId, kind }, options, context)),
      );

  ofOne(subcommand('monitor backfill', 'Run the missed runs of a past period, one after the other'))
    .requiredOption('--from <time>', 'start: ISO 8601 date (midnight UTC) or time', time)
    .requiredOption('--to <time>', 'end: ISO 8601 date (midnight UTC) or time, not in the future', time)
    .action((cohortId: string, kind: MonitoringKind, options: MonitorBackfillOptions) =>
      run(options, (context) => monitorBackfill({ cohortId, kind }, options, context)),
    );

  ofOne(subcommand('monitor delete', 'Stop monitoring a cohort')).action(
    (cohortId: string, kind: MonitoringKind, options: CommonOptions) =>
      run(options, (context) => monitorDelete({ cohortId, kind }, options, context)),
  );
}

function parseKind(text: string): MonitoringKind {
  const kind = MONITORING_KINDS.find((known) => known === text);
  if (kind === undefined) throw new InvalidArgumentError(`Expected one of ${MONITORING_KINDS.join(', ')}.`);
  return kind;
}

const hour = wholeNumber(0, 24);

function time(text: string): Date {
  const at = new Date(text);
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(at.getTime())) return at;
  throw new InvalidArgumentError(
    'Expected a date such as 2026-06-01 or a time such as 2026-06-01T02:30:00Z.',
  );
}
