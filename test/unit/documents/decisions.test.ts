import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const DECISIONS = fileURLToPath(
  new URL('../../../docs/decisions/', import.meta.url),
);
const read = (name: string) => readFileSync(join(DECISIONS, name), 'utf8');
const files = readdirSync(DECISIONS).filter((name) => /^\d{4}-/.test(name));
const rows = [
  ...read('README.md').matchAll(
    /^\| \d+ \| \[.*?\]\((\d{4}-[^)]+)\) \| (.*) \|$/gm,
  ),
].map(([, file = '', status = '']) => ({ file, status }));

/** The decisions that a text names as superseding another one. */
const supersedingIn = (text: string) => {
  const [, names = ''] = /superseded(?: in part)? by (.*)/i.exec(text) ?? [];
  return [...names.matchAll(/\((\d{4}-[^)]+\.md)\)/g)].map(
    ([, file = '']) => file,
  );
};

test('the index lists every decision once', () => {
  expect(rows.map(({ file }) => file).sort()).toEqual(files.sort());
});

test.each(files)(
  '%s says at its top by what it is superseded, as the index does',
  (file) => {
    const [, , top = ''] = read(file).split('\n');
    const status = rows.find((row) => row.file === file)?.status ?? '';
    expect(top.startsWith('**Superseded') ? supersedingIn(top) : []).toEqual(
      supersedingIn(status),
    );
  },
);

test.each(files)('%s is superseded by later decisions only', (file) => {
  for (const later of supersedingIn(read(file).split('\n')[2] ?? ''))
    expect(later > file).toBe(true);
});
