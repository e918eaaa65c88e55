import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { onTestFinished } from 'vitest';

/** A folder that goes with the test. */
export async function testFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'exchange-embedded-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** The rows of one statement. */
export async function querySql(
  databaseUrl: string,
  statement: string,
): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

/** Programs that another user needs to run code of this clone. */
export const CLONE = [
  process.execPath,
  fileURLToPath(new URL('.', import.meta.url)),
];

/**
 * Why this user cannot use these files and folders: one lies in a folder that
 * others may not enter, as `/root` often is.
 */
export function barredFrom(
  paths: string[],
  user: { uid: number; gid: number },
): string | undefined {
  const barred = paths.find((path) => {
    const test = ['-c', 'test -r "$0" && test -x "$0"', path];
    return spawnSync('/bin/sh', test, { ...user, cwd: '/' }).status !== 0;
  });
  return barred === undefined
    ? undefined
    : `other users may not enter ${barred}`;
}

/**
 * Runs a script of test/support as a process of its own, as another user if
 * wanted, until its first message.
 */
export async function runHolder<M>(
  script: string,
  args: string[],
  user?: { uid: number; gid: number },
): Promise<{ holder: ChildProcess; message: M }> {
  const holder = fork(
    fileURLToPath(new URL(script, import.meta.url)),
    [...args],
    {
      execArgv: [],
      detached: true,
      ...user,
      // The temporary folder of the test run belongs to us; another user writes
      // into the folder that it was given.
      ...(user === undefined
        ? {}
        : { env: { ...process.env, TMPDIR: args[0] } }),
    },
  );
  onTestFinished(() => void holder.kill('SIGKILL'));
  const ended = once(holder, 'exit').then(([code]) => {
    throw new Error(
      `${script} ended with code ${code} before its first message`,
    );
  });
  const [message] = (await Promise.race([once(holder, 'message'), ended])) as [
    M,
  ];
  return { holder, message };
}

/** Kills a process that is our child and waits until it is gone. */
export async function killAndWait(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
