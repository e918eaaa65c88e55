/** Why the operating system refused to read or write, by the code of the error. */
const REASONS: Readonly<Record<string, string>> = {
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
};

/** An error of the file system. It names the path that it is about, unless it happened while a file was written. */
export const isFileError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error &&
  'code' in error &&
  (('path' in error && typeof error.path === 'string') ||
    ('syscall' in error && error.syscall === 'write' && String(error.code) in REASONS));

/** The reason in words, such as `no such file or folder`. */
export const fileReason = ({ code = '' }: NodeJS.ErrnoException): string =>
  REASONS[code] ?? (code === '' ? 'unknown reason' : `error ${code}`);
