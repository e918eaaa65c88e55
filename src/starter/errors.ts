import { ConfigError } from '../config.ts';
import { EXIT, type ExitCode } from '../lib/exit-codes.ts';
import { lookupTable } from '../lib/lookup-table.ts';
import {
  ExchangeCallError,
  type FailureKind,
} from '../orchestrator/client/failures.ts';
import { terminalText } from './progress/plain-text.ts';

/** Invalid options or arguments; the message says what to pass instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The subject does not exist, or its state does not allow the command. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

export interface DescribedError {
  exitCode: ExitCode;
  message: string;
}

/**
 * The message that is printed for an error, and the exit code of the process.
 */
export function describeError(error: unknown): DescribedError {
  if (error instanceof UsageError || error instanceof ConfigError)
    return { exitCode: EXIT.usage, message: error.message };
  if (error instanceof RefusedError)
    return { exitCode: EXIT.refused, message: error.message };
  if (error instanceof ExchangeCallError) {
    const { exitCode, hint } = EXCHANGE_FAILURES[error.kind];
    const wait =
      error.retryAfterMs === undefined
        ? ''
        : ` Try again in ${Math.ceil(error.retryAfterMs / 1000)} s.`;
    const explanation = EXPLAINED.has(error.kind)
      ? error.explanation()
      : undefined;
    const why =
      explanation === undefined
        ? ` (${error.message}).`
        : `: ${sentence(explanation)}`;
    return { exitCode, message: `${hint}${why}${wait}` };
  }
  if (isFileError(error))
    return {
      exitCode: EXIT.error,
      message: `Cannot ${error.path === undefined ? 'write the file' : `access ${error.path}`}: ${fileReason(error)}.`,
    };
  return {
    exitCode: EXIT.error,
    message: error instanceof Error ? error.message : 'Something went wrong',
  };
}

/** Where the exchange's own words say what to change. */
const EXPLAINED: ReadonlySet<FailureKind> = new Set([
  'rejected',
  'not-found',
  'conflict',
]);

/** Foreign text must not steer the terminal. */
const sentence = (text: string): string => {
  const safe = terminalText(text, Number.POSITIVE_INFINITY);
  return /[.!?]$/.test(safe) ? safe : `${safe}.`;
};

const EXCHANGE_FAILURES: Readonly<
  Record<FailureKind, { exitCode: ExitCode; hint: string }>
> = {
  rejected: {
    exitCode: EXIT.refused,
    hint: 'The exchange rejected the request',
  },
  'not-found': {
    exitCode: EXIT.refused,
    hint: 'The exchange has nothing with this id',
  },
  conflict: {
    exitCode: EXIT.refused,
    hint: 'The current state does not allow this',
  },
  unauthorized: {
    exitCode: EXIT.refused,
    hint: 'The API key is not valid for this request',
  },
  'rate-limited': {
    exitCode: EXIT.error,
    hint: 'The rate limit of the exchange has been reached',
  },
  unavailable: { exitCode: EXIT.error, hint: 'The exchange cannot be reached' },
  ambiguous: {
    exitCode: EXIT.error,
    hint: 'The exchange did not answer, so the request may have taken effect; check the state before you repeat it',
  },
  'bad-answer': {
    exitCode: EXIT.error,
    hint: 'The response is not that of an exchange; check the base URL',
  },
};

/**
 * Why the operating system refused to read or write, by the code of the error.
 */
const REASONS: Readonly<Record<string, string>> = lookupTable({
  ENOENT: 'no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a folder',
  ENOTDIR: 'part of the path is a file',
  EEXIST: 'a file of that name already exists',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is exhausted',
  EROFS: 'the file system is read-only',
  EMFILE: 'too many files are open',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'the path leads in a circle',
  EIO: 'the disk failed',
});

/**
 * An error of the file system. It names the path that it is about, unless it
 * happened while a file was written.
 */
const isFileError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error &&
  'code' in error &&
  (('path' in error && typeof error.path === 'string') ||
    ('syscall' in error &&
      error.syscall === 'write' &&
      String(error.code) in REASONS));

/** The reason in words, such as `no such file or folder`. */
export const fileReason = ({ code = '' }: NodeJS.ErrnoException): string =>
  REASONS[code] ?? (code === '' ? 'unknown reason' : `error ${code}`);
