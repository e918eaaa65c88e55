import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { columnWidths } from '../src/fitted-tables.ts';
import { row } from '../src/parts.ts';

const titled = (...titles: string[]) => titles.map((title) => ({ title }));
const repeated = (times: number, ...cells: string[]) =>
  Array.from({ length: times }, () => row(...cells));
const NAME =
  'Removal of subgingival plaque and calculus from all teeth using dental instrument';

describe('a column of a table', () => {
  test('is as wide as its values, and room goes to those that would wrap', () => {
    const [date = 0, name = 0, origin = 0] = columnWidths(
      titled('Date', 'Procedure', 'Origin'),
      repeated(9, '12 May 2026', NAME, 'HIE'),
    );
    expect(name).toBeGreaterThan(3 * date);
    expect(date).toBeGreaterThan(origin);
    // With the shares of a table that knows nothing of its rows, this was the
    // other way round.
    expect(origin).toBeLessThan('HIE'.length + 10);
  });

  test('with few long values does not make the others wrap', () => {
    const rows = [
      ...repeated(19, 'Tobacco smoking status', 'No'),
      row('PRAPARE', 'Within the last year '.repeat(30)),
    ];
    const [name = 0, value = 0] = columnWidths(
      titled('Observation', 'Value'),
      rows,
    );
    expect(name).toBeGreaterThanOrEqual('Tobacco smoking status'.length);
    expect(value).toBeGreaterThan(name);
  });

  test('keeps the width of its date beside columns that must wrap', () => {
    const [date = 0, ...others] = columnWidths(
      titled('Date', 'Report', 'Conclusion', 'By'),
      repeated(5, '12 May 2026, 06:45 UTC', NAME, NAME, NAME),
    );
    expect(date).toBeGreaterThanOrEqual('12 May 2026, 06:45 UTC'.length);
    for (const other of others) expect(other).toBeCloseTo(others[0] ?? 0);
  });

  test('has room for each word of its title, and all fit a line, whatever the values', () => {
    const titles = [
      'Date',
      'Where and with whom',
      'Medication',
      'Status',
      'Origin',
    ];
    fc.assert(
      fc.property(
        fc.array(
          fc.array(fc.string({ maxLength: 200 }), {
            minLength: 5,
            maxLength: 5,
          }),
        ),
        (rows) => {
          const widths = columnWidths(
            titled(...titles),
            rows.map((cells) => row(...cells)),
          );
          expect(
            widths.reduce((sum, width) => sum + width, 0),
          ).toBeLessThanOrEqual(128.001);
          for (const [index, title] of titles.entries())
            for (const word of title.split(' '))
              expect(widths[index]).toBeGreaterThan(word.length);
        },
      ),
    );
  });
});
