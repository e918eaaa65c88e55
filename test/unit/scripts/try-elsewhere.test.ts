import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

const SCRIPT = resolve('scripts/try-elsewhere');

interface Workflow {
  jobs: { elsewhere: { strategy: { matrix: { circumstance: string[] } } } };
}

test('the hosted workflow tries every circumstance that scripts/try-elsewhere can make', () => {
  const { status, stderr } = spawnSync(SCRIPT, ['nowhere'], {
    encoding: 'utf8',
  });
  expect(status).toBe(2);
  const [, names = ''] =
    /^Unknown: nowhere\. Expected some of: (.+)$/m.exec(stderr) ?? [];
  const { jobs } = parse(
    readFileSync('.github/workflows/ci.yml', 'utf8'),
  ) as Workflow;
  expect(jobs.elsewhere.strategy.matrix.circumstance).toEqual(names.split(' '));
});
