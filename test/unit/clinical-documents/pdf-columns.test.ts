import { expect, test } from 'vitest';
import { pdfColumns } from '../../../src/exchange/delivery/documents/render.ts';

const cell = (text: string) => ({
  runs: [{ text }],
  isHeading: false,
  columns: 1,
  rows: 1,
});

test('a time and a code get the width of their whole text, so that they are not wrapped beside a long one', () => {
  const time = '30 May 2022, 16:07 UTC';
  const code = 'SNOMED CT 1260009003';
  const { columns } = pdfColumns({
    kind: 'table',
    head: [['Start', 'Description', 'Code'].map(cell)],
    rows: [[time, 'Removal of plaque '.repeat(20), code].map(cell)],
  });
  expect(columns.map(({ width }) => width)).toEqual([
    time.length,
    expect.any(Number),
    code.length,
  ]);
});
