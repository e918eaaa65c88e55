import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

test('packages/library declares every entry point of src/library, and no other', async () => {
  const { exports } = JSON.parse(
    await readFile(join(ROOT, 'packages/library/package.json'), 'utf8'),
  );
  const declared = Object.entries(exports).sort();
  const names = (await readdir(join(ROOT, 'src/library'))).filter((name) =>
    name.endsWith('.ts'),
  );
  const expected = names.sort().map((file) => {
    const name = file.replace(/\.ts$/, '');
    return [
      `./${name}`,
      {
        types: `./dist/library/${name}.d.ts`,
        default: `./dist/library/${name}.js`,
      },
    ];
  });
  expect(declared).toEqual(expected);
});

test('nothing inside imports an entry point of the library', async () => {
  const importers: string[] = [];
  for (const folder of ['src', 'bench'])
    for (const file of await readdir(join(ROOT, folder), { recursive: true })) {
      if (!file.endsWith('.ts')) continue;
      const text = await readFile(join(ROOT, folder, file), 'utf8');
      if (/from '[^']*\/library\/[^']*'/.test(text))
        importers.push(join(folder, file));
    }
  expect(importers).toEqual([]);
});

test('every package that an installed library brings runs on the Node.js that the library names', async () => {
  const read = async (file: string) =>
    JSON.parse(await readFile(join(ROOT, file), 'utf8'));
  const { packages } = (await read('package-lock.json')) as {
    packages: Record<string, { dev?: boolean; engines?: { node?: string } }>;
  };
  const lowest = (range: string) =>
    Math.min(...range.split('||').map((part) => Number(/\d+/.exec(part)?.[0])));
  const tooNew = Object.entries(packages).filter(
    ([path, { dev, engines }]) =>
      path.startsWith('node_modules/') &&
      dev !== true &&
      lowest(engines?.node ?? '0') > 22,
  );
  expect(tooNew).toEqual([]);
});
