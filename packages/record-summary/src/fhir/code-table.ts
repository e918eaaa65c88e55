/**
 * A table that is looked up by text of a resource. It has its own members only:
 * every other object also has `constructor`, `toString` and their like, so that
 * a code of that name would find something. Tables within it are treated alike.
 */
export function codeTable<T extends object>(table: T): T {
  const inner = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(inner)
      : isPlainObject(value)
        ? codeTable(value)
        : value;
  const members = Object.entries(table).map(([name, value]) => [
    name,
    inner(value),
  ]);
  return Object.assign(Object.create(null), Object.fromEntries(members)) as T;
}

const isPlainObject = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  Object.getPrototypeOf(value) === Object.prototype;
