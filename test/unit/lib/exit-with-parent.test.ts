import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { makeTestFolder } from '../../support/test-folder.ts';

test('a part whose starter ends while it is still loading ends too', async () => {
  const script = fileURLToPath(
    new URL('../../support/stack-child.ts', import.meta.url),
  );
  const child = fork(script, ['--stack', await makeTestFolder()], {
    execArgv: [],
  });
  child.disconnect();
  expect(await once(child, 'exit')).toEqual([0, null]);
});
