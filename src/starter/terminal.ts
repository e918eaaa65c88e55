import { EXIT, type ExitCode } from './exit-codes.ts';
import { type LineStream, LiveLines } from './progress/live-lines.ts';

/** What a command leaves behind: lines for people or a document for programs, and how the process ends. */
export interface CommandResult {
  exitCode: ExitCode;
  lines: readonly string[];
  document: Readonly<Record<string, unknown>>;
}

export interface Streams {
  stdout: LineStream;
  stderr: LineStream;
}

/** Where a command shows its progress, and how it learns that nobody wants to see any more of it. */
export interface Terminal {
  live: LiveLines;
  /** Raised by Ctrl-C. */
  interrupted: AbortSignal;
}

/** With `json` stdout is for the document alone. */
export const openTerminal = (
  { stdout, stderr }: Streams,
  { json, interrupted }: { json: boolean; interrupted: AbortSignal },
): Terminal => ({ live: new LiveLines(json ? stderr : stdout), interrupted });

export function writeResult({ stdout }: Streams, result: CommandResult, json: boolean): void {
  const lines = json ? [JSON.stringify({ ...result.document, exitCode: result.exitCode })] : result.lines;
  for (const line of lines) stdout.write(`${line}\n`);
}

export function writeError(
  { stdout, stderr }: Streams,
  error: { exitCode: ExitCode; message: string },
  json: boolean,
): void {
  stderr.write(`${error.message}\n`);
  if (json) stdout.write(`${JSON.stringify({ error: error.message, exitCode: error.exitCode })}\n`);
}

/** What following ends with when the work has not ended: by Ctrl-C or by --timeout. */
export const unfinishedExit = (interrupted: AbortSignal): ExitCode =>
  interrupted.aborted ? EXIT.interrupted : EXIT.running;

export const howToFollow = (subject: string): string =>
  `The work goes on without this terminal. Look at it with: npm run starter -- status ${subject}`;
