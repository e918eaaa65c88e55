import { spawnSync } from 'node:child_process';
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ci-run-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs files of tests by vitest, with the reporter of this project. */
async function vitest(files: Record<string, string>) {
  const folder = await newFolder();
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  await writeFile(
    join(folder, 'vitest.config.ts'),
    `import { CountReporter } from '${resolve('test/support/count-reporter.ts')}';
     export default { cacheDir: './cache', test: { maxWorkers: 1, reporters: ['default', new CountReporter()] } };`,
  );
  for (const [name, text] of Object.entries(files))
    await writeFile(
      join(folder, `${name}.test.ts`),
      `import { beforeAll, expect, test } from 'vitest';\n${text}`,
    );
  const cli = resolve('node_modules/vitest/vitest.mjs');
  const { TEST_COUNTS: _, ...env } = process.env;
  const { stdout, status } = spawnSync(process.execPath, [cli, 'run'], {
    cwd: folder,
    encoding: 'utf8',
    env,
  });
  return { lines: stdout.trimEnd().split('\n'), status };
}

const PASSES = `test('passes', () => {});`;

describe('the last line of a test run', () => {
  test('counts tests, files that could not be loaded or set up, and errors that no test caught', async () => {
    const { lines, status } = await vitest({
      mixed: `${PASSES} test('fails', () => expect(1).toBe(2)); test.skip('is skipped', () => {});`,
      unloaded: `throw new Error('not loaded');`,
      unprepared: `beforeAll(() => { throw new Error('not set up'); }); ${PASSES}`,
      uncaught: `test('passes', async () => {
        setTimeout(() => { throw new Error('nobody waits'); }, 1);
        await new Promise((resolve) => setTimeout(resolve, 200));
      });`,
    });
    expect(lines.at(-1)).toBe('2 passed, 4 failed');
    const skipped = lines.filter((line) => line.includes(' skipped in '));
    expect(skipped.sort()).toEqual([
      '1 skipped in mixed.test.ts',
      '1 skipped in unprepared.test.ts',
    ]);
    expect(status).toBe(1);
  });

  test('says 0 failed when all is well', async () => {
    const { lines, status } = await vitest({ fine: PASSES });
    expect([lines.at(-1), status]).toEqual(['1 passed, 0 failed', 0]);
  });
});

describe('.ci/run', () => {
  /** `npm` answers as the given shell commands say, by its first words. */
  async function ciRun(answers: Record<string, string>) {
    const folder = await newFolder();
    await mkdir(join(folder, 'bin'));
    await cp('.ci/run', join(folder, '.ci/run'));
    const cases = Object.entries(answers).map(
      ([words, commands]) => `"${words}") ${commands} ;;`,
    );
    const tools = {
      npm: `case "$1 $2" in ${cases.join('\n')} esac`,
      chromium: 'true',
    };
    for (const [name, script] of Object.entries(tools)) {
      await writeFile(join(folder, 'bin', name), `#!/bin/sh\n${script}\n`);
      await chmod(join(folder, 'bin', name), 0o755);
    }
    const { stdout, status } = spawnSync(join(folder, '.ci/run'), {
      encoding: 'utf8',
      env: {
        ...process.env,
        PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
      },
    });
    const lines = stdout.trimEnd().split('\n');
    return { last: lines.at(-1), failures: lines.filter(isFailure), status };
  }
  const isFailure = (line: string) => /^(failed|second try): /.test(line);
  const says = (line: string, code: number) =>
    `printf '%b\\n' "${line}" >> "$TEST_COUNTS"; exit ${code}`;

  test('adds up both test runs, and ends with what failed', async () => {
    const passed = {
      'run test': says('7 passed, 0 failed', 0),
      'run test:system': says('2 passed, 0 failed', 0),
    };
    expect(await ciRun(passed)).toEqual({
      last: '9 passed, 0 failed',
      failures: [],
      status: 0,
    });
    const failed = {
      ...passed,
      'run test': says('failed: a.test.ts > one: 1\n7 passed, 1 failed', 1),
      'run test:system': says(
        'second try: b.test.ts > two\n1 passed, 3 failed',
        1,
      ),
    };
    expect(await ciRun(failed)).toEqual({
      last: '8 passed, 4 failed',
      failures: ['failed: a.test.ts > one: 1', 'second try: b.test.ts > two'],
      status: 1,
    });
  });

  test('fails when a step fails, when a run ends without its count or badly, and when nothing was tested', async () => {
    const passed = {
      'run test': says('7 passed, 0 failed', 0),
      'run test:system': says('2 passed, 0 failed', 0),
    };
    expect(await ciRun({ 'ci --no-audit': 'exit 1' })).toEqual({
      last: '0 passed, 1 failed',
      failures: ['failed: npm ci --no-audit --no-fund'],
      status: 1,
    });
    expect(await ciRun({ ...passed, 'run check': 'exit 1' })).toEqual({
      last: '9 passed, 1 failed',
      failures: ['failed: npm run check'],
      status: 1,
    });
    const endsBadly = says('2 passed, 0 failed', 1);
    expect(await ciRun({ ...passed, 'run test:system': endsBadly })).toEqual({
      last: '9 passed, 1 failed',
      failures: ['failed: npm run test:system'],
      status: 1,
    });
    const both = {
      ...passed,
      'run test': 'exit 0',
      'run test:system': 'exit 1',
    };
    expect(await ciRun(both)).toEqual({
      last: '0 passed, 2 failed',
      failures: ['failed: npm run test', 'failed: npm run test:system'],
      status: 1,
    });
    const silent = { ...passed, 'run test:system': 'exit 0' };
    expect(await ciRun(silent)).toEqual({
      last: '7 passed, 1 failed',
      failures: ['failed: npm run test:system'],
      status: 1,
    });
    const empty = {
      'run test': says('0 passed, 0 failed', 0),
      'run test:system': says('0 passed, 0 failed', 0),
    };
    expect((await ciRun(empty)).status).toBe(1);
  });
});
