/** What may be a number that JavaScript reads as infinite, also within a text. */
const HUGE = /\d[eE]\+?\d{3}|\d{309}/;

/**
 * Where parsed JSON has a number that is larger than any that can be stored,
 * such as `1e400`: JSON.stringify would write null for it.
 *
 * @param text the JSON, looked at first because walking through it costs more
 * @returns such as `entry[0].resource.valueInteger`; undefined: nowhere
 */
export function hugeNumberIn(
  text: string,
  parsed: unknown,
): string | undefined {
  if (!HUGE.test(text)) return undefined;

  // Not recursive, because a body can be nested arbitrarily deep.
  const waiting: { value: unknown; path: string }[] = [
    { value: parsed, path: '' },
  ];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, path } = next;
    if (typeof value === 'number' && !Number.isFinite(value)) return path;
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, part] of Object.entries(value)) {
      const place = Array.isArray(value)
        ? `${path}[${name}]`
        : `${path}.${name}`;
      waiting.push({ value: part, path: place.replace(/^\./, '') });
    }
  }
  return undefined;
}

export const IS_HUGE = 'is a number that is too large to be stored';
