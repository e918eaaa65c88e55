import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkCsv } from '../../../src/shared/bulk-csv/check-csv.ts';
import { createCsvScanner } from '../../../src/shared/bulk-csv/csv-scanner.ts';
import { parseRecords } from '../../../src/shared/bulk-csv/records.ts';

const HEADER =
  'firstName,lastName,dob,gender,addressLine1-1,city-1,state-1,zip-1';
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The same bytes in blocks that end anywhere. */
async function* inBlocks(
  bytes: Uint8Array,
  sizes: readonly number[] = [7],
): AsyncGenerator<Uint8Array> {
  for (let start = 0, turn = 0; start < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield bytes.subarray(start, start + size);
    start += size;
  }
}
const blockSizes = fc.array(fc.integer({ min: 1, max: 9 }), {
  minLength: 1,
  maxLength: 5,
});

function scan(
  bytes: Uint8Array,
  sizes: readonly number[],
): [number, number][] | 'refused' {
  const records: [number, number][] = [];
  const scanner = createCsvScanner((start, end) => records.push([start, end]));
  try {
    for (let start = 0, turn = 0; start < bytes.length; turn += 1) {
      const size = sizes[turn % sizes.length] ?? 1;
      scanner.push(bytes.subarray(start, start + size));
      start += size;
    }
    scanner.end();
    return records;
  } catch {
    return 'refused';
  }
}

const csvParse = (bytes: Uint8Array): string[][] | 'refused' => {
  try {
    return parse(Buffer.from(bytes), {
      record_delimiter: ['\r\n', '\n', '\r'],
      skip_empty_lines: true,
      relax_column_count: true,
    });
  } catch {
    return 'refused';
  }
};

describe('the first pass finds the records that csv-parse finds', () => {
  test('any text: refused by both or the same cells', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', ',', '"', '\r', '\n', 'é', '😀'),
      maxLength: 40,
    });
    fc.assert(
      fc.property(text, blockSizes, (content, sizes) => {
        const bytes = bytesOf(content);
        const places = scan(bytes, sizes);
        const cells =
          places === 'refused'
            ? places
            : places.flatMap(([start, end]) =>
                parseRecords(bytes.subarray(start, end)),
              );
        expect(cells).toEqual(csvParse(bytes));
        if (places !== 'refused') expect(parseRecords(bytes)).toEqual(cells);
      }),
      { numRuns: 500 },
    );
  });

  test('any bytes: refused exactly when they are not UTF-8 (or hold a NUL, or break the quoting)', () => {
    const byte = fc.oneof(
      fc.constantFrom(
        0x61,
        0x2c,
        0xc2,
        0xe0,
        0xed,
        0xf0,
        0xf4,
        0x80,
        0x8f,
        0x90,
        0x9f,
        0xa0,
        0xbf,
      ),
      fc.integer({ min: 1, max: 255 }).filter((value) => value !== 0x22),
    );
    fc.assert(
      fc.property(
        fc.array(byte, { maxLength: 8 }),
        blockSizes,
        (list, sizes) => {
          const bytes = Uint8Array.from(list);
          const isUtf8 = (() => {
            try {
              new TextDecoder('utf-8', { fatal: true }).decode(bytes);
              return true;
            } catch {
              return false;
            }
          })();
          expect(scan(bytes, sizes) !== 'refused').toBe(isUtf8);
        },
      ),
      { numRuns: 800 },
    );
  });

  test('chunks hold all rows, each once and in order, however the file comes in', async () => {
    const cell = fc.string({
      unit: fc.constantFrom('a', 'b', ',', '"', '\n', '\r', 'ß'),
      maxLength: 5,
    });
    const rows = fc.array(fc.array(cell, { minLength: 8, maxLength: 8 }), {
      maxLength: 12,
    });
    const style = fc.record({
      lineEnd: fc.constantFrom('\r\n', '\n', '\r'),
      bom: fc.boolean(),
      emptyLines: fc.boolean(),
      endsOpen: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        rows,
        style,
        blockSizes,
        fc.integer({ min: 1, max: 4 }),
        async (list, how, sizes, chunkRows) => {
          const lines = list.map((cells) =>
            cells.map((text) => `"${text.replaceAll('"', '""')}"`).join(','),
          );
          const between = how.emptyLines
            ? `${how.lineEnd} \t${how.lineEnd}`
            : how.lineEnd;
          const body =
            [HEADER, ...lines].join(between) +
            (how.endsOpen ? '' : how.lineEnd);
          const bytes = bytesOf((how.bom ? '\uFEFF' : '') + body);
          const checked = await checkCsv(inBlocks(bytes, sizes), { chunkRows });
          if (checked.kind === 'refused') throw new Error(checked.reason);
          expect(checked.layout).toEqual({
            recordDelimiter:
              list.length === 0 && how.endsOpen ? '\n' : how.lineEnd,
            bom: how.bom,
            columns: HEADER.split(','),
          });
          expect(checked.rows).toBe(list.length);
          const parts = checked.chunks.map((chunk) => {
            const records = parseRecords(
              bytes.subarray(chunk.byteStart, chunk.byteEnd),
            );
            expect(records).toHaveLength(chunk.rows);
            return { firstRow: chunk.firstRow, records };
          });
          expect(parts.flatMap(({ records }) => records)).toEqual(list);
          expect(parts.map(({ firstRow }) => firstRow)).toEqual(
            parts.map((_, index) => index * chunkRows + 1),
          );
        },
      ),
    );
  });
});

