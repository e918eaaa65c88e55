import { randomBytes } from 'node:crypto';
import { link, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from './json-file.ts';
import { commandLineOf } from './orphan.ts';

const FILE = 'stack.lock';
const TRIES = 5;

/** The command line stands beside the pid because systems use pids again. */
const holderSchema = z.object({ pid: z.number().int(), commandLine: z.string() });

/** Thrown when another stack that still runs uses the data folder. */
export class DataFolderInUseError extends Error {
  override readonly name = 'DataFolderInUseError';
}

/**
 * Takes the data folder for this process; what it gives releases it. The lock of a process that was killed is taken
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
          `${dataDir} is in use by the stack with the pid ${pid}. Stop that one (Ctrl-C, or kill ${pid}), ` +
            'or set DATA_DIR to another folder.',
        );
      await removeStale(path);
    }
  } finally {
    await rm(mine, { force: true });
  }
  throw new DataFolderInUseError(`${dataDir} is being taken by another stack at this moment.`);
}

/** Pid of the living process that holds the folder. */
export async function lockHolder(dataDir: string): Promise<number | undefined> {
  const holder = await readJsonFile(join(dataDir, FILE), holderSchema).catch(() => undefined);
  if (holder === undefined) return undefined;
  return (await commandLineOf(holder.pid)) === holder.commandLine ? holder.pid : undefined;
}

/** Only one of several starters can move a file away, and it looks again at what it got. */
async function removeStale(path: string): Promise<void> {
  const seen = await readFile(path, 'utf8').catch(() => undefined);
  if (seen === undefined) return;
  const aside = `${path}.${randomBytes(6).toString('hex')}`;
  await rename(path, aside).catch(() => undefined);
  const got = await readFile(aside, 'utf8').catch(() => undefined);
  // Another starter took the lock between our look and our move: give it back.
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
