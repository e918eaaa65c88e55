import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import {
  constants,
  copyFile,
  mkdir,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { fileReason, UsageError } from '../errors.ts';

/** New folders are for their owner only: the files are about patients. */
const FOLDER_MODE = 0o700;
/** Enough that a full disk refuses it. */
const PROBE_BYTES = 64 * 1024;

/**
 * Creates the folder of `--out` if needed, and checks by a file that it can be
 * written: before the work, so that no work is done whose result cannot be
 * saved. Throws UsageError.
 */
export async function prepareOutFolder(folder: string): Promise<void> {
  const path = resolve(folder);
  const found = await stat(path).catch(() => undefined);
  if (found !== undefined && !found.isDirectory())
    throw new UsageError(
      `Cannot save into ${path}: it is not a folder. Pass a folder as --out.`,
    );
  try {
    await makeFolder(path);
    await probe(path);
  } catch (error) {
    throw new UsageError(
      `Cannot save into ${path}: ${reasonOf(error as NodeJS.ErrnoException)}. Pass another --out.`,
    );
  }
}

/**
 * Checks before the work that a new file can be created at the path of `--out`;
 * creates its folder. Throws UsageError.
 */
export async function checkOutFile(path: string): Promise<void> {
  if ((await stat(path).catch(() => undefined)) !== undefined)
    throw new UsageError(`${path} already exists. Pass another file as --out.`);
  await prepareOutFolder(dirname(path));
}

/**
 * Not `recursive`: below folders that refuse new ones with ENOENT, such as
 * /proc, Node.js then tries for ever.
 */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: FOLDER_MODE }).catch(ignore('EEXIST'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    await makeFolder(dirname(path));
    await mkdir(path, { mode: FOLDER_MODE }).catch(ignore('EEXIST'));
  }
}

const ignore = (code: string) => (error: NodeJS.ErrnoException) => {
  if (error.code !== code) throw error;
};

async function probe(folder: string): Promise<void> {
  const path = join(folder, `.${process.pid}.part`);
  try {
    await writeFile(path, Buffer.alloc(PROBE_BYTES), {
      flag: 'wx',
      mode: 0o600,
    });
  } finally {
    await rm(path, { force: true });
  }
}

/**
 * The folder above is there, so ENOENT means that nothing can be created in it.
 */
const reasonOf = (error: NodeJS.ErrnoException): string =>
  error.code === 'ENOENT' ? 'nothing can be created there' : fileReason(error);

/** Writes a file that appears only once it is complete. */
export async function replace(
  path: string,
  write: (unfinished: string) => Promise<void>,
): Promise<void> {
  const unfinished = unfinishedOf(path);
  try {
    await write(unfinished);
    await rename(unfinished, path);
  } finally {
    await rm(unfinished, { force: true });
  }
}

const unfinishedOf = (path: string): string =>
  join(dirname(path), `.${basename(path)}.${process.pid}.part`);

/** Readable by the owner only: the content is about patients. */
const FILE_MODE = 0o600;
const TRIES_MAX = 1_000;

/**
 * Writes a file at this path. If another file exists there, writes to
 * `name-2.csv`, `name-3.csv` … instead, because the user may have begun to
 * correct that file. A file with the same content is not written again. Returns
 * the path of the file.
 */
export async function saveAside(
  path: string,
  content: Readable,
  sha256: string,
): Promise<string> {
  const unfinished = unfinishedOf(path);
  try {
    // Not by a stream, which may still create the file after it has been
    // destroyed.
    await writeFile(unfinished, content, { mode: FILE_MODE });
    for (let number = 1; number <= TRIES_MAX; number += 1) {
      const candidate = number === 1 ? path : numbered(path, number);
      if (existsSync(candidate)) {
        if ((await sha256Of(candidate)) === sha256) return candidate;
        continue;
      }
      // Fails if a file was created in the meantime; a rename would replace it.
      const isMine = await copyFile(
        unfinished,
        candidate,
        constants.COPYFILE_EXCL,
      ).then(
        () => true,
        (error: NodeJS.ErrnoException) => {
          if (error.code === 'EEXIST') return false;
          throw error;
        },
      );
      if (isMine) return candidate;
    }
    throw new Error(
      `Cannot save ${path}: too many files of this name exist. Remove some of them.`,
    );
  } finally {
    await rm(unfinished, { force: true });
  }
}

function numbered(path: string, number: number): string {
  const extension = extname(path);
  return `${path.slice(0, path.length - extension.length)}-${number}${extension}`;
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path)) hash.update(piece);
  return hash.digest('hex');
}
