/**
 * PostgreSQL arrays in the binary format, for set-based statements (`unnest(${uuidArray(ids)}::uuid[])`): pg sends a
 * Buffer as it is, so that neither side quotes, escapes or parses thousands of values.
 */
export const uuidArray = (ids: readonly string[]): Buffer =>
  binaryArray(2950, ids, (id) => Buffer.from(id.replaceAll('-', ''), 'hex'));

export const textArray = (texts: readonly (string | null)[]): Buffer =>
  binaryArray(25, texts, (text) => Buffer.from(text, 'utf8'));

/** The values as jsonb. */
export const jsonbArray = (values: readonly unknown[]): Buffer =>
  binaryArray(3802, values, (value) => Buffer.from(JSONB_VERSION + JSON.stringify(value), 'utf8'));

export const byteaArray = (values: readonly Buffer[]): Buffer => binaryArray(17, values, (value) => value);

export const bigintArray = (values: readonly bigint[]): Buffer =>
  binaryArray(20, values, (value) => {
    const bytes = Buffer.allocUnsafe(8);
    bytes.writeBigInt64BE(value);
    return bytes;
  });

export const integerArray = (values: readonly number[]): Buffer =>
  binaryArray(23, values, (value) => {
    const bytes = Buffer.allocUnsafe(4);
    bytes.writeInt32BE(value);
    return bytes;
  });

export const booleanArray = (values: readonly boolean[]): Buffer =>
  binaryArray(16, values, (value) => Buffer.of(value ? 1 : 0));

const JSONB_VERSION = '\x01';
const HEADER_BYTES = 20;

/** array_recv of PostgreSQL: dimensions, "has nulls", type, length, lower bound; then length and bytes of each. */
function binaryArray<T>(
  elementType: number,
  values: readonly (T | null)[],
  toBytes: (value: T) => Buffer,
): Buffer {
  const elements = values.map((value) => (value === null ? null : toBytes(value)));
  const sizeBytes = elements.reduce((total, element) => total + 4 + (element?.length ?? 0), HEADER_BYTES);
  const array = Buffer.allocUnsafe(sizeBytes);
  array.writeInt32BE(1, 0);
  array.writeInt32BE(elements.includes(null) ? 1 : 0, 4);
  array.writeInt32BE(elementType, 8);
  array.writeInt32BE(elements.length, 12);
  array.writeInt32BE(1, 16);
  let place = HEADER_BYTES;
  for (const element of elements) {
    place = array.writeInt32BE(element?.length ?? -1, place);
    place += element?.copy(array, place) ?? 0;
  }
  return array;
}
