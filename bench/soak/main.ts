import { Command, Option } from 'commander';
import { KILLABLE } from '../../test/faults/kill/holds.ts';
import {
  type AcknowledgementSoakOptions,
  soakAcknowledgements,
} from './acknowledgements.ts';
import { type BulkSoakOptions, soakBulk } from './bulk.ts';
import { type ClusterSoakOptions, soakCluster } from './cluster.ts';
import { type JobQueueSoakOptions, KILLED, soakJobQueue } from './job-queue.ts';
import { type KillSoakOptions, soakKills } from './kills.ts';
import { type MixedSoakOptions, soakMixed } from './mixed.ts';
import { type MonitoringSoakOptions, soakMonitoring } from './monitoring.ts';
import { type StopSoakOptions, soakStops } from './stops.ts';

const program = new Command('npm run soak --').description(
  'Long runs of a whole stack while parts of it fail.',
);

program
  .command('mixed', { isDefault: true })
  .description(
    'All kinds of work while parts are killed and stopped, lines cut and slowed, sources refuse and builds change.',
  )
  .option('--minutes <n>', 'how long faults are caused', '5')
  .option(
    '--seed <n>',
    'seed; the same seed gives the same faults in the same order',
    '1',
  )
  .option('--json <file>', 'write the report to this file')
  .option('--docs', 'write the report into docs/reliability.md')
  .option('--keep', 'keep the data folder with all logs')
  .action((options: MixedSoakOptions) => soakMixed(options));

program
  .command('kills')
  .description(
    'SIGKILL parts of a running stack at seeded moments; every query must end as it would have ended otherwise.',
  )
  .option('--rounds <n>', 'kills of each part', '20')
  .option('--part <name>', `${KILLABLE.join(', ')} or all`, 'all')
  .option('--seed <n>', 'seed; the same seed gives the same kills', '1')
  .option('--window <text>', 'only moments whose name contains this')
  .option('--keep', 'keep the data folder with all logs')
  .action((options: KillSoakOptions) =>
    soakKills(options, (why) => program.error(why)),
  );

program
  .command('job-queue')
  .description(
    'The same queries by our workflow and as jobs of pg-boss, undisturbed and while what takes and runs them is killed: what is lost, doubled or stuck?',
  )
  .option('--queries <n>', 'queries of each run', '60')
  .option('--kills <n>', 'kills', '5')
  .addOption(
    new Option('--part <name>', 'what is killed')
      .choices([...KILLED, 'all'])
      .default('all'),
  )
  .option('--seed <n>', 'seed; the same seed gives the same kills', '1')
  .option('--minutes <n>', 'time limit of each run in minutes', '10')
  .option('--json', 'print the result as one JSON line')
  .action((options: JobQueueSoakOptions) => soakJobQueue(options));

program
  .command('monitoring')
  .description(
    'Two cohorts with common patients are monitored while the worker is killed; each patient once.',
  )
  .option('--patients <n>', 'patients of the larger cohort', '10000')
  .option(
    '--per-minute <n>',
    'limit of queries per minute; monitoring may use 80 % of it',
    '12000',
  )
  .option('--kills <n>', 'how often the worker is killed', '2')
  .option(
    '--accepted-only',
    'accept the queries without running them: only the monitoring runs are checked',
  )
  .option('--minutes <n>', 'time limit in minutes', '60')
  .option('--keep', 'keep the data folder with all logs')
  .action((options: MonitoringSoakOptions) => soakMonitoring(options));

program
  .command('bulk')
  .description(
    'One CSV twice: undisturbed, and while the worker and PostgreSQL are killed; the same must come of it.',
  )
  .option('--rows <n>', 'rows of the file', '100000')
  .option(
    '--to-query <n>',
    'patients in the file who have not opted out of queries',
    '500',
  )
  .option('--minutes <n>', 'time limit of each step in minutes', '20')
  .option('--keep', 'keep the data folder with all logs')
  .action((options: BulkSoakOptions) => soakBulk(options));

program
  .command('cluster')
  .description(
    'Mixed load and a large import on the cluster while one of each kind of process is killed and all are rolled; no request may fail.',
  )
  .option('--minutes <n>', 'how long processes are killed and rolled', '5')
  .option(
    '--seed <n>',
    'seed; the same seed gives the same kills in the same order',
    '1',
  )
  .option('--rows <n>', 'rows of the import', '10000')
  .option('--json <file>', 'write the report to this file')
  .option('--keep', 'keep the data folder with all logs')
  .action((options: ClusterSoakOptions) => soakCluster(options));

program
  .command('acknowledgements')
  .description(
    'A gateway is killed each time that a message by MLLP is stored and not yet acknowledged; each must be recorded once.',
  )
  .option('--kills <n>', 'kills', '200')
  .option('--keep', 'keep the data folder with all logs')
  .action((options: AcknowledgementSoakOptions) =>
    soakAcknowledgements(options),
  );

program
  .command('stops')
  .description(
    'Stops a command at random moments; afterwards no process and no folder may be left.',
  )
  .option('--what <command>', 'test, demo or start', 'test')
  .option('--rounds <n>', 'how often', '20')
  .option(
    '--seed <n>',
    'seed; the same seed gives the same stops after the same times',
    '1',
  )
  .action((options: StopSoakOptions) =>
    soakStops(options, (why) => program.error(why)),
  );

await program.parseAsync();
