import { runCommandLine } from '../lib/command-line.ts';
import { EXIT_CODES_HELP, type ExitCode } from '../lib/exit-codes.ts';
import { LiveLines } from '../lib/live-lines.ts';
import { addBulkCommands } from './command-line/bulk.ts';
import { addDocumentCommands } from './command-line/documents.ts';
import { addMessageCommands } from './command-line/messages.ts';
import { addMonitorCommands } from './command-line/monitor.ts';
import { addPatientCommands } from './command-line/patients.ts';
import { addRecordCommands } from './command-line/records.ts';
import type { RunStarter, Starter } from './command-line/run-starter.ts';
import { addSimulateCommands } from './command-line/simulate.ts';
import { addWorkCommands } from './command-line/work.ts';
import { withTarget } from './commands/command.ts';
import { describeError } from './errors.ts';
import type { Env } from './target/target.ts';
import type { Streams } from './terminal.ts';

export interface StarterOptions extends Streams {
  /** Aborted by Ctrl-C: following ends, the work continues. */
  interrupted: AbortSignal;
  env?: Env;
}

const ABOUT = [
  'Without --base-url, a command talks to the stack that "npm start" runs on the data folder. With --base-url it talks',
  'to that exchange, with the key in API_KEY. Onboardings, bulk onboardings and monitorings run in Temporal. For them',
  'also set TEMPORAL_ADDRESS, DATA_KEYS, ID_HMAC_KEY, and EXCHANGE_ACCOUNT_ID or EXCHANGE_API_KEY to the values of the',
  'worker. The worker itself calls the exchange at its own EXCHANGE_BASE_URL. The "bulk" commands also need',
  'ORCHESTRATOR_FILES: a folder that they share with the worker.',
  '',
  'All work is durable: Ctrl-C stops the watching, not the work.',
].join('\n');

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
        .description(
          'Start work at the exchange and follow it: onboard patients, query networks, save records, monitor cohorts.',
        )
        .enablePositionalOptions()
        .showHelpAfterError('(run with --help to see the options)')
        .addHelpText('after', `\n${ABOUT}\n`)
        .addHelpText('afterAll', EXIT_CODES_HELP);
      addWorkCommands(program, run);
      addDocumentCommands(program, run);
      addPatientCommands(program, run);
      addBulkCommands(program, run);
      addRecordCommands(program, run);
      addMessageCommands(program, run);
      addMonitorCommands(program, run);
      addSimulateCommands(program, run);

      function run(command: Starter): ReturnType<RunStarter> {
        return async (...given) => {
          // Commander adds itself after the arguments and the options.
          const args = given.slice(0, -2);
          const common = given.at(-2);
          // Stdout carries only the document.
          const live = new LiveLines(json ? options.stderr : options.stdout);
          const terminal = { live, interrupted: options.interrupted };
          await print(
            await withTarget(
              common,
              { terminal, env: options.env },
              (context) => command(...args, common, context),
            ),
          );
        };
      }
    },
  });
}
