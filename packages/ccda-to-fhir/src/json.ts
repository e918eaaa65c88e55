/** A resource or a part of one: no element is guaranteed. */
export type Json = Readonly<Record<string, unknown>>;

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The objects in a list; a single object counts as a list of one, anything else
 * as an empty list.
 */
export function objectsOf(value: unknown): readonly Json[] {
  if (Array.isArray(value)) return value.filter(isJson);
  return isJson(value) ? [value] : [];
}

export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined;
