import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { DOCUMENT_FORMATS } from '../contract/documents.ts';
import { SOURCE_TYPES } from '../contract/primitives.ts';
import { addBulkCommands } from './bulk-commands.ts';
import { cancel } from './commands/cancel.ts';
import { type CommandContext, type CommonOptions, withTarget } from './commands/command.ts';
import { documents } from './commands/documents.ts';
import { embed } from './commands/embed.ts';
import { onboard } from './commands/onboard.ts';
import { query } from './commands/query.ts';
import { retry } from './commands/retry.ts';
import { status } from './commands/status.ts';
import { describeError } from './errors.ts';
import { EXIT, EXIT_CODES_HELP, type ExitCode } from './exit-codes.ts';
import { examples, WHERE_HELP } from './help.ts';
import { parseSource, parseSources } from './input/sources.ts';
import { SUBJECT_KINDS } from './input/subject.ts';
import { addMessageCommands } from './message-commands.ts';
import { addMonitorCommands } from './monitor-commands.ts';
import { addNotificationCommands } from './notification-commands.ts';
import { addRecordCommands } from './record-commands.ts';
import { PERSON_OUTCOMES } from './target/simulated-person.ts';
import type { Env } from './target/target.ts';
import { type CommandResult, openTerminal, type Streams, writeError, writeResult } from './terminal.ts';

export interface StarterOptions extends Streams {
  /** Raised by Ctrl-C: following ends, the work goes on. */
  interrupted: AbortSignal;
  env?: Env;
}

/** A Temporal server gets slower above that. */
const AT_ONCE_MAX = 40;

/** Runs one command line (without `node` and the script). Never rejects. */
export async function runStarter(argv: readonly string[], options: StarterOptions): Promise<ExitCode> {
  const json = argv.includes('--json');
  let exitCode: ExitCode = EXIT.done;
  const run = async (
    common: CommonOptions,
    command: (context: CommandContext) => Promise<CommandResult>,
  ): Promise<void> => {
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
      // Its text has been written already.
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

type Run = (
  common: CommonOptions,
  command: (context: CommandContext) => Promise<CommandResult>,
) => Promise<void>;

function createProgram(run: Run, { stdout, stderr }: Streams, json: boolean): Command {
  const program = new Command('starter')
    .description(
      'Starts and follows the work of the exchange: onboardings of patients, one or a panel, and network queries.',
    )
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void (json ? stderr : stdout).write(text),
      writeErr: (text) => void stderr.write(text),
    })
    .showHelpAfterError('(--help shows the options)')
    .addHelpText('after', `\n${WHERE_HELP}\n\n${EXIT_CODES_HELP}`);

  following(
    subcommand(
      program,
      'onboard',
      'Onboard patients: create, add to cohorts, query the sources, wait for their webhooks',
    ),
  )
    .option('--sample <keys...>', 'sample patients by their keys; "all" for each of them')
    .option('--file <patient.json>', 'a patient of your own: the body of "create patient" (E4)')
    .option('--cohort <ids...>', 'add the patient to these cohorts')
    .addOption(sourcesOption())
    .option('--realtime', "ask the pharmacy source's immediate path")
    .option('--ias', 'individual access: the person proves who they are before their records are asked for')
    .option('--redirect-url <url>', "where the person comes back (default: a page of the stack's receiver)")
    .addOption(
      new Option('--simulate-person [outcome]', "plays the person at the stack's simulated identity partner")
        .choices(PERSON_OUTCOMES)
        .preset('verified'),
    )
    .option('--job <id>', 'your id of this job: the same id is the same onboarding (default: a new one)')
    .option('--at-once <n>', `how many run at once, at most ${AT_ONCE_MAX}`, atOnce, AT_ONCE_MAX)
    .action((options) => run(options, (context) => onboard(options, context)));

  following(
    subcommand(
      program,
      'query',
      'Start a network query for a patient that the exchange knows, and follow it',
    ),
  )
    .argument('<patientId>', 'id of the patient')
    .addOption(sourcesOption())
    .option('--realtime', "ask the pharmacy source's immediate path")
    .addOption(
      new Option('--purpose <use>', 'purpose of use').choices(['treatment', 'ias']).default('treatment'),
    )
    .action((patientId, options) => run(options, (context) => query(patientId, options, context)));

  subcommand(program, 'status', 'How a query or an onboarding stands, with its attempts and timeline')
    .argument('<id>', 'request id of a query, or job id (or workflow id) of an onboarding')
    .addOption(asOption())
    .action((id, options) => run(options, (context) => status(id, options, context)));

  following(
    subcommand(
      program,
      'retry',
      'Try one source of a query again, while it runs or after its end, and follow it',
    ),
  )
    .argument('<requestId>', 'request id of the query')
    .argument('<source>', SOURCE_TYPES.join(', '), parseSource)
    .action((requestId, source, options) =>
      run(options, (context) => retry(requestId, source, options, context)),
    );

  following(subcommand(program, 'cancel', 'Cancel a query, one of its sources, or an onboarding'))
    .argument('<id>', 'request id of a query, or job id (or workflow id) of an onboarding')
    .addOption(new Option('--source <source>', 'give up this source only').argParser(parseSource))
    .addOption(asOption())
    .action((id, options) => run(options, (context) => cancel(id, options, context)));

  subcommand(program, 'documents', "A patient's documents; with --out they are downloaded")
    .argument('<patientId>', 'id of the patient')
    .option('--out <folder>', 'download them into this folder')
    .addOption(
      new Option('--format <format>', 'have C-CDA documents converted; others come as they are').choices(
        DOCUMENT_FORMATS,
      ),
    )
    .option('--from <date>', 'of this day or later (YYYY-MM-DD)')
    .option('--to <date>', 'of this day or earlier')
    .option('--content <text>', 'with this text in title, description, type or category')
    .action((patientId, options) => run(options, (context) => documents(patientId, options, context)));

  subcommand(program, 'embed', "The address of a patient's embedded page, with a token")
    .argument('<patientId>', 'id of the patient')
    .option('--seconds <n>', 'how long it is good (default and most: 36000)', Number)
    .action((patientId, options) => run(options, (context) => embed(patientId, options, context)));

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

  const notifications = program
    .command('notifications')
    .description('Admissions, fills and results: what was told, what nobody was found for');
  addNotificationCommands({
    run,
    subcommand: (name, description) => subcommand(notifications, name, description),
  });

  const messages = program.command('messages').description('Messages between providers (XDR and Direct)');
  addMessageCommands({
    run,
    subcommand: (name, description) => subcommand(messages, name, description),
    following,
  });

  const monitor = program.command('monitor').description('Scheduled monitoring of cohorts');
  addMonitorCommands({ run, subcommand: (name, description) => subcommand(monitor, name, description) });

  return program;
}

