import { ConfigError } from '../../../config.ts';
import { InvalidConnection } from '../../sources/connections/connection-options.ts';
import { AdminError, type AdminResult, type AdminTarget } from './command.ts';
import { type CommonOptions, createAdminProgram, isUsageError } from './program.ts';

export interface AdminSurroundings {
  /** Writes to stdout. The next write waits until this one has completed. */
  write(text: string): void | Promise<void>;
  writeError(text: string): void;
  /** Opens the database that the commands work on. Throws ConfigError or AdminError with a message that states what to do. */
  open(options: CommonOptions): Promise<AdminTarget>;
  renderTable(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[];
}

const EXIT = { done: 0, error: 1, refused: 2, notWhole: 3 } as const;

/** Runs one command line (without `node` and the script) and returns the exit code. Never rejects. */
export async function runAdmin(argv: readonly string[], surroundings: AdminSurroundings): Promise<number> {
  const json = argv.includes('--json');
  const { write, writeError } = surroundings;
  let exitCode: number = EXIT.done;
  const runAlone = async (command: () => Promise<AdminResult>) => {
    const result = await command();
    if (result.stream !== undefined) for await (const text of result.stream) await write(text);
    else await write(json ? `${JSON.stringify(result.document)}\n` : textOf(result, surroundings));
    if (result.failed === true) exitCode = EXIT.notWhole;
  };
  const run = async (options: CommonOptions, command: (target: AdminTarget) => Promise<AdminResult>) => {
    const target = await surroundings.open(options);
    try {
      await runAlone(() => command(target));
    } finally {
      await target.store.close();
    }
  };
  try {
    const program = createAdminProgram({ run, runAlone, out: (text) => void write(text), err: writeError });
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (isUsageError(error)) return error.exitCode === 0 ? EXIT.done : EXIT.refused;
    const isAsked = [AdminError, ConfigError, InvalidConnection].some((type) => error instanceof type);
    writeError(`${isAsked ? (error as Error).message : faultOf(error)}\n`);
    return isAsked ? EXIT.refused : EXIT.error;
  }
}

function textOf(
  { lines = [], table }: AdminResult,
  { renderTable }: Pick<AdminSurroundings, 'renderTable'>,
): string {
  const shown = table === undefined ? lines : [...renderTable(table.head, table.rows), ...lines];
  return shown.map((line) => `${line}\n`).join('');
}

function faultOf(error: unknown): string {
  const code = (error as { code?: unknown }).code;
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'ETIMEDOUT')
    return `The database cannot be reached (${code}); check that it is running and that DATABASE_URL is right.`;
  if (code === '42P01' || code === '42703')
    return 'The database schema is out of date; update it with: npm run migrate';
  return error instanceof Error ? error.message : 'Unknown error';
}
