import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/**
 * Rows of docs/dependencies.md: the packages of the first cell, and the cells
 * behind it.
 */
const rows = read('docs/dependencies.md')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => {
    const [names = '', ...cells] = line
      .split('|')
      .map((cell) => cell.trim())
      .slice(1, -1);
    return {
      names: [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
      cells,
    };
  });

const dependenciesOf = (folder: string): string[] => {
  const { dependencies = {} }: { dependencies?: object } = JSON.parse(
    read(join(folder, 'package.json')),
  );
  return Object.keys(dependencies);
};
const packages = readdirSync(join(ROOT, 'packages'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => join('packages', name));

test('docs/dependencies.md has one line for every runtime dependency, those of packages too, and none for anything else', () => {
  const all = new Set(['', ...packages].flatMap(dependenciesOf));
  expect(rows.flatMap(({ names }) => names).sort()).toEqual([...all].sort());
});

test('each line says what the package is for, why this one, and what would replace it', () => {
  for (const { names, cells } of rows) {
    expect(cells, names.join()).toHaveLength(3);
    expect(
      cells.filter((cell) => cell.length < 3),
      names.join(),
    ).toEqual([]);
  }
});
