import { createReadStream, createWriteStream } from 'node:fs';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parse } from 'csv-parse';
import { stringify } from 'csv-stringify';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { RESULT_COLUMNS } from '../../src/shared/bulk-csv/layout.ts';
import { GENERATED_COLUMNS } from './generate.ts';

/**
 * The minimum work of any import, in one pass: csv-parse to arrays, COPY of the
 * same fields into one table with a primary key, csv-stringify of the same rows
 * with a status. No rules, no matching, no checkpoints, no encryption. Returns
 * the duration in milliseconds.
 */
export async function runFloor(
  client: pg.Client,
  csvFile: string,
  resultFile: string,
): Promise<number> {
  const columns = GENERATED_COLUMNS.map((_, index) => `c${index} text`).join(
    ', ',
  );
  await client.query('DROP TABLE IF EXISTS bulk_floor');
  await client.query(`CREATE TABLE bulk_floor (${columns}, PRIMARY KEY (c0))`);
  const began = performance.now();
  const stringifier = stringify({ escape_formulas: true });
  const written = pipeline(
    stringifier,
    createWriteStream(resultFile, { flush: true }),
  );
  stringifier.write([...GENERATED_COLUMNS, ...RESULT_COLUMNS]);
  const tee = new Transform({
    writableObjectMode: true,
    transform(cells: string[], _encoding, done) {
      const line = `${cells.map(copyText).join('\t')}\n`;
      const hasRoom = stringifier.write([
        ...cells,
        cells[0],
        cells[0],
        'created',
        '',
      ]);
      if (hasRoom) done(null, line);
      else stringifier.once('drain', () => done(null, line));
    },
  });
  await pipeline(
    createReadStream(csvFile),
    parse({ from_line: 2, record_delimiter: ['\r\n', '\n', '\r'] }),
    tee,
    client.query(copyFrom('COPY bulk_floor FROM STDIN')),
  );
  stringifier.end();
  await written;
  return performance.now() - began;
}

const copyText = (cell: string): string =>
  cell === ''
    ? '\\N'
    : cell.replaceAll(/[\\\t\n\r]/g, (letter) => `\\${letter}`);
