import { randomBytes } from 'node:crypto';
import { link, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { commandLineOf } from '../../lib/command-line-of.ts';
import { readJsonFile, writeJsonFile } from './json-file.ts';

const FILE = 'stack.lock';
const TRIES = 5;

/** The command line is stored with the pid because operating systems reuse pids. */
const holderSchema = z.object({ pid: z.number().int(), commandLine: z.string() });

/** Thrown when another running stack uses the data folder. */
export class DataFolderInUseError extends Error {
  override readonly name = 'DataFolderInUseError';
}

/**
 * Locks the data folder for this process and returns a function that releases it. The lock of a killed process is taken
 * over. Throws DataFolderInUseError.
 */
export async function lockDataFolder(dataDir: string): Promise<() => Promise<void>> {
  const path = join(dataDir, FILE);
  const mine = `${path}.${randomBytes(6).toString('hex')}`;
  await writeJsonFile(mine, { pid: process.pid, commandLine: (await commandLineOf(process.pid)) ?? '' });
  try {
    for (let tries = 0; tries < TRIES; tries++) {
      if (await linked(mine, path)) return () => rm(path, { force: true });
      const pid = await lockHolder(dataDir);
      if (pid !== undefined)
        throw new DataFolderInUseError(
          `The data folder ${dataDir} is in use by another stack (pid ${pid}). Stop that stack (Ctrl-C, or kill ${pid}), ` +
            'or set DATA_DIR to another folder.',
        );
      await removeStale(path);
    }
  } finally {
    await rm(mine, { force: true });
  }
  throw new DataFolderInUseError(
    `Another stack is just starting on the data folder ${dataDir}. Stop it, or set DATA_DIR to another folder.`,
  );
}

/** Returns the pid of the running process that holds the lock; undefined when there is none. */
export async function lockHolder(dataDir: string): Promise<number | undefined> {
  const holder = await readJsonFile(join(dataDir, FILE), holderSchema).catch(() => undefined);
  if (holder === undefined) return undefined;
  return (await commandLineOf(holder.pid)) === holder.commandLine ? holder.pid : undefined;
}

/** Removes a stale lock. Only one of several processes can rename the file, and it checks what it renamed. */
async function removeStale(path: string): Promise<void> {
  const seen = await readFile(path, 'utf8').catch(() => undefined);
  if (seen === undefined) return;
  const aside = `${path}.${randomBytes(6).toString('hex')}`;
  await rename(path, aside).catch(() => undefined);
  const got = await readFile(aside, 'utf8').catch(() => undefined);
  // Another process took the lock between our read and our rename: restore it.
  if (got !== undefined && got !== seen) await link(aside, path).catch(() => undefined);
  await rm(aside, { force: true });
}

const linked = (from: string, to: string): Promise<boolean> =>
  link(from, to).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false;
      throw error;
    },
  );
