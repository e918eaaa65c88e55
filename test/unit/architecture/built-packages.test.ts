import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

interface Manifest {
  exports: Record<string, { default: string }>;
  dependencies: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

const manifestIn = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));

/** From `./dist/library/client.js` to the source that it is built from. */
const entriesOf = ({ exports }: Manifest): string[] =>
  Object.values(exports).map((entry) =>
    entry.default.replace('./dist/', 'src/').replace(/\.js$/, '.ts'),
  );

const IMPORT =
  /(?:^(?:import|export) (?:type )?(?:[\w*{][^;']*? from )?|\bimport\(\s*|\brequire\()'([^']+)'/gm;

/** What the files import of packages, however many files are between. */
function packagesOf(entries: readonly string[]): Set<string> {
  const packages = new Set<string>();
  const seen = new Set(entries);
  for (const file of seen) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    for (const [, name = ''] of text.matchAll(IMPORT))
      if (name.startsWith('.')) seen.add(join(dirname(file), name));
      else if (!name.startsWith('node:')) packages.add(packageOf(name));
  }
  return packages;
}

const packageOf = (name: string): string =>
  name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');

test.each(['packages/client', 'packages/library'])(
  '%s brings what its sources import, in the versions that are tested, and nothing else',
  (folder) => {
    const manifest = manifestIn(folder);
    const named = { ...manifest.dependencies, ...manifest.peerDependencies };
    expect(Object.keys(named).sort()).toEqual(
      [...packagesOf(entriesOf(manifest))].sort(),
    );
    expect(manifestIn('.').dependencies).toMatchObject(named);
  },
);
