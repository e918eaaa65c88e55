import { type Command, Option } from 'commander';
import {
  MONITORING_FREQUENCIES,
  MONITORING_KINDS,
} from '../../contract/cohort-monitoring.ts';
import { examples } from '../../lib/command-line.ts';
import { oneOf, parseInstant, wholeNumber } from '../../lib/option-values.ts';
import {
  monitorBackfill,
  monitorCreate,
  monitorDelete,
  monitorPause,
  monitorResume,
  monitorTrigger,
} from '../commands/monitor.ts';
import { monitorList } from '../commands/monitor-report.ts';
import { ofMonitoring, type RunStarter } from './run-starter.ts';
import { withStarterOptions } from './shared-options.ts';

/** Scheduled monitoring of cohorts. */
export function addMonitorCommands(program: Command, run: RunStarter): void {
  const monitor = program
    .command('monitor')
    .description('Scheduled monitoring of cohorts');

  withStarterOptions(monitor.command('create'))
    .description(
      'Monitor a cohort on a schedule, or change how often it is monitored',
    )
    .argument('<cohortId>', 'id of the cohort')
    .argument('<source>', MONITORING_KINDS.join(', '), oneOf(MONITORING_KINDS))
    .addOption(
      new Option('--frequency <frequency>', 'how often to query the cohort')
        .choices(MONITORING_FREQUENCIES)
        .default('monthly'),
    )
    .option(
      '--time-zone <zone>',
      'other exchanges only: IANA time zone of the hours (default: America/New_York)',
    )
    .option(
      '--from-hour <hour>',
      'other exchanges only: runs start at or after this hour (default: 1)',
      wholeNumber(0, 24),
    )
    .option(
      '--to-hour <hour>',
      'other exchanges only: runs start before this hour (default: 5)',
      wholeNumber(0, 24),
    )
    .option(
      '--queries-per-minute <n>',
      'other exchanges only: rate limit of that exchange, 80 % of which is used (default: 120)',
      wholeNumber(1, 1000000),
    )
    .addHelpText(
      'after',
      examples(
        'npm run starter -- monitor create 0198f1c2-… hie --frequency biweekly',
        'API_KEY=… npm run starter -- monitor create 0198f1c2-… hie --base-url https://exchange.example --time-zone Europe/Berlin',
      ),
    )
    .action(run(ofMonitoring(monitorCreate)));

  withStarterOptions(monitor.command('list'))
    .description(
      'List the monitored cohorts with the next run, the last run and its counts',
    )
    .argument('[cohortId]', 'only this cohort')
    .addOption(
      new Option('--kind <source>', 'only this source').choices(
        MONITORING_KINDS,
      ),
    )
    .addHelpText(
      'after',
      examples(
        'npm run starter -- monitor list',
        'npm run starter -- monitor list 0198f1c2-… --json',
      ),
    )
    .action(run(monitorList));

  withStarterOptions(monitor.command('trigger'))
    .description('Start a run now, in addition to the schedule')
    .argument('<cohortId>', 'id of the cohort')
    .argument('<source>', MONITORING_KINDS.join(', '), oneOf(MONITORING_KINDS))
    .addHelpText(
      'after',
      examples('npm run starter -- monitor trigger 0198f1c2-… pharmacy'),
    )
    .action(run(ofMonitoring(monitorTrigger)));

  withStarterOptions(monitor.command('pause'))
    .description('Pause a monitoring: no run starts until it is resumed')
    .argument('<cohortId>', 'id of the cohort')
    .argument('<source>', MONITORING_KINDS.join(', '), oneOf(MONITORING_KINDS))
    .option(
      '--note <text>',
      'reason, shown by "monitor list"; Temporal stores it encrypted',
    )
    .addHelpText(
      'after',
      examples(
        'npm run starter -- monitor pause 0198f1c2-… hie --note "the network moves this week"',
      ),
    )
    .action(run(ofMonitoring(monitorPause)));

  withStarterOptions(monitor.command('resume'))
    .description('Resume a paused monitoring with its next scheduled run')
    .argument('<cohortId>', 'id of the cohort')
    .argument('<source>', MONITORING_KINDS.join(', '), oneOf(MONITORING_KINDS))
    .option(
      '--note <text>',
      'reason, shown by "monitor list"; Temporal stores it encrypted',
    )
    .addHelpText(
      'after',
      examples('npm run starter -- monitor resume 0198f1c2-… hie'),
    )
    .action(run(ofMonitoring(monitorResume)));

  withStarterOptions(monitor.command('backfill'))
    .description('Run the missed runs of a past period, one after the other')
    .argument('<cohortId>', 'id of the cohort')
    .argument('<source>', MONITORING_KINDS.join(', '), oneOf(MONITORING_KINDS))
    .requiredOption(
      '--from <time>',
      'start: ISO 8601 date (midnight UTC) or time',
      parseInstant,
    )
    .requiredOption(
      '--to <time>',
      'end: ISO 8601 date (midnight UTC) or time, not in the future',
      parseInstant,
    )
    .addHelpText(
      'after',
      examples(
        'npm run starter -- monitor backfill 0198f1c2-… hie --from 2026-06-01 --to 2026-11-01',
      ),
    )
    .action(run(ofMonitoring(monitorBackfill)));

  withStarterOptions(monitor.command('delete'))
    .description('Stop monitoring a cohort')
    .argument('<cohortId>', 'id of the cohort')
    .argument('<source>', MONITORING_KINDS.join(', '), oneOf(MONITORING_KINDS))
    .addHelpText(
      'after',
      examples('npm run starter -- monitor delete 0198f1c2-… hie'),
    )
    .action(run(ofMonitoring(monitorDelete)));
}
