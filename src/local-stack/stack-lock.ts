import { randomBytes } from 'node:crypto';
import { link, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { commandLineOf } from '../lib/command-line-of.ts';
import { readJsonFile, writeJsonFile } from './json-file.ts';

const FILE = 'stack.lock';
const TRIES = 5;

/**
 * The command line is stored with the pid because operating systems reuse pids.
 */
const holderSchema = z.object({
  pid: z.number().int(),
  commandLine: z.string(),
});

/** Thrown when another running stack uses the data folder. */
export class DataFolderInUseError extends Error {
  override readonly name = 'DataFolderInUseError';
}

/**
 * Locks the data folder for this process and returns a function that releases
 * it. The lock of a killed process is taken over. Throws DataFolderInUseError.
 */
export async function lockDataFolder(
  dataDir: string,
): Promise<() => Promise<void>> {
  const path = join(dataDir, FILE);
  const mine = `${path}.${randomBytes(6).toString('hex')}`;
  await writeJsonFile(mine, {
    pid: process.pid,
    commandLine: (await commandLineOf(process.pid)) ?? '',
  });
  const release = () => rm(path, { force: true });
  try {
    for (let tries = 0; tries < TRIES; tries++) {
      if (await linked(mine, path)) return release;
      const pid = await lockHolder(dataDir);
      if (pid !== undefined)
        throw new DataFolderInUseError(
          `The data folder ${dataDir} is in use by another stack (pid ${pid}). Stop that stack (Ctrl-C, or kill ${pid}), ` +
            'or set DATA_DIR to another folder.',
        );
      if (await takeOver(mine, path)) return release;
    }
  } finally {
    await rm(mine, { force: true });
  }
  throw new DataFolderInUseError(
    `Another stack is just starting on the data folder ${dataDir}. Stop it, or set DATA_DIR to another folder.`,
  );
}

/**
 * Returns the pid of the running process that holds the lock; undefined when
 * there is none.
 */
export async function lockHolder(dataDir: string): Promise<number | undefined> {
  const pid = await lockAt(join(dataDir, FILE));
  return pid === 'stale' ? undefined : pid;
}

/**
 * The pid of the running process whose lock this is; `stale` if that is gone,
 * undefined if there is no lock.
 */
async function lockAt(path: string): Promise<number | 'stale' | undefined> {
  const holder = await readJsonFile(path, holderSchema).catch(
    () => 'damaged' as const,
  );
  if (holder === undefined) return undefined;
  if (
    holder === 'damaged' ||
    (await commandLineOf(holder.pid)) !== holder.commandLine
  )
    return 'stale';
  return holder.pid;
}

/**
 * Replaces the lock of a killed process by this one's. One process at a time
 * may, and it looks again first: nothing else changes a lock whose process is
 * gone, so no other one is replaced.
 */
async function takeOver(mine: string, path: string): Promise<boolean> {
  const permit = `${path}.takeover`;
  if (!(await linked(mine, permit))) {
    // Left by a process that was killed within these few lines.
    if ((await lockAt(permit)) === 'stale') await rm(permit, { force: true });
    return false;
  }
  try {
    const mayReplace = (await lockAt(path)) === 'stale';
    if (mayReplace) await rename(mine, path);
    return mayReplace;
  } finally {
    await rm(permit, { force: true });
  }
}

const linked = (from: string, to: string): Promise<boolean> =>
  link(from, to).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false;
      throw error;
    },
  );
