/** A resource or a part of one, as it came: nothing of it is taken for granted. */
export type Json = Readonly<Record<string, unknown>>;

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The objects of a list; one object counts as a list of one, anything else as none. */
export function objectsOf(value: unknown): Json[] {
  return (Array.isArray(value) ? (value as unknown[]) : [value]).filter(isJson);
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

/** For comparing only: one case, one kind of blank, no punctuation. */
export function plainText(value: unknown): string | undefined {
  const text = textOf(value)
    ?.normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}%]+/gu, ' ')
    .trim();
  return text === '' ? undefined : text;
}

/** JSON with its keys in order, so that the same content has the same text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(canonical(value));
}

/** A copy with keys in order and without what JSON cannot say. */
export function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (!isJson(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value).sort()) {
    // Assigning `__proto__` would set the copy's prototype instead of a key.
    if (value[key] !== undefined && key !== '__proto__') copy[key] = canonical(value[key]);
  }
  return copy;
}
