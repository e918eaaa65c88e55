import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const TEST = fileURLToPath(new URL('../../', import.meta.url));
const IMPORT = /\b(?:from|import\() ?'(\.{1,2}\/[^']+)'/g;

/** Imports of a file below `test`, as paths below `test`. */
const importsOf = (file: string): string[] =>
  [...readFileSync(join(TEST, file), 'utf8').matchAll(IMPORT)]
    .map(([, specifier = '']) => normalize(join(dirname(file), specifier)))
    .filter((imported) => !imported.startsWith('..'));

/** The first folder below `test`: unit, store, gateway, … */
const suiteOf = (path: string) => path.split('/')[0] ?? '';
const isBorrowed = (file: string, imported: string) =>
  ![suiteOf(file), 'support'].includes(suiteOf(imported));

test('a test borrows helpers from its own suite and from test/support only', () => {
  const imports = readdirSync(TEST, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => importsOf(file).map((imported) => ({ file, imported })));
  expect(imports).toContainEqual({
    file: 'gateway/messages.test.ts',
    imported: 'support/gateway.ts',
  });
  const borrowed = imports.filter(({ file, imported }) =>
    isBorrowed(file, imported),
  );
  expect(
    borrowed.map(
      ({ file, imported }) => `test/${file} imports test/${imported}`,
    ),
  ).toEqual([]);
});

test('`npm test` starts no whole stack: files that do lie in test/system, test/faults or test/foreign', () => {
  const starters = readdirSync(TEST, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .filter((file) => importsOf(file).includes('support/stack.ts'));
  expect(starters).toContain('system/starter.test.ts');
  const elsewhere = starters.filter(
    (file) =>
      !['system', 'faults', 'foreign', 'support'].includes(suiteOf(file)),
  );
  expect(elsewhere).toEqual([]);
});
