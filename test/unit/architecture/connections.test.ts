import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const OWN_CONNECTION = /\bConnection\.(?:connect|lazy)\(/;

test('every connection of a Temporal client can be closed while a call waits for its retry: openConnection makes it', () => {
  const makers = ['src', 'test', 'bench'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join(folder, file))
      .filter((file) =>
        OWN_CONNECTION.test(
          readFileSync(join(ROOT, file), 'utf8').replaceAll(
            'NativeConnection.',
            '',
          ),
        ),
      ),
  );
  expect(makers).toEqual(['src/temporal/connection.ts']);
});
