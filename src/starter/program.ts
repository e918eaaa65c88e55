import { InvalidArgumentError } from 'commander';
import {
  MONITORING_FREQUENCIES,
  MONITORING_KINDS,
} from '../contract/cohort-monitoring.ts';
import { COHORT_COLORS } from '../contract/cohorts.ts';
import { CONVERSION_TYPES } from '../contract/consolidated-query.ts';
import { DOCUMENT_FORMATS } from '../contract/documents.ts';
import {
  MESSAGE_DIRECTIONS,
  MESSAGE_NETWORKS,
  MESSAGE_SORT,
  MESSAGE_STATUSES,
} from '../contract/messages.ts';
import { SOURCE_TYPES } from '../contract/primitives.ts';
import { runCommandLine } from '../lib/command-line.ts';
import {
  addCommands,
  type CommandAction,
  type CommandWords,
} from '../lib/command-table.ts';
import { EXIT_CODES_HELP, type ExitCode } from '../lib/exit-codes.ts';
import { LiveLines } from '../lib/live-lines.ts';
import { jobIdSchema } from '../orchestrator/patient-onboarding/onboarding-request.ts';
import { bulk } from './commands/bulk.ts';
import { bulkCancel, bulkStatus, bulkSteer } from './commands/bulk-control.ts';
import {
  cohortsAdd,
  cohortsCreate,
  cohortsList,
  cohortsRemove,
  cohortsShow,
} from './commands/cohorts.ts';
import { type CommandContext, withTarget } from './commands/command.ts';
import { documents } from './commands/documents.ts';
import {
  duplicatesDecide,
  duplicatesList,
  duplicatesShow,
} from './commands/duplicates.ts';
import { embed } from './commands/embed.ts';
import { exportCancel, exportRecords } from './commands/export.ts';
import {
  healthLinkCreate,
  healthLinkList,
  healthLinkRevoke,
} from './commands/health-links.ts';
import {
  messagesList,
  messagesSend,
  messagesShow,
} from './commands/messages.ts';
import {
  monitorBackfill,
  monitorCreate,
  monitorDelete,
  monitorPause,
  monitorResume,
  monitorTrigger,
} from './commands/monitor.ts';
import { monitorList } from './commands/monitor-report.ts';
import {
  notificationsList,
  notificationsSimulate,
} from './commands/notifications.ts';
import { onboard } from './commands/onboard.ts';
import { patientsList, patientsShow } from './commands/patients.ts';
import { cancel, query, retry, status } from './commands/query.ts';
import { records } from './commands/records.ts';
import { redrive } from './commands/redrive.ts';
import {
  messagesSimulate,
  simulateClear,
  simulateList,
  simulateSet,
  TROUBLES,
} from './commands/simulate.ts';
import { viewsList, viewsRun, viewsShow } from './commands/views.ts';
import table from './commands.json' with { type: 'json' };
import { describeError } from './errors.ts';
import {
  parseSources,
  SIMULATED_EVENTS,
  SUBJECT_KINDS,
} from './input/arguments.ts';
import { PERSON_OUTCOMES } from './target/simulated-person.ts';
import type { Env } from './target/target.ts';
import type { CommandResult, Streams } from './terminal.ts';

export interface StarterOptions extends Streams {
  /** Aborted by Ctrl-C: following ends, the work continues. */
  interrupted: AbortSignal;
  env?: Env;
}

/**
 * A command of `commands.json`: gets its arguments, its options and the
 * context.
 */
type Starter = (...given: Parameters<CommandAction>) => Promise<CommandResult>;

/** Gives a command about one monitoring its two arguments as one. */
const ofMonitoring =
  <O>(
    command: (
      which: { cohortId: string; kind: (typeof MONITORING_KINDS)[number] },
      options: O,
      context: CommandContext,
    ) => Promise<CommandResult>,
  ): Starter =>
  (cohortId, kind, options, context) =>
    command({ cohortId, kind }, options, context);

