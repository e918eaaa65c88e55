/** A resource or a part of one, as received: no element is guaranteed. */
export type Json = Readonly<Record<string, unknown>>;

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The objects in a list; a single object counts as a list of one, anything else
 * as an empty list.
 */
export function objectsOf(value: unknown): readonly Json[] {
  if (!Array.isArray(value)) return isJson(value) ? [value] : NONE;
  const list = value as readonly unknown[];
  return list.every(isJson) ? list : list.filter(isJson);
}

const NONE: readonly Json[] = [];

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

/** A text for comparison only: lower case, single spaces, no punctuation. */
export function comparableText(value: unknown): string | undefined {
  const text = textOf(value)
    ?.normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}%]+/gu, ' ')
    .trim();
  return text === '' ? undefined : text;
}

/**
 * Keeps the answer for the last object: while a resource is read, some things
 * are asked of it several times. Json is not changed meanwhile.
 */
export function rememberingLast<T>(read: (of: Json) => T): (of: Json) => T {
  let last: Json | undefined;
  let answer: T;
  return (of) => {
    if (last === of) return answer;
    answer = read(of);
    last = of;
    return answer;
  };
}

/** JSON with sorted keys, so that equal content gives equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(canonical(value));
}

/** A copy with sorted keys and without undefined values. */
export function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (!isJson(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const key of sortedNames(value)) {
    // Assigning `__proto__` would set the copy's prototype instead of a key.
    if (value[key] !== undefined && key !== '__proto__')
      copy[key] = canonical(value[key]);
  }
  return copy;
}

/** The object with sorted keys, whose values stay as they are. */
export function sorted(object: Json): Json {
  const copy: Record<string, unknown> = {};
  for (const name of sortedNames(object)) copy[name] = object[name];
  return copy;
}

/**
 * More names than the objects of a resource have; sorting so many by insertion
 * would take long.
 */
const FEW_NAMES = 30;

/** The names of an object's members in text order. */
export const sortedNames = (object: Json): string[] =>
  sortTexts(Object.keys(object));

/**
 * Sorts texts in place. A few are sorted by insertion, which is much faster
 * than `sort`.
 */
export function sortTexts(names: string[]): string[] {
  if (names.length > FEW_NAMES) return names.sort();
  for (let index = 1; index < names.length; index += 1) {
    const name = names[index] ?? '';
    let place = index;
    for (
      let left = names[place - 1];
      left !== undefined && left > name;
      left = names[place - 1]
    ) {
      names[place] = left;
      place -= 1;
    }
    names[place] = name;
  }
  return names;
}
