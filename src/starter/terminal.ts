import type { CommandOutcome } from '../lib/command-line.ts';
import { EXIT, type ExitCode } from '../lib/exit-codes.ts';
import type { LineStream, LiveLines } from '../lib/live-lines.ts';

export type CommandResult = CommandOutcome;

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

/**
 * Exit code when following ended before the work did: by Ctrl-C, or by
 * `--timeout`.
 */
export const unfinishedExit = (interrupted: AbortSignal): ExitCode =>
  interrupted.aborted ? EXIT.interrupted : EXIT.running;

export const howToRetry = (requestId: string, source: string): string =>
  `Retry the ${source} source with: npm run starter -- retry ${requestId} ${source}`;

export const howToFollow = (subject: string): string =>
  `The work continues without this terminal. Check on it with: npm run starter -- status ${subject}`;
