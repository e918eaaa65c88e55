import { Argument, Command, CommanderError, Option } from 'commander';
import { DOCUMENT_FORMATS } from '../contract/documents.ts';
import { SOURCE_TYPES } from '../contract/primitives.ts';
import { addBulkCommands } from './bulk-commands.ts';
import { addCohortCommands } from './cohort-commands.ts';
import type { Run } from './command-group.ts';
import { cancel } from './commands/cancel.ts';
import { withTarget } from './commands/command.ts';
import { documents } from './commands/documents.ts';
import { embed } from './commands/embed.ts';
import { onboard } from './commands/onboard.ts';
import { ops } from './commands/ops.ts';
import { query } from './commands/query.ts';
import { redrive } from './commands/redrive.ts';
import { retry } from './commands/retry.ts';
import { SOURCE_ACTIONS, sources } from './commands/sources.ts';
import { status } from './commands/status.ts';
import { addDuplicateCommands } from './duplicate-commands.ts';
import { describeError } from './errors.ts';
import { EXIT, EXIT_CODES_HELP, type ExitCode } from './exit-codes.ts';
import { addExportCommands } from './export-commands.ts';
import { examples, WHERE_HELP } from './help.ts';
import { parseSource, parseSources } from './input/sources.ts';
import { SUBJECT_KINDS } from './input/subject.ts';
import { addMessageCommands } from './message-commands.ts';
import { addMonitorCommands } from './monitor-commands.ts';
import { addNotificationCommands } from './notification-commands.ts';
import { seconds, wholeNumber } from './option-values.ts';
import { addPatientCommands } from './patient-commands.ts';
import { addRecordCommands } from './record-commands.ts';
import { addSimulateCommands } from './simulate-commands.ts';
import { PERSON_OUTCOMES } from './target/simulated-person.ts';
import type { Env } from './target/target.ts';
import { openTerminal, type Streams, writeError, writeResult } from './terminal.ts';

export interface StarterOptions extends Streams {
  /** Aborted by Ctrl-C: following ends, the work continues. */
  interrupted: AbortSignal;
  env?: Env;
}

/** With more workflows starting at the same time, a Temporal server on one machine slows down. */
const AT_ONCE_MAX = 40;
/** Lifetime of an embed token (docs/interface.md, "E1. Create embed token"). */
const EMBED_SECONDS_MAX = 36_000;

/** Runs one command line (without `node` and the script). Never rejects. */
export async function runStarter(argv: readonly string[], options: StarterOptions): Promise<ExitCode> {
  const json = argv.includes('--json');
  let exitCode: ExitCode = EXIT.done;
  const run: Run = async (common, command) => {
    const terminal = openTerminal(options, { json, interrupted: options.interrupted });
    const result = await withTarget(common, { terminal, env: options.env }, command);
    writeResult(options, result, json);
    exitCode = result.exitCode;
  };
  try {
    await createProgram(run, options, json).parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return EXIT.done;
      // Commander has already printed its message.
      if (json)
        writeError({ ...options, stderr: SILENT }, { exitCode: EXIT.usage, message: error.message }, json);
      return EXIT.usage;
    }
    const described = describeError(error);
    writeError(options, described, json);
    return described.exitCode;
  }
}

const SILENT = { write: () => true };

