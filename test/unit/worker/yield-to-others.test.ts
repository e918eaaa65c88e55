import { spawnSync } from 'node:child_process';
import { getPriority } from 'node:os';
import { expect, test } from 'vitest';

const yielding = (...before: string[]) => {
  const line = [
    ...before,
    process.execPath,
    'test/support/yielding-process.ts',
  ];
  const [command = '', ...args] = line;
  const { stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  return stdout === '' ? stderr : Number(stdout);
};

test('a worker of background work yields to other processes, and starts also where it was niced more than that', () => {
  const ours = getPriority();
  expect(yielding()).toBe(Math.max(ours, 5));
  expect(yielding('nice', '-n', '7')).toBe(Math.min(Math.max(ours + 7, 5), 19));
});