describe('a file that is not in the format is refused with one sentence that tells where', () => {
  const refusal = async (content: string | Uint8Array, maxRows?: number) => {
    const bytes = typeof content === 'string' ? bytesOf(content) : content;
    const checked = await checkCsv(inBlocks(bytes), { maxRows });
    return checked.kind === 'refused' ? checked.reason : 'ok';
  };
  const ROW = 'Ann,Lee,1980-01-01,F,1 Main St,Boston,MA,02116';

  test.each([
    [
      'nothing at all',
      '',
      'the file is empty: its first line must name the columns',
    ],
    [
      'only blank lines',
      ' \r\n\n\t',
      'the file is empty: its first line must name the columns',
    ],
    [
      'UTF-16',
      new Uint8Array([0xff, 0xfe, 0x61, 0x00]),
      'the file is UTF-16: save it as CSV UTF-8',
    ],
    [
      'a workbook',
      new Uint8Array([0x50, 0x4b, 3, 4, 20]),
      'the file is a workbook or a zip archive: export it as CSV UTF-8',
    ],
    [
      'a NUL byte',
      `${HEADER}\n${ROW}\nA\0nn`,
      'row 2 holds a NUL byte: save the file as CSV UTF-8',
    ],
    [
      'Latin-1',
      Buffer.from(`${HEADER}\n${ROW}\nJos\xe9,x`, 'latin1'),
      'row 2 is not UTF-8: save the file as CSV UTF-8',
    ],
    [
      'a file cut off within a letter',
      bytesOf(`${HEADER}\n${ROW}\né`).subarray(0, -1),
      'row 2 ends within a UTF-8 character',
    ],
    [
      'an open quotation mark',
      `${HEADER}\n${ROW}\n"Ann,Lee\n${ROW}\n`,
      'row 2 opens a quotation mark that is never closed',
    ],
    [
      'a stray quotation mark',
      `${HEADER}\nAnn "Annie",Lee`,
      'row 1 has a quotation mark inside a cell that is not quoted',
    ],
    [
      'text after a quoted cell',
      `${HEADER}\n"Ann" Lee,x`,
      'row 1 has text after the closing quotation mark of a cell',
    ],
    [
      'a quoted cell after a blank',
      `${HEADER}\nAnn, "Lee",x`,
      'row 1 has a quotation mark inside a cell that is not quoted',
    ],
    [
      'too long a record',
      `${HEADER}\n"${'x\n'.repeat(600_000)}`,
      'row 1 is longer than 1 MiB: is a quotation mark not closed?',
    ],
  ])('%s', async (_name, content, reason) => {
    expect(await refusal(content)).toBe(reason);
  });

  test('more rows than allowed; empty lines are not rows', async () => {
    expect(await refusal(`${HEADER}\n${`${ROW}\n\n`.repeat(3)}`, 3)).toBe('ok');
    expect(await refusal(`${HEADER}\n${`${ROW}\n`.repeat(4)}`, 3)).toBe(
      'the file has more than 3 rows: split it',
    );
  });
});
