/** Maps a reference to the source's own; undefined when the source does not have the target. */
export type Resolve = (reference: string) => string | undefined;

/**
 * Copies a resource with its references resolved. A reference to an unknown target keeps only its display text, or is
 * removed if it has none, so that a response never refers to a resource that cannot be read.
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
