import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ci-report-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

type Tests = Record<string, 'passed' | 'failed' | 'skipped'>;

/** Writes a report as vitest does; a file without tests could not be loaded. */
const report = async (name: string, files: Record<string, Tests>): Promise<string> => {
  const testResults = Object.entries(files).map(([file, tests]) => ({
    name: file,
    status: Object.keys(tests).length === 0 || Object.values(tests).includes('failed') ? 'failed' : 'passed',
    assertionResults: Object.entries(tests).map(([fullName, status]) => ({ fullName, status })),
  }));
  const path = join(folder, name);
  await writeFile(path, JSON.stringify({ testResults }));
  return path;
};
const run = (...args: string[]) => {
  const { stdout, status } = spawnSync(process.execPath, ['.ci/report.mjs', ...args], { encoding: 'utf8' });
  return { lines: stdout.trim().split('\n'), status };
};

describe('the last line of a CI run', () => {
  test('counts what passed and what failed, and a file that could not be loaded as one failure', async () => {
    const first = await report('failed', {
      a: { one: 'passed', two: 'failed' },
      b: { three: 'skipped' },
      c: {},
    });
    expect(run('count', first)).toEqual({ lines: ['1 skipped', '1 passed, 2 failed'], status: 1 });
    expect(run('failed-files', first).lines).toEqual(['a', 'c']);
  });

  test('names a test that passed only at the second try, and does not count it as failed', async () => {
    const first = await report('first', { a: { one: 'passed', two: 'failed' }, b: { three: 'passed' } });
    const second = await report('second', { a: { one: 'passed', two: 'passed' } });
    expect(run('count', first, second)).toEqual({
      lines: ['Flaky, passed only at the second try: two', '3 passed, 0 failed'],
      status: 0,
    });
  });

  test('counts as failed what failed twice, and what the second try did not reach', async () => {
    const first = await report('first', { a: { one: 'failed' }, b: { two: 'failed' } });
    const second = await report('second', { a: { one: 'failed' } });
    expect(run('count', first, second)).toEqual({ lines: ['0 passed, 2 failed'], status: 1 });
  });

  test('is a failure without a report, or with no test that passed', async () => {
    expect(run('count', join(folder, 'none')).lines.at(-1)).toBe('0 passed, 1 failed');
    const skipped = await report('skipped', { a: { one: 'skipped' } });
    expect(run('count', skipped).status).toBe(1);
  });
});
