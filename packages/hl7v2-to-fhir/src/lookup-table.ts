/**
 * A table that is looked up by text from outside. It has its own members only:
 * every other object also has `constructor`, `toString` and their like, so that
 * a street or a code of that name would find something. Tables within it are
 * treated alike.
 */
export function hl7Table<T extends object>(table: T): T {
  const inner = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(inner)
      : isPlain(value)
        ? hl7Table(value)
        : value;
  const members = Object.entries(table).map(([name, value]) => [
    name,
    inner(value),
  ]);
  return Object.assign(Object.create(null), Object.fromEntries(members)) as T;
}

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  Object.getPrototypeOf(value) === Object.prototype;
