import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const PACKAGE = fileURLToPath(new URL('../', import.meta.url));
const { dependencies } = JSON.parse(
  readFileSync(join(PACKAGE, 'package.json'), 'utf8'),
);
const { files } = JSON.parse(
  readFileSync(join(PACKAGE, 'tsconfig.build.json'), 'utf8'),
);

const IMPORT =
  /^(?:import|export) (?:type )?(?:\w+|\*(?: as \w+)?|\{[^}]*\}) from '([^']+)'/gm;

/** What the files import of packages, however many files are between. */
function packagesOf(entries: readonly string[]): Set<string> {
  const packages = new Set<string>();
  const seen = new Set(entries);
  for (const file of seen)
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(IMPORT))
      if (name.startsWith('.')) seen.add(join(dirname(file), name));
      else if (!name.startsWith('node:')) packages.add(name);
  return packages;
}

test('the client brings what its sources import, and nothing else: no Temporal, no database', () => {
  const entries = files.map((file: string) => join(PACKAGE, file));
  expect([...packagesOf(entries)].sort()).toEqual(
    Object.keys(dependencies).sort(),
  );
});
