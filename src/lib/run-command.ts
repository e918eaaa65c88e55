import { execFile } from 'node:child_process';

export interface CommandOptions {
  timeoutMs: number;
  cwd?: string;
  uid?: number;
  gid?: number;
  /** The whole environment; default: that of this process. */
  env?: Record<string, string>;
}

/**
 * Thrown when a program cannot be started, exits with a code other than 0, or
 * exceeds its timeout.
 */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  /**
   * System error code if the program could not be started: ENOENT, EACCES, …
   */
  readonly code: string | undefined;

  constructor(message: string, code?: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Runs a program without a shell and returns its standard output. Throws
 * CommandError.
 */
export function runCommand(
  file: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const { timeoutMs, ...rest } = options;
    execFile(
      file,
      [...args],
      {
        ...rest,
        timeout: timeoutMs,
        killSignal: 'SIGKILL',
        maxBuffer: 4 * 1024 * 1024,
      },
      (error, stdout, stderr) => {
        if (error === null) return resolve(stdout);
        const code = typeof error.code === 'string' ? error.code : undefined;
        const why = error.killed
          ? `took longer than ${timeoutMs} ms`
          : lastLine(stderr) || error.message;
        reject(new CommandError(`${file}: ${why}`, code));
      },
    );
  });
}

/**
 * The last line, or that of the error if Node.js ended with one: its own last
 * line is its version.
 */
const lastLine = (text: string): string =>
  /^\w*Error\b.*$/m.exec(text)?.[0] ??
  text.trim().split('\n').at(-1)?.trim() ??
  '';
