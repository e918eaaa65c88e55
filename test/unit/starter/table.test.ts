import { expect, test } from 'vitest';
import { widthOf } from '../../../src/lib/output-width.ts';
import { renderTable } from '../../../src/lib/table.ts';

const HEAD = ['query', 'detail', 'reason'];
const ROWS = [
  ['0198f1c2', 'The lab source failed: it refused', 'there is no consent'],
  ['0198f1c3', 'completed', ''],
];

test('a table as wide as its cells stands in one line for each row', () => {
  expect(renderTable(HEAD, ROWS)).toEqual([
    'query     detail                             reason',
    '────────  ─────────────────────────────────  ───────────────────',
    '0198f1c2  The lab source failed: it refused  there is no consent',
    '0198f1c3  completed',
  ]);
});

test('in a narrower terminal the widest cells are broken between words, and ids stay whole', () => {
  const lines = renderTable(HEAD, ROWS, 44);
  expect(lines).toEqual([
    'query     detail            reason',
    '────────  ────────────────  ────────────────',
    '0198f1c2  The lab source    there is no',
    '          failed: it        consent',
    '          refused',
    '0198f1c3  completed',
  ]);
});

test('where single words are too wide for the terminal, each row is a list', () => {
  expect(renderTable(HEAD, ROWS, 22)).toEqual([
    'query   0198f1c2',
    'detail  The lab source',
    '        failed: it',
    '        refused',
    'reason  there is no',
    '        consent',
    '',
    'query   0198f1c3',
    'detail  completed',
    'reason',
  ]);
});

test('colours count for no width', () => {
  const red = `${String.fromCharCode(27)}[31mfailed${String.fromCharCode(27)}[39m`;
  expect(renderTable(['a', 'b'], [[red, 'x']], 9).at(-1)).toBe(`${red}  x`);
});

test('output whose width is unknown is as wide as COLUMNS says', () => {
  expect(widthOf({ columns: 120 }, { COLUMNS: '80' })).toBe(120);
  expect(widthOf({ columns: 0 }, { COLUMNS: '80' })).toBe(80);
  expect(widthOf({}, { COLUMNS: '80' })).toBe(80);
  for (const COLUMNS of [undefined, '', '0', '-5', 'wide', '80; rm'])
    expect(widthOf({}, { COLUMNS })).toBe(undefined);
});
