import { ConfigError } from '../../../config.ts';
import {
  type CommandOutcome,
  runCommandLine,
} from '../../../lib/command-line.ts';
import {
  EXIT,
  EXIT_CODES_HELP,
  type ExitCode,
} from '../../../lib/exit-codes.ts';
import { renderTable } from '../../../lib/table.ts';
import { isConnectionFault } from '../../platform/database/postgres-errors.ts';
import { InvalidConnection } from '../../sources/connections/connection-options.ts';
import {
  type AdminCommandOptions,
  AdminError,
  type AdminResult,
  type AdminTarget,
} from './command.ts';
import { addAccountCommands } from './command-line/accounts.ts';
import { addBundleCommands } from './command-line/bundles.ts';
import { addConnectionCommands } from './command-line/connections.ts';
import { addDirectoryCommands } from './command-line/directories.ts';
import { addMailboxCommands } from './command-line/mailboxes.ts';
import { addMembershipCommands } from './command-line/memberships.ts';
import { addOperationsCommands } from './command-line/operations.ts';
import { addAdminRecordCommands } from './command-line/records.ts';
import type {
  Admin,
  Copying,
  RunAdmin,
  RunCopying,
} from './command-line/run-admin.ts';

export interface AdminSurroundings {
  /** Writes to stdout. The next write waits until this one has completed. */
  write(text: string): void | Promise<void>;
  writeError(text: string): void;
  /**
   * Opens the database that the commands work on. Throws ConfigError or
   * AdminError with a message that states what to do.
   */
  open(options: AdminCommandOptions): Promise<AdminTarget>;
}

const ABOUT = [
  'Works directly on the database: on DATABASE_URL if it is set, else on the running embedded stack of the data folder',
  '(npm start). Access to either is sufficient for all commands, and there is no other way to create accounts and keys.',
  'Every change is recorded in the audit of the account, with the actor "admin".',
].join('\n');

/**
 * Runs one command line of `npm run admin` (without `node` and the script) and
 * returns the exit code. Never rejects.
 */
export const runAdmin = (
  argv: readonly string[],
  { open, write, writeError }: AdminSurroundings,
): Promise<ExitCode> =>
  runCommandLine(argv, {
    name: 'admin',
    out: write,
    err: writeError,
    describe,
    define(program, print) {
      program
        .description(
          'Manages accounts, their facilities, API keys and connections, and their audit.',
        )
        .enablePositionalOptions()
        .showHelpAfterError('(use --help to show the options)')
        .addHelpText('after', `\n${ABOUT}\n\n${EXIT_CODES_HELP}`);
      addAccountCommands(program, run);
      addOperationsCommands(program, run);
      addConnectionCommands(program, run);
      addMailboxCommands(program, run);
      addBundleCommands(program, run);
      addMembershipCommands(program, run);
      addDirectoryCommands(program, run);
      addAdminRecordCommands(program, run, runWithoutDatabase);

      function run(command: Admin): ReturnType<RunAdmin> {
        return async (...given) => {
          // Commander adds itself after the arguments and the options.
          const args = given.slice(0, -2);
          const { dataDir, json: _, ...options } = given.at(-2);
          const target = await open({ dataDir });
          try {
            await print(
              commandOutcome(await command(target, ...args, options)),
            );
          } finally {
            await target.store.close();
          }
        };
      }

      function runWithoutDatabase(command: Copying): ReturnType<RunCopying> {
        return async ({ dataDir: _, json: __, ...options }) => {
          const tell = (line: string) => writeError(`${line}\n`);
          await print(commandOutcome(await command(options, tell)));
        };
      }
    },
  });

function commandOutcome({
  document,
  lines = [],
  table: rows,
  stream,
  failed,
  isIncomplete,
}: AdminResult): CommandOutcome {
  const shown =
    rows === undefined
      ? lines
      : [...renderTable(rows.head, rows.rows), ...lines];
  return {
    exitCode: isIncomplete ? EXIT.error : failed ? EXIT.partial : EXIT.done,
    document,
    lines: shown,
    stream,
  };
}

function describe(error: unknown): { message: string; exitCode: ExitCode } {
  const isAsked = [AdminError, ConfigError, InvalidConnection].some(
    (type) => error instanceof type,
  );
  if (isAsked)
    return { message: (error as Error).message, exitCode: EXIT.usage };
  return { message: faultOf(error), exitCode: EXIT.error };
}

function faultOf(error: unknown): string {
  const code = (error as { code?: unknown }).code;
  if (isConnectionFault(error))
    return `The database cannot be reached (${String(code ?? (error as Error).message)}); check that it is running and that DATABASE_URL is right.`;
  if (code === '42P01' || code === '42703')
    return 'The database schema is out of date; update it with: npm run migrate';
  return error instanceof Error ? error.message : 'Unknown error';
}