function createProgram(run: Run, { stdout, stderr }: Streams, json: boolean): Command {
  const program = new Command('starter')
    .description(
      'Start work at the exchange and follow it: onboard patients, query networks, save records, monitor cohorts.',
    )
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void (json ? stderr : stdout).write(text),
      writeErr: (text) => void stderr.write(text),
    })
    .showHelpAfterError('(run with --help to see the options)')
    .addHelpText('after', `\n${WHERE_HELP}\n\n${EXIT_CODES_HELP}`);

  following(
    subcommand(
      program,
      'onboard',
      'Onboard patients: create them, add them to cohorts, query the sources, wait for the webhooks',
    ),
  )
    .option('--sample <keys...>', 'keys of sample patients (samples/patients.json), or "all"')
    .option('--file <patient.json>', 'your own patient: a JSON file with the body of "Create patient" (E4)')
    .option('--cohort <ids...>', 'ids of cohorts to add the patients to')
    .addOption(sourcesOption())
    .option('--realtime', REALTIME)
    .option('--ias', 'individual access: the patient verifies their identity before any source is queried')
    .option(
      '--redirect-url <url>',
      "with --ias: page that the patient returns to (default: a page of the stack's receiver)",
    )
    .addOption(
      new Option(
        '--simulate-person [outcome]',
        "with --ias: act as the patient at the stack's simulated identity partner",
      )
        .choices(PERSON_OUTCOMES)
        .preset('verified'),
    )
    .option(
      '--job <id>',
      'your id for this job; the same id always means the same onboarding (default: a new id)',
    )
    .option(
      '--at-once <n>',
      `how many onboardings run at the same time, up to ${AT_ONCE_MAX}`,
      wholeNumber(1, AT_ONCE_MAX),
      AT_ONCE_MAX,
    )
    .action((options) => run(options, (context) => onboard(options, context)));

  following(
    subcommand(program, 'query', 'Start a network query for a patient of the exchange, and follow it'),
  )
    .argument('<patientId>', 'id of the patient')
    .addOption(sourcesOption())
    .option('--realtime', REALTIME)
    .addOption(
      new Option('--purpose <use>', 'purpose of use').choices(['treatment', 'ias']).default('treatment'),
    )
    .action((patientId, options) => run(options, (context) => query(patientId, options, context)));

  subcommand(program, 'status', 'Show the state of a query or an onboarding, with its attempts and timeline')
    .argument('<id>', 'request id of a query, or job id (or workflow id) of an onboarding')
    .option('--wait', 'follow the work until it ends', false)
    .option('--timeout <seconds>', 'with --wait: stop following after this time; the work continues', seconds)
    .addOption(asOption())
    .action((id, options) => run(options, (context) => status(id, options, context)));

  following(
    subcommand(
      program,
      'retry',
      'Retry one source of a query, while the query runs or after it has ended, and follow it',
    ),
  )
    .argument('<requestId>', 'request id of the query')
    .argument('<source>', SOURCE_TYPES.join(', '), parseSource)
    .action((requestId, source, options) =>
      run(options, (context) => retry(requestId, source, options, context)),
    );

  following(
    subcommand(
      program,
      'redrive',
      'Retry one source of all queries that failed in a given time, and follow it; or follow or cancel such a redrive',
    ),
  )
    .argument('[redriveId]', 'id of a redrive, to follow it or with --cancel to cancel it')
    .addOption(new Option('--source <source>', SOURCE_TYPES.join(', ')).argParser(parseSource))
    .option('--from <time>', 'only queries whose source failed at or after this time')
    .option('--to <time>', 'only queries whose source failed before this time (default: now)')
    .option('--reason <text>', 'only queries whose failure contains this text')
    .option('--dry-run', 'only count the queries')
    .option('--cancel', 'retry no further queries; those already retried continue')
    .action((redriveId, options) => run(options, (context) => redrive(redriveId, options, context)));

  following(subcommand(program, 'cancel', 'Cancel a query, one source of a query, or an onboarding'))
    .argument('<id>', 'request id of a query, or job id (or workflow id) of an onboarding')
    .addOption(new Option('--source <source>', 'cancel only this source of the query').argParser(parseSource))
    .addOption(asOption())
    .action((id, options) => run(options, (context) => cancel(id, options, context)));

  subcommand(program, 'documents', "List a patient's documents; with --out, download them")
    .argument('<patientId>', 'id of the patient')
    .option('--out <folder>', 'download the documents into this folder')
    .addOption(
      new Option(
        '--format <format>',
        'convert C-CDA documents to this format; other documents are not converted',
      ).choices(DOCUMENT_FORMATS),
    )
    .option('--from <date>', 'first day to include (YYYY-MM-DD)')
    .option('--to <date>', 'last day to include (YYYY-MM-DD)')
    .option('--content <text>', 'only documents with this text in the title, description, type or category')
    .action((patientId, options) => run(options, (context) => documents(patientId, options, context)));

  subcommand(program, 'embed', "Print the address of a patient's embedded page, with an access token")
    .argument('<patientId>', 'id of the patient')
    .option(
      '--seconds <n>',
      `lifetime of the token (default and maximum: ${EMBED_SECONDS_MAX})`,
      wholeNumber(1, EMBED_SECONDS_MAX),
    )
    .action((patientId, options) => run(options, (context) => embed(patientId, options, context)));

  const patients = program.command('patients').description('Patients of the account');
  addPatientCommands({ run, subcommand: (name, description) => subcommand(patients, name, description) });

  const duplicates = program.command('duplicates').description('Patients that may be one person');
  addDuplicateCommands({
    run,
    subcommand: (name, description) => subcommand(duplicates, name, description),
  });

  const cohorts = program.command('cohorts').description('Groups of patients');
  addCohortCommands({ run, subcommand: (name, description) => subcommand(cohorts, name, description) });

  addBulkCommands({
    run,
    subcommand: (name, description) => subcommand(program, name, description),
    following,
  });

  addRecordCommands({
    run,
    subcommand: (name, description) => subcommand(program, name, description),
    following,
  });

  addExportCommands({
    run,
    subcommand: (name, description) => subcommand(program, name, description),
    following,
  });

  subcommand(
    program,
    'sources',
    'For operators: show which sources are called and why not; pause or resume one',
  )
    .addArgument(new Argument('[action]', 'what to do').choices(SOURCE_ACTIONS).default('list'))
    .argument('[source]', 'with pause and resume: the source')
    .option(
      '--by <name>',
      'with pause: your name; recorded in the audit of the accounts and shown to operators',
    )
    .option('--reason <text>', 'with pause: why, without patient data; shown to callers whose queries wait')
    .action((action, source, options) =>
      run(options, (context) => sources(action, source, options, context)),
    );

  subcommand(
    program,
    'ops',
    'For operators: show what is stuck, late, dead-lettered or refused now, and the command that helps',
  ).action((options) => run(options, (context) => ops(options, context)));

  const notifications = program
    .command('notifications')
    .description('Notifications of admissions, prescription fills and lab results');
  addNotificationCommands({
    run,
    subcommand: (name, description) => subcommand(notifications, name, description),
  });

  const messages = program
    .command('messages')
    .description('Messages to and from other providers (XDR, Direct)');
  addMessageCommands({
    run,
    subcommand: (name, description) => subcommand(messages, name, description),
    following,
  });

  const monitor = program.command('monitor').description('Scheduled monitoring of cohorts');
  addMonitorCommands({ run, subcommand: (name, description) => subcommand(monitor, name, description) });

  const simulate = program
    .command('simulate')
    .description("Trouble at the sources of the stack's simulator: slow, down, lost callbacks");
  addSimulateCommands({ run, subcommand: (name, description) => subcommand(simulate, name, description) });

  return program;
}

