/** A resource or a part of one: no element is guaranteed. */
export type FhirJson = Readonly<Record<string, unknown>>;

export const isFhirJson = (value: unknown): value is FhirJson =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The objects in a list; a single object counts as a list of one, anything else
 * as an empty list.
 */
export function fhirObjects(value: unknown): readonly FhirJson[] {
  if (Array.isArray(value)) return value.filter(isFhirJson);
  return isFhirJson(value) ? [value] : [];
}

export const fhirText = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined;
