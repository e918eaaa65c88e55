import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

test('package.json declares every entry point of src/library, and no other', async () => {
  const { exports } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  const declared = Object.entries(exports)
    .filter(([path]) => path !== './package.json')
    .sort();
  const names = (await readdir(join(ROOT, 'src/library'))).filter((name) => name.endsWith('.ts'));
  const expected = names.sort().map((file) => {
    const name = file.replace(/\.ts$/, '');
    return [`./${name}`, { types: `./dist/library/${name}.d.ts`, default: `./dist/library/${name}.js` }];
  });
  expect(declared).toEqual(expected);
});

test('nothing inside imports an entry point of the library', async () => {
  const importers: string[] = [];
  for (const folder of ['src', 'bench'])
    for (const file of await readdir(join(ROOT, folder), { recursive: true })) {
      if (!file.endsWith('.ts')) continue;
      const text = await readFile(join(ROOT, folder, file), 'utf8');
      if (/from '[^']*\/library\/[^']*'/.test(text)) importers.push(join(folder, file));
    }
  expect(importers).toEqual([]);
});