const COMMANDS: Readonly<Record<keyof typeof table.commands, Starter>> = {
  onboard,
  query,
  status,
  retry,
  redrive,
  cancel,
  documents,
  embed,
  'health-link create': healthLinkCreate,
  'health-link list': healthLinkList,
  'health-link revoke': healthLinkRevoke,
  'patients list': (options, context) => patientsList([], options, context),
  'patients find': patientsList,
  'patients show': patientsShow,
  'duplicates list': duplicatesList,
  'duplicates show': duplicatesShow,
  'duplicates accept': (id, _, context) =>
    duplicatesDecide(id, 'accept', context),
  'duplicates refuse': (id, _, context) =>
    duplicatesDecide(id, 'refuse', context),
  'cohorts list': cohortsList,
  'cohorts create': cohortsCreate,
  'cohorts show': cohortsShow,
  'cohorts add': cohortsAdd,
  'cohorts remove': cohortsRemove,
  bulk,
  'bulk status': bulkStatus,
  'bulk pause': (job, options, context) =>
    bulkSteer('pause', job, options, context),
  'bulk resume': (job, options, context) =>
    bulkSteer('resume', job, options, context),
  'bulk cancel': bulkCancel,
  records,
  export: exportRecords,
  'export cancel': exportCancel,
  'views list': viewsList,
  'views show': viewsShow,
  'views run': viewsRun,
  'notifications list': notificationsList,
  'notifications simulate': notificationsSimulate,
  'messages list': messagesList,
  'messages send': messagesSend,
  'messages show': messagesShow,
  'messages simulate': messagesSimulate,
  'monitor create': ofMonitoring(monitorCreate),
  'monitor list': monitorList,
  'monitor trigger': ofMonitoring(monitorTrigger),
  'monitor pause': ofMonitoring(monitorPause),
  'monitor resume': ofMonitoring(monitorResume),
  'monitor backfill': ofMonitoring(monitorBackfill),
  'monitor delete': ofMonitoring(monitorDelete),
  'simulate set': simulateSet,
  'simulate list': simulateList,
  'simulate clear': simulateClear,
};

/** Runs one command line (without `node` and the script). Never rejects. */
export function runStarter(
  argv: readonly string[],
  options: StarterOptions,
): Promise<ExitCode> {
  const json = argv.includes('--json');
  return runCommandLine(argv, {
    name: 'starter',
    out: (text) => options.stdout.write(text),
    err: (text) => options.stderr.write(text),
    describe: describeError,
    define(program, print) {
      program
        .description(table.description)
        .showHelpAfterError('(run with --help to see the options)')
        .addHelpText(
          'after',
          `\n${table.about.join('\n')}\n\n${EXIT_CODES_HELP}`,
        );
      addCommands(program, table, WORDS, (name) => async (...given) => {
        // Commander adds itself after the arguments and the options.
        const args = given.slice(0, -2);
        const common = given.at(-2);
        // Stdout carries only the document.
        const live = new LiveLines(json ? options.stderr : options.stdout);
        const terminal = { live, interrupted: options.interrupted };
        await print(
          await withTarget(common, { terminal, env: options.env }, (context) =>
            COMMANDS[name](...args, common, context),
          ),
        );
      });
    },
  });
}

const WORDS: CommandWords = {
  vocabulary: {
    SOURCE_TYPES,
    SUBJECT_KINDS,
    PERSON_OUTCOMES,
    DOCUMENT_FORMATS,
    CONVERSION_TYPES,
    COHORT_COLORS,
    MESSAGE_DIRECTIONS,
    MESSAGE_NETWORKS,
    MESSAGE_STATUSES,
    MESSAGE_SORTS: MESSAGE_SORT.flatMap((column) => [
      `${column}=asc`,
      `${column}=desc`,
    ]),
    MONITORING_FREQUENCIES,
    MONITORING_KINDS,
    SIMULATED_EVENTS,
    TROUBLES: Object.keys(TROUBLES),
    BEHAVIOURS: Object.entries(TROUBLES)
      .map(([name, { help }]) => `${name}: ${help}`)
      .join('; '),
  },
  parsers: {
    sources: parseSources,
    seconds(text) {
      const value = Number(text);
      if (value > 0 && value <= TIMEOUT_MAX_SECONDS) return value;
      throw new InvalidArgumentError(
        'Expected a number of seconds greater than 0.',
      );
    },
    job(text) {
      if (jobIdSchema.safeParse(text).success) return text;
      throw new InvalidArgumentError(
        'Expected 1 to 255 characters, not only blanks.',
      );
    },
  },
  footer: EXIT_CODES_HELP,
};
const TIMEOUT_MAX_SECONDS = 1_000_000;
