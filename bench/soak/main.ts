import { Command } from 'commander';
import { KILLABLE } from '../../test/faults/kill/holds.ts';
import { type BulkSoakOptions, soakBulk } from './bulk.ts';
import { type KillSoakOptions, soakKills } from './kills.ts';
import { type MonitoringSoakOptions, soakMonitoring } from './monitoring.ts';

const program = new Command('npm run soak --').description(
  'Long runs of a whole stack while parts of it are killed.',
);

program
  .command('kills', { isDefault: true })
  .description('SIGKILL parts of a running stack at seeded moments; every query must end as it would have.')
  .option('--rounds <n>', 'kills of each part', '20')
  .option('--part <name>', `${KILLABLE.join(', ')} or all`, 'all')
  .option('--seed <n>', 'the same seed plans the same kills', '1')
  .option('--window <text>', 'only moments whose name contains this')
  .option('--keep', 'leave the data folder, with all logs, behind')
  .action((options: KillSoakOptions) => soakKills(options, (why) => program.error(why)));

program
  .command('monitoring')
  .description(
    'Two cohorts with common patients are monitored while the worker is killed; each patient once.',
  )
  .option('--patients <n>', 'patients of the larger cohort', '10000')
  .option('--per-minute <n>', 'limit of queries per minute; monitoring may use 80 % of it', '12000')
  .option('--kills <n>', 'of the worker', '2')
  .option('--accepted-only', 'the queries are accepted but not carried out: only the runs are looked at')
  .option('--minutes <n>', 'give up after', '60')
  .option('--keep', 'leave the data folder, with all logs, behind')
  .action((options: MonitoringSoakOptions) => soakMonitoring(options));

program
  .command('bulk')
  .description(
    'One CSV twice: undisturbed, and while the worker and PostgreSQL are killed; the same must come of it.',
  )
  .option('--rows <n>', 'rows of the file', '100000')
  .option('--to-query <n>', 'patients of it who have not opted out of queries', '500')
  .option('--minutes <n>', 'give up a step after', '20')
  .option('--keep', 'leave the data folder, with all logs, behind')
  .action((options: BulkSoakOptions) => soakBulk(options));

await program.parseAsync();
