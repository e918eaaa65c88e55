import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const DECISIONS = fileURLToPath(
  new URL('../../../docs/decisions/', import.meta.url),
);
const files = readdirSync(DECISIONS).filter((name) => /^\d{4}-/.test(name));
const index = readFileSync(join(DECISIONS, 'README.md'), 'utf8');
const listed = [
  ...index.matchAll(/^\| (\d+) \| \[.*?\]\((\d{4}-[^)]+)\) \|/gm),
].map(([, number = '', file = '']) => ({ number, file }));

test('the index lists every decision once, under its number', () => {
  expect(listed.map(({ file }) => file).sort()).toEqual(files.sort());

  const misnumbered = listed.filter(
    ({ number, file }) => number.padStart(4, '0') !== file.slice(0, 4),
  );
  expect(misnumbered).toEqual([]);
});

test.each(files)(
  '%s begins with its number and says what was decided',
  (file) => {
    const text = readFileSync(join(DECISIONS, file), 'utf8');
    expect(text.startsWith(`# ${Number(file.slice(0, 4))}`)).toBe(true);
    expect(text).toMatch(/Decision[:.]?\*\*|^\*\*Chosen/m);
  },
);
