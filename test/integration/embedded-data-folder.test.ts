import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  ensureSecrets,
  readConnection,
} from '../../src/local-stack/connection-file.ts';
import {
  lockDataFolder,
  lockHolder,
} from '../../src/local-stack/stack-lock.ts';
import { ensurePorts } from '../../tools/embedded/stack-ports.ts';
import { testFolder } from '../support/postgres-tools.ts';

async function leaveLock(
  dataDir: string,
  pid: number,
  commandLine: string,
): Promise<void> {
  await writeFile(
    join(dataDir, 'stack.lock'),
    JSON.stringify({ pid, commandLine }),
  );
}

/** Pid of a process that is gone. */
async function deadPid(): Promise<number> {
  const child = spawn('true');
  await once(child, 'exit');
  return child.pid ?? 0;
}

describe('the data folder', () => {
  // Of 16 starters, two had the folder in four of ten rounds when a stale lock
  // was removed before it was replaced.
  test.each(Array.from({ length: 20 }, (_, round) => round + 1))(
    'goes to one of several starters, and to the next when that one lets go (round %i)',
    async () => {
      const dataDir = await testFolder();
      await leaveLock(dataDir, await deadPid(), 'npm start');
      const results = await Promise.allSettled(
        Array.from({ length: 16 }, () => lockDataFolder(dataDir)),
      );
      const locks = results.flatMap((result) =>
        result.status === 'fulfilled' ? [result.value] : [],
      );
      expect(locks).toHaveLength(1);
      for (const result of results)
        if (result.status === 'rejected')
          expect(result.reason).toMatchObject({ name: 'DataFolderInUseError' });
      expect(await lockHolder(dataDir)).toBe(process.pid);
      await locks[0]?.();
      await (await lockDataFolder(dataDir))();
      expect(await readdir(dataDir)).toEqual([]);
    },
  );

  test('is not held by a stranger that got the pid of a killed stack', async () => {
    const dataDir = await testFolder();
    const stranger = spawn('sleep', ['600']);
    onTestFinished(() => void stranger.kill());
    await once(stranger, 'spawn');
    await leaveLock(dataDir, stranger.pid ?? 0, 'node tools/embedded/main.ts');
    await (await lockDataFolder(dataDir))();
  });

  test('keeps its keys, for its owner only, and makes those that are missing', async () => {
    const dataDir = await testFolder();
    const first = await ensureSecrets(dataDir);
    const path = join(dataDir, 'secrets.json');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await ensureSecrets(dataDir)).toEqual(first);
    await writeFile(path, JSON.stringify({ ...first, intakeKey: undefined }));
    const { intakeKey, ...others } = await ensureSecrets(dataDir);
    expect(first).toMatchObject(others);
    expect(intakeKey).not.toBe(first.intakeKey);
  });

  test('whose keys are damaged starts nothing, and no key is quoted', async () => {
    const dataDir = await testFolder();
    await writeFile(join(dataDir, 'secrets.json'), '{"dataKeys": "k1:secret');
    await expect(ensureSecrets(dataDir)).rejects.toThrow(
      /^\/.+secrets\.json is damaged, or was written by another version\. Restore it from a backup\.$/,
    );
  });

  test('keeps its ports, but for one that is taken, and names a wanted one that is taken', async () => {
    const dataDir = await testFolder();
    const first = await ensurePorts(dataDir);
    expect(new Set(Object.values(first)).size).toBe(Object.keys(first).length);
    const taker = createServer().listen(first.gateway, '127.0.0.1');
    onTestFinished(() => void taker.close());
    await once(taker, 'listening');
    const second = await ensurePorts(dataDir);
    expect(second).toEqual({ ...first, gateway: second.gateway });
    expect(second.gateway).not.toBe(first.gateway);
    await expect(
      ensurePorts(dataDir, { gateway: first.gateway }),
    ).rejects.toThrow(
      `Port ${first.gateway} for gateway is in use by another process. Stop that process, or choose another port with GATEWAY_PORT.`,
    );
  });

  test('of no stack tells how to start one', async () => {
    await expect(readConnection(await testFolder())).rejects.toThrow(
      /Start one with "npm start"/,
    );
  });
});
