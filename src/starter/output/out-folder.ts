import { access, constants, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { UsageError } from '../errors.ts';
import { fileReason } from '../file-errors.ts';

/** New folders are for their owner only: the files are about patients. */
const MODE = 0o700;

/**
 * Creates the folder of `--out` if needed, and checks that it can be written: before the work, so that no work is done
 * whose result cannot be saved. Throws UsageError.
 */
export async function prepareOutFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch(() => undefined);
  if (found !== undefined && !found.isDirectory())
    throw new UsageError(`Cannot save into ${folder}: it is a file. Pass a folder as --out.`);
  try {
    await mkdir(folder, { recursive: true, mode: MODE });
    await access(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw cannotSave(folder, error as NodeJS.ErrnoException);
  }
}

/** Checks before the work that a new file can be created at the path of `--out`; creates its folder. Throws UsageError. */
export async function checkOutFile(path: string): Promise<void> {
  if ((await stat(path).catch(() => undefined)) !== undefined)
    throw new UsageError(`${path} already exists. Pass another file as --out.`);
  const folder = dirname(path);
  await prepareOutFolder(folder);
}

const cannotSave = (folder: string, error: NodeJS.ErrnoException): UsageError =>
  new UsageError(`Cannot save into ${folder}: ${fileReason(error)}. Pass another --out.`);
