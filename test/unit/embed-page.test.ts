import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

test('the modules of the embedded page, which are served as they are written, have no type errors', () => {
  const compile = () =>
    execFileSync(
      process.execPath,
      ['node_modules/typescript/bin/tsc', '-p', 'src/exchange/delivery/embed/page'],
      {
        cwd: ROOT,
        encoding: 'utf8',
      },
    );
  expect(compile()).toBe('');
});
