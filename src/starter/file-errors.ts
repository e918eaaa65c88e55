import reasons from './file-reasons.json' with { type: 'json' };

/** Why the operating system refused to read or write, by the code of the error. */
const REASONS: Readonly<Record<string, string>> = reasons;

/** An error of the file system. It names the path that it is about, unless it happened while a file was written. */
export const isFileError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error &&
  'code' in error &&
  (('path' in error && typeof error.path === 'string') ||
    ('syscall' in error && error.syscall === 'write' && String(error.code) in REASONS));

/** The reason in words, such as `no such file or folder`. */
export const fileReason = ({ code = '' }: NodeJS.ErrnoException): string =>
  REASONS[code] ?? (code === '' ? 'unknown reason' : `error ${code}`);
