/*
 * Reading JSON of strangers, of which any part may be missing or of another
 * type.
 */

export type LenientObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is LenientObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The objects of a list, or the one object that stands in its place. */
export function lenientObjects(value: unknown): LenientObject[] {
  if (Array.isArray(value)) return value.filter(isObject);
  return isObject(value) ? [value] : [];
}

/** A text without blanks around it; undefined when there is nothing in it. */
export function lenientText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return undefined;
  // PostgreSQL stores neither.
  const text = value.replaceAll('\u0000', '').toWellFormed().trim();
  return text === '' ? undefined : text;
}

export function lenientNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' ? Number(value.trim()) : value;
  return typeof number === 'number' && Number.isFinite(number)
    ? number
    : undefined;
}

/** The codes of CodeableConcepts and Codings. */
export const codesOfConcepts = (value: unknown): string[] =>
  lenientObjects(value).flatMap((concept) => {
    const codings = lenientObjects(concept.coding);
    const own = codings.length === 0 ? [concept] : codings;
    return own.flatMap(({ code }) => lenientText(code) ?? []);
  });

/** The extensions whose address ends with a name, whoever publishes them. */
export const extensionsNamed = (
  { extension }: LenientObject,
  name: string,
): LenientObject[] =>
  lenientObjects(extension).filter(
    ({ url }) => lenientText(url)?.split('/').at(-1)?.toLowerCase() === name,
  );

const DAY_MS = 24 * 60 * 60_000;

/** Neither marked as old nor ended: an identifier, an address, an endpoint. */
export function isInUseAt({ use, period }: LenientObject, at: Date): boolean {
  if (lenientText(use)?.toLowerCase() === 'old') return false;
  const end = isObject(period) ? lenientText(period.end) : undefined;
  const endMs = Date.parse(end ?? '');
  // A day without a time ends with that day.
  return Number.isNaN(endMs) || endMs + DAY_MS > at.getTime();
}

/**
 * The id in a reference such as `Organization/1.2.3`, an address of it, or a
 * search for its identifier.
 */
export function referencedId(value: unknown): string | undefined {
  const reference = isObject(value) ? lenientText(value.reference) : undefined;
  const id = reference
    ?.replace(/\/_history\/[^/]*$/, '')
    .replace(/\/+$/, '')
    .replace(/^.*[?&]identifier=([^&|]*\|)?/, '')
    .split('/')
    .at(-1)
    ?.replace(/^urn:(?:oid|uuid):/i, '');
  return id === '' ? undefined : id;
}
