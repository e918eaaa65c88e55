/** What becomes of a reference; undefined where the source does not know its target. */
export type Resolve = (reference: string) => string | undefined;

/**
 * A copy of a resource with its references resolved. A reference whose target is unknown keeps its display text,
 * if it has one, and vanishes otherwise, so that an answer never points to what nobody can read.
 */
export function withReferences<T extends object>(resource: T, resolve: Resolve): T {
  return copyObject(resource as Record<string, unknown>, resolve) as T;
}

function copyObject(source: Record<string, unknown>, resolve: Resolve): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(source)) {
    const copied = copyValue(name, value, resolve);
    if (copied !== undefined) copy[name] = copied;
  }
  return copy;
}

function copyValue(name: string, value: unknown, resolve: Resolve): unknown {
  if (name === 'reference' && typeof value === 'string') return resolve(value);
  if (Array.isArray(value)) {
    const items = value.flatMap((item) => {
      const copied = copyValue('', item, resolve);
      return copied === undefined ? [] : [copied];
    });
    return items.length === 0 && value.length > 0 ? undefined : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const copied = copyObject(value as Record<string, unknown>, resolve);
  return Object.keys(copied).length === 0 ? undefined : copied;
}
