import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileReason, UsageError } from '../errors.ts';

/** New folders are for their owner only: the files are about patients. */
const MODE = 0o700;
/** Enough that a full disk refuses it. */
const PROBE_BYTES = 64 * 1024;

/**
 * Creates the folder of `--out` if needed, and checks by a file that it can be written: before the work, so that no work is
 * done whose result cannot be saved. Throws UsageError.
 */
export async function prepareOutFolder(folder: string): Promise<void> {
  const path = resolve(folder);
  const found = await stat(path).catch(() => undefined);
  if (found !== undefined && !found.isDirectory())
    throw new UsageError(`Cannot save into ${path}: it is not a folder. Pass a folder as --out.`);
  try {
    await makeFolder(path);
    await probe(path);
  } catch (error) {
    throw new UsageError(
      `Cannot save into ${path}: ${reasonOf(error as NodeJS.ErrnoException)}. Pass another --out.`,
    );
  }
}

/** Checks before the work that a new file can be created at the path of `--out`; creates its folder. Throws UsageError. */
export async function checkOutFile(path: string): Promise<void> {
  if ((await stat(path).catch(() => undefined)) !== undefined)
    throw new UsageError(`${path} already exists. Pass another file as --out.`);
  await prepareOutFolder(dirname(path));
}

/** Not `recursive`: below folders that refuse new ones with ENOENT, such as /proc, Node.js then tries for ever. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: MODE }).catch(ignore('EEXIST'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    await makeFolder(dirname(path));
    await mkdir(path, { mode: MODE }).catch(ignore('EEXIST'));
  }
}

const ignore = (code: string) => (error: NodeJS.ErrnoException) => {
  if (error.code !== code) throw error;
};

async function probe(folder: string): Promise<void> {
  const path = join(folder, `.${process.pid}.part`);
  try {
    await writeFile(path, Buffer.alloc(PROBE_BYTES), { flag: 'wx', mode: 0o600 });
  } finally {
    await rm(path, { force: true });
  }
}

/** The folder above is there, so ENOENT means that nothing can be created in it. */
const reasonOf = (error: NodeJS.ErrnoException): string =>
  error.code === 'ENOENT' ? 'nothing can be created there' : fileReason(error);