function subcommand(program: Command, name: keyof typeof examples, description: string): Command {
  return program
    .command(name.slice(name.lastIndexOf(' ') + 1))
    .description(description)
    .option('--data-dir <folder>', 'data folder of the running stack (default: DATA_DIR, else .data)')
    .option('--base-url <url>', 'any other exchange instead of the running stack')
    .option(
      '--api-key <key>',
      'its x-api-key; better given as API_KEY or API_KEY_FILE, which others cannot see',
    )
    .option('--facility <id>', 'facility to act for')
    .option('--json', 'one JSON document as the last line of stdout; progress goes to stderr')
    .addHelpText(
      'after',
      `\nExamples:\n${examples[name].map((line) => `  ${line}`).join('\n')}\n\n${EXIT_CODES_HELP}`,
    );
}

const following = (command: Command): Command =>
  command
    .option('--wait', 'follow the work to its end (the default)', true)
    .option('--no-wait', 'return as soon as it is started')
    .option('--timeout <seconds>', 'stop following after that long; the work goes on', seconds);

const sourcesOption = (): Option =>
  new Option('--sources <names>', 'sources, separated by commas')
    .argParser(parseSources)
    .default([...SOURCE_TYPES], SOURCE_TYPES.join(','));

const asOption = (): Option =>
  new Option('--as <kind>', 'what the id is, where it could be both').choices(SUBJECT_KINDS);

function atOnce(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= AT_ONCE_MAX) return value;
  throw new InvalidArgumentError(`give a number from 1 to ${AT_ONCE_MAX}.`);
}

function seconds(text: string): number {
  const value = Number(text);
  if (value > 0 && value <= 1_000_000) return value;
  throw new InvalidArgumentError('give a number of seconds.');
}
