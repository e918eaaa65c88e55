import type { Json } from '#record-summary/fhir';

/**
 * How many characters `JSON.stringify` would write, counted in half of the
 * time. Of JSON only: undefined members are not written.
 */
export function jsonLength(value: unknown): number {
  if (typeof value === 'string')
    return ESCAPED.test(value)
      ? JSON.stringify(value).length
      : value.length + 2;
  if (typeof value !== 'object' || value === null) return String(value).length;
  let length = 1;
  if (Array.isArray(value))
    for (const item of value) length += jsonLength(item) + 1;
  else
    for (const name in value)
      length += memberLength(name, (value as Json)[name]);
  return Math.max(length, 2);
}
const memberLength = (name: string, value: unknown): number =>
  value === undefined ? 0 : jsonLength(name) + jsonLength(value) + 2;

/**
 * May be written as several characters; of surrogates only those without their
 * other half are.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what JSON escapes
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/;
