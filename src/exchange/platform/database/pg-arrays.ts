import { readFileSync } from 'node:fs';
import { type RawBuilder, sql } from 'kysely';
import type { SystemTx } from './database.ts';
import { listOf } from './prepared.ts';

/**
 * PostgreSQL arrays in the binary format, for set-based statements
 * (`unnest(${uuidArray(ids)}::uuid[])`). pg sends a Buffer unchanged, so that
 * thousands of values need not be quoted, escaped and parsed.
 */
export const uuidArray = (ids: readonly string[]): Buffer =>
  binaryArray(2950, ids, () => 16, writeUuid);

export const textArray = (texts: readonly (string | null)[]): Buffer =>
  binaryArray(25, texts, longestUtf8, (array, place, text) =>
    array.write(text, place, 'utf8'),
  );

/**
 * Lists of texts, each as the text of a `text[]`, because `unnest` would
 * flatten nested arrays; cast each element to `text[]`.
 */
export const textLists = (lists: readonly (readonly string[])[]): Buffer =>
  textArray(lists.map((list) => `{${list.map(quoted).join(',')}}`));

const quoted = (text: string): string =>
  `"${text.replaceAll(/["\\]/g, '\\$&')}"`;

/** Each value is given as Latin-1 text (`toString('latin1')`). */
export const byteaArray = (values: readonly string[]): Buffer =>
  binaryArray(
    17,
    values,
    (value) => value.length,
    (array, place, value) => array.write(value, place, 'latin1'),
  );

export const integerArray = (values: readonly number[]): Buffer =>
  binaryArray(
    23,
    values,
    () => 4,
    (array, place, value) => array.writeInt32BE(value, place) - place,
  );

export const booleanArray = (values: readonly boolean[]): Buffer =>
  binaryArray(
    16,
    values,
    () => 1,
    (array, place, value) => array.writeUInt8(value ? 1 : 0, place) - place,
  );

const HEADER_BYTES = 20;

const longestUtf8 = (text: string): number => text.length * 3;

/**
 * The format of PostgreSQL's array_recv: dimensions, "has nulls", element type,
 * length, lower bound; then length and bytes of each element. `write` returns
 * the number of bytes written, at most `sizeOf`.
 */
function binaryArray<T>(
  elementType: number,
  values: readonly (T | null)[],
  sizeOf: (value: T) => number,
  write: (array: Buffer, place: number, value: T) => number,
): Buffer {
  let longest = HEADER_BYTES;
  let hasNulls = 0;
  for (const value of values) {
    longest += 4 + (value === null ? 0 : sizeOf(value));
    if (value === null) hasNulls = 1;
  }
  const array = Buffer.allocUnsafe(longest);
  let place = 0;
  for (const field of [1, hasNulls, elementType, values.length, 1])
    place = array.writeInt32BE(field, place);
  for (const value of values) {
    const sizeBytes = value === null ? -1 : write(array, place + 4, value);
    array.writeInt32BE(sizeBytes, place);
    place += 4 + Math.max(0, sizeBytes);
  }
  return listOf(array.subarray(0, place), values.length);
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Throws unless `id` is a UUID. */
function writeUuid(array: Buffer, place: number, id: string): number {
  if (!UUID.test(id)) throw new TypeError('An id must be a UUID');
  return array.write(id.replaceAll('-', ''), place, 'hex');
}

/** A name in a file, but not the type of a cast. */
const NAME = /(?<!:):(\w+)/;

/**
 * Reads a statement from a file beside the code, once, and returns a function
 * that puts values (or parts of SQL) in the places of their names: `where id =
 * :id`.
 */
export function sqlFile(file: string, base: string) {
  const pieces = readFileSync(new URL(file, base), 'utf8').split(NAME);
  return <Row>(
    values: Readonly<Record<string, unknown>> = {},
  ): RawBuilder<Row> =>
    sql<Row>`${sql.join(
      pieces.map((piece, index) =>
        index % 2 === 0 ? sql.raw(piece) : sql`${values[piece]}`,
      ),
      sql.raw(''),
    )}`;
}

/** The rows that a statement returns. */
export const rowsOf = async <Row>(
  { db }: Pick<SystemTx, 'db'>,
  statement: RawBuilder<Row>,
): Promise<Row[]> => (await statement.execute(db)).rows;
