import type { ComponentReader, Hl7Segment } from './message.ts';

/** Components of a coded element (CWE). */
const COMPONENTS = [1, 2, 3, 4, 5, 6, 7, 8, 9];
/** What a power may follow: `10`, `x10`, `1.73m`, `mm`, `s`. */
const BASE = /(?:(?:^|[^\d.])10|(?:^|[^a-z])(?:[cdmkuµ]?m|s))$/i;
/** A power, and what is divided by it: `9/L`, `2`, `-1`. */
const POWER = /^[-+]?\d{1,2}(?:$|[^\w.])/;

/**
 * The unit of a field (CE, CWE). Senders write `10^9/L` and `mL/min/1.73m^2`
 * without escaping the `^`, which separates components: such a power is put
 * together again.
 */
export function unitReader(
  segment: Hl7Segment,
  field: number,
): Pick<ComponentReader, 'whole'> | undefined {
  const [read] = segment.repetitions(field);
  if (read === undefined) return undefined;
  const parts: (string | undefined)[] = [];
  for (const component of COMPONENTS) {
    const part = read.whole(component);
    const before = parts.at(-1);
    if (part === undefined || !BASE.test(before ?? '') || !POWER.test(part))
      parts.push(part);
    else {
      parts[parts.length - 1] = `${before}^${part}`;
      segment.remark(field, 'repaired');
    }
  }
  return { whole: (component) => parts[component - 1] };
}

/** The unit as people read it: the text of the coded element, else its code. */
export function fieldUnit(
  segment: Hl7Segment,
  field: number,
): string | undefined {
  const read = unitReader(segment, field);
  return read?.whole(2) ?? read?.whole(1) ?? read?.whole(9);
}

/** Whether the unit begins with a power of ten whose exponent nobody can tell. */
export function isUnitCut(segment: Hl7Segment, field: number): boolean {
  const read = unitReader(segment, field);
  const code = read?.whole(1) ?? '';
  const text = read?.whole(2) ?? '';
  return (
    /^[x×*]?\s*10(?:\^[-+]?\d+)?$/i.test(code) &&
    text !== '' &&
    !text.includes('10')
  );
}
