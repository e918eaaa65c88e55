import { isJson, type Json, textOf } from './json.ts';

/** A number with its unit and comparator, for comparing. */
export interface Measure {
  comparator: string;
  unit: string;
  value: number;
}

/** Spellings of one UCUM unit. Only what is beyond doubt: a unit that is not here equals itself alone. */
const UNIT_SPELLINGS: Readonly<Record<string, string>> = {
  '1': '',
  '10^3/ul': '10*3/ul',
  '10^6/ul': '10*6/ul',
  mmhg: 'mm[hg]',
};

/** Rounding must not decide between two values that a clinician would tell apart. */
const FEWEST_DIGITS = 3;

/** `valueQuantity` and `valueInteger` alike: 3 and 3 {score} say the same. */
export function measureOf(value: unknown): Measure | undefined {
  if (typeof value === 'number') return { comparator: '', unit: '', value };
  if (!isJson(value) || typeof value.value !== 'number') return undefined;
  return { comparator: textOf(value.comparator) ?? '', unit: unitOf(value), value: value.value };
}

/** Letter case aside, and without what UCUM lets one remark in braces. */
function unitOf({ code, unit }: Json): string {
  const text = (textOf(code) ?? textOf(unit) ?? '')
    .toLowerCase()
    .replaceAll(/\{[^}]*\}/g, '')
    .trim();
  return UNIT_SPELLINGS[text] ?? text;
}

/**
 * Whether the coarser of two numbers is the finer one, rounded. Only from three digits on: JSON drops trailing
 * zeros, so 1 may have been 1.0 and is not the same as 1.4.
 */
export function isWithinPrecision(left: number, right: number): boolean {
  if (left === right) return true;
  const [coarse, fine] = digitsOf(left) < digitsOf(right) ? [left, right] : [right, left];
  const digits = digitsOf(coarse);
  return digits >= FEWEST_DIGITS && digits < digitsOf(fine) && Number(fine.toPrecision(digits)) === coarse;
}

/** The more precise of two numbers has more of them. */
export function digitsOf(value: number): number {
  const [mantissa = ''] = Math.abs(value).toString().split('e');
  return mantissa.replace('.', '').replace(/^0+/, '').length;
}

/**
 * Buckets by which numbers within each other's precision find each other: they share at least one. The second differs
 * from the first only where rounding twice crosses the edge of a bucket.
 */
export function bucketsOf(value: number): string[] {
  const [direct, twice] = [value.toPrecision(2), Number(value.toPrecision(FEWEST_DIGITS)).toPrecision(2)];
  return [...new Set([direct, twice].map((text) => String(Number(text))))];
}
