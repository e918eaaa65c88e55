import { isJson, type Json, textOf } from './json.ts';

/** A number with its unit and comparator, for comparison. */
export interface Measure {
  comparator: string;
  unit: string;
  value: number;
}

/** Alternative spellings of UCUM units. Only those beyond doubt: any other unit equals only itself. */
const UNIT_SPELLINGS: Readonly<Record<string, string>> = {
  '1': '',
  '10^3/ul': '10*3/ul',
  '10^6/ul': '10*6/ul',
  mmhg: 'mm[hg]',
};

/** With fewer digits, rounding could equate two values that a clinician would distinguish. */
const FEWEST_DIGITS = 3;

/** Reads `valueQuantity` and `valueInteger` alike: 3 and 3 {score} are equal. */
export function measureOf(value: unknown): Measure | undefined {
  if (typeof value === 'number') return { comparator: '', unit: '', value };
  if (!isJson(value) || typeof value.value !== 'number') return undefined;
  return { comparator: textOf(value.comparator) ?? '', unit: unitOf(value), value: value.value };
}

/** The unit in lower case, without UCUM annotations in braces. */
function unitOf({ code, unit }: Json): string {
  const text = (textOf(code) ?? textOf(unit) ?? '')
    .toLowerCase()
    .replaceAll(/\{[^}]*\}/g, '')
    .trim();
  return UNIT_SPELLINGS[text] ?? text;
}

/**
 * Whether the less precise of two numbers is the more precise one, rounded. Requires at least three digits: JSON drops
 * trailing zeros, so 1 may have been 1.0, which is not the same as 1.4.
 */
export function isWithinPrecision(left: number, right: number): boolean {
  if (left === right) return true;
  const [coarse, fine] = digitsOf(left) < digitsOf(right) ? [left, right] : [right, left];
  const digits = digitsOf(coarse);
  return digits >= FEWEST_DIGITS && digits < digitsOf(fine) && Number(fine.toPrecision(digits)) === coarse;
}

/** The number of significant digits. */
export function digitsOf(value: number): number {
  const [mantissa = ''] = Math.abs(value).toString().split('e');
  return mantissa.replace('.', '').replace(/^0+/, '').length;
}

/**
 * Buckets for numbers: two numbers that agree within their precision share at least one. The second bucket differs from
 * the first only where rounding twice crosses the edge of a bucket.
 */
export function bucketsOf(value: number): string[] {
  const [direct, twice] = [value.toPrecision(2), Number(value.toPrecision(FEWEST_DIGITS)).toPrecision(2)];
  return [...new Set([direct, twice].map((text) => String(Number(text))))];
}
