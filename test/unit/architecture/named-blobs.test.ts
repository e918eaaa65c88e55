import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { BLOB_NAMING_COLUMNS } from '../../../src/exchange/platform/blobs/named-blobs.ts';

const EXCHANGE = new URL('../../../src/exchange/', import.meta.url);

/**
 * What the rooms add to the schema: `declare module … { interface Database {
 * table: { column: Type; … }; … } }`.
 */
function schemaText(): string {
  return readdirSync(EXCHANGE, { recursive: true, encoding: 'utf8' })
    .filter((file) => /(?:^|\/)[\w-]*tables\.ts$/.test(file))
    .map((file) => readFileSync(new URL(file, EXCHANGE), 'utf8'))
    .join('\n');
}

/** Columns that hold a reference to a blob, as `table.column`. */
function columnsInSchema(): string[] {
  return [
    ...schemaText().matchAll(/^ {4}(\w+): (?:\w+ & )?\{\n(.*?)^ {4}\}/gms),
  ].flatMap(([, table, members = '']) => {
    const columns = [...members.matchAll(/^ {6}(\w+): \w*<BlobRef>/gm)].map(
      (found) => found[1],
    );
    if (/^ {6}blob_ref: /m.test(members)) columns.push('blob_ref');
    return columns.map((column) => `${table}.${column}`);
  });
}

test('every column that names a blob keeps it from being swept as nobody’s', () => {
  const kept = BLOB_NAMING_COLUMNS.map(
    ([table, ref]) => `${table}.${ref.replace(/->>.*/, '')}`,
  );
  const found = columnsInSchema();
  expect(found.length).toBeGreaterThan(5);
  expect(kept).toEqual(expect.arrayContaining(found));
});