function subcommand(program: Command, name: keyof typeof examples, description: string): Command {
  return program
    .command(name.slice(name.lastIndexOf(' ') + 1))
    .description(description)
    .option('--data-dir <folder>', 'data folder of the running stack (default: DATA_DIR, else .data)')
    .option('--base-url <url>', 'exchange to use instead of the running stack')
    .option(
      '--api-key <key>',
      'API key of that exchange; prefer API_KEY or API_KEY_FILE, which other users of this machine cannot see',
    )
    .option('--facility <id>', 'id of the facility to act for')
    .option('--json', 'one JSON document as the last line of stdout; progress goes to stderr')
    .addHelpText(
      'after',
      `\nExamples:\n${examples[name].map((line) => `  ${line}`).join('\n')}\n\n${EXIT_CODES_HELP}`,
    );
}

const following = (command: Command): Command =>
  command
    .option('--wait', 'follow the work until it ends (the default)', true)
    .option('--no-wait', 'return as soon as the work has started')
    .option('--timeout <seconds>', 'stop following after this time; the work continues', seconds);

const REALTIME =
  'query the pharmacy source in real time; the exchange limits how many such queries a day it allows';

const sourcesOption = (): Option =>
  new Option('--sources <names>', 'sources to query, separated by commas')
    .argParser(parseSources)
    .default([...SOURCE_TYPES], SOURCE_TYPES.join(','));

const asOption = (): Option =>
  new Option('--as <kind>', 'kind of the id, if it could be either').choices(SUBJECT_KINDS);
