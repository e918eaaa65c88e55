import { readFile } from 'node:fs/promises';
import { fileReason, UsageError } from '../errors.ts';

/** Reads a file that the user named. Throws UsageError, with the reason in words. */
export const readInputFile = (path: string): Promise<Buffer> => readFile(path).catch(throwUnreadable(path));

/** For `catch`: throws UsageError for a file that cannot be read. */
export const throwUnreadable =
  (path: string) =>
  (error: NodeJS.ErrnoException): never => {
    throw new UsageError(`Cannot read ${path}: ${fileReason(error)}.`);
  };
