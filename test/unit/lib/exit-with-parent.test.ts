import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { systemEnvironment } from '../../../src/config.ts';
import { makeTestFolder } from '../../support/test-folder.ts';

const CHILD = fileURLToPath(
  new URL('../../support/stack-child.ts', import.meta.url),
);

test('a part whose starter ends while it is still loading ends too', async () => {
  const child = fork(CHILD, ['--stack', await makeTestFolder()], {
    execArgv: [],
  });
  child.disconnect();
  expect(await once(child, 'exit')).toEqual([0, null]);
});

test('a part that is killed once it serves leaves what Node.js has compiled', async () => {
  const compiled = await makeTestFolder();
  const child = fork(CHILD, ['--stack', await makeTestFolder()], {
    execArgv: [],
    env: { ...systemEnvironment(), NODE_COMPILE_CACHE: compiled },
  });
  await once(child, 'message');
  child.kill('SIGKILL');
  await once(child, 'exit');
  const kept = await readdir(compiled, {
    recursive: true,
    withFileTypes: true,
  });
  expect(kept.filter((entry) => entry.isFile())).not.toEqual([]);
});
