import { type LineStream, LiveLines } from '../lib/live-lines.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';

/** Result of a command: lines for people, a document for programs (`--json`), and the exit code. */
export interface CommandResult {
  exitCode: ExitCode;
  lines: readonly string[];
  document: Readonly<Record<string, unknown>>;
}

export interface Streams {
  stdout: LineStream;
  stderr: LineStream;
}

/** Where a command prints its progress, and the signal that ends following. */
export interface Terminal {
  live: LiveLines;
  /** Aborted by Ctrl-C. */
  interrupted: AbortSignal;
}

/** With `json`, progress goes to stderr: stdout carries only the document. */
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

/** Exit code when following ended before the work did: by Ctrl-C, or by `--timeout`. */
export const unfinishedExit = (interrupted: AbortSignal): ExitCode =>
  interrupted.aborted ? EXIT.interrupted : EXIT.running;

export const howToRetry = (requestId: string, source: string): string =>
  `Retry the ${source} source with: npm run starter -- retry ${requestId} ${source}`;

export const howToFollow = (subject: string): string =>
  `The work continues without this terminal. Check on it with: npm run starter -- status ${subject}`;
