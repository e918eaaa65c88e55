import { expect, test } from 'vitest';
import { WrittenDecimal } from '#sql-on-fhir';
import { tableFile } from '../../../src/exchange/delivery/bulk-export/views/table-file.ts';

test('a text of a CSV table is no formula, and a number stays a number', () => {
  const columns = ['text', 'amount', 'list'].map((name) => ({
    name,
    type: name === 'amount' ? 'decimal' : 'string',
    isCollection: name === 'list',
  }));
  const rows = [
    ['=HYPERLINK("http://x")', new WrittenDecimal('-1.50'), ['+1']],
    ['@SUM(1)', null, null],
    ['plain', new WrittenDecimal('2'), []],
  ];
  expect(String(Buffer.from(tableFile('csv', columns, rows)))).toBe(
    `text,amount,list
"'=HYPERLINK(""http://x"")",-1.50,"[""+1""]"
'@SUM(1),,
plain,2,[]
`,
  );
});
