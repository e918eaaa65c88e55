import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

test.each(['embed', 'health-links'])(
  'the modules of the page of %s, which are served as they are written, have no type errors',
  (room) => {
    const args = [
      'node_modules/typescript/bin/tsc',
      '-p',
      `src/exchange/delivery/${room}/page`,
    ];
    expect(
      execFileSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' }),
    ).toBe('');
  },
);
