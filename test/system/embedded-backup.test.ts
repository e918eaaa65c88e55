import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { expect, test } from 'vitest';
import {
  RECONCILE_LOOP_MESSAGES,
  type ReconcileLoopStatus,
} from '../../src/contract/reconcile-workflow.ts';
import { RECONCILE_WORKFLOW_ID } from '../../src/contract/temporal.ts';
import {
  BackupError,
  backUp,
  restore,
} from '../../tools/embedded/backup/backup.ts';
import { testFolder } from '../support/postgres-tools.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

/**
 * Writes without a pause until it is stopped. Returns the number of
 * acknowledged rows.
 */
function writeTo({ rows }: TestStack) {
  let isStopped = false;
  const numbers: number[] = [];
  const work = (async () => {
    for (let number = 1; !isStopped; number++) {
      await rows(
        'insert into load (number, text) values ($1::int, repeat(md5($1::int::text), 50))',
        [number],
      );
      numbers.push(number);
    }
  })();
  return {
    numbers,
    async stop() {
      isStopped = true;
      await work;
    },
  };
}

test('a stack is backed up while it works; the copy starts, has everything up to then, and goes on', async () => {
  const folder = await testFolder();
  const [dataDir, backup, restored] = ['data', 'backup', 'restored'].map(
    (name) => join(folder, name),
  ) as [string, string, string];
  const stack = await startTestStack({ dataDir });
  const workflowId = `left-open/${uuidv7()}`;
  let before = 0;
  try {
    await stack.rows('create table load (number int primary key, text text)');
    await stack.temporal.workflow.start('unknownToThisBuild', {
      taskQueue: 'nobody',
      workflowId,
    });
    const load = writeTo(stack);
    await expect.poll(() => load.numbers.length).toBeGreaterThan(20);
    before = load.numbers.length;
    await mkdir(join(dataDir, 'audit-heads'), { recursive: true });
    await writeFile(join(dataDir, 'audit-heads', 'head'), 'signed');
    const lines = await backUp(dataDir, backup);
    expect(lines.at(-1)).toContain('is complete');
    await load.stop();
    expect(load.numbers.length).toBeGreaterThan(before);
    await expect(backUp(dataDir, backup)).rejects.toThrow(BackupError);
  } finally {
    await stack.stop();
  }

  await expect(restore(backup, dataDir)).rejects.toThrow(
    'is not empty; nothing was changed',
  );
  await restore(backup, restored);
  expect(await readFile(join(restored, 'audit-heads', 'head'), 'utf8')).toBe(
    'signed',
  );
  await rm(join(restored, 'audit-heads', 'head'));
  expect((await stat(join(restored, 'secrets.json'))).mode & 0o777).toBe(0o600);
  const copy = await startTestStack({ dataDir: restored });
  try {
    expect(copy.secrets).toEqual(stack.secrets);
    const [found] = await copy.rows<{ count: number; last: number }>(
      'select count(*)::int as count, max(number) as last from load',
    );
    expect(found?.count).toBeGreaterThanOrEqual(before);
    expect(found?.count).toBe(found?.last);
    expect(
      (await copy.temporal.workflow.getHandle(workflowId).describe()).status
        .name,
    ).toBe('RUNNING');
    const status = () =>
      copy.temporal.workflow
        .getHandle(RECONCILE_WORKFLOW_ID)
        .query<ReconcileLoopStatus>(RECONCILE_LOOP_MESSAGES.status);
    await expect
      .poll(async () => (await status()).last?.rounds, { timeout: 240_000 })
      .toBeGreaterThan(1);
  } finally {
    await copy.stop();
  }
});
