import { valueElement } from './codes.ts';
import {
  isJson,
  type Json,
  objectsOf,
  rememberingLast,
  textOf,
} from './json.ts';
import { shifted, ucumUnit } from './ucum.ts';
import { DRUG_PIECES, MONOVALENT_IONS } from './ucum-units.ts';

/** A number with its unit and comparator, for comparison. */
export interface Measure {
  comparator: string;
  /**
   * What is measured, for a known unit, with its factor unless that is a power
   * of ten; otherwise the unit in lower case.
   */
  unit: string;
  /** In the base units, as far as only the point moves. */
  value: number;
  /** The number as it was written. */
  written: number;
}

const FORMS = new Set(DRUG_PIECES);
const MONOVALENT = new Set(MONOVALENT_IONS);

/**
 * With fewer digits, rounding could equate two values that a clinician would
 * distinguish.
 */
const FEWEST_DIGITS = 3;

/**
 * Reads `valueQuantity` and `valueInteger` alike: 3 and 3 {score} are equal,
 * and so are 4.5 K/uL and 4.5 10*9/L, 13.5 g/dL and 135 g/L.
 *
 * @param concept the code of what was measured: of an ion with one charge, mEq
 *   and mmol are the same number
 */
export function measureOf(
  value: unknown,
  concept?: unknown,
): Measure | undefined {
  if (typeof value === 'number')
    return { comparator: '', unit: '', value, written: value };
  if (!isJson(value) || typeof value.value !== 'number') return undefined;
  const comparator = textOf(value.comparator) ?? '';
  const written = value.value;
  const text = comparableUnit(value);
  const isEquivalent = /eq/i.test(text) && isMonovalent(concept);
  const unit = ucumUnit(isEquivalent ? text.replace(/eq/i, 'mol') : text);
  if (unit === undefined) {
    const own = text.toLowerCase();
    return {
      comparator,
      unit: FORMS.has(own) ? '' : own,
      value: written,
      written,
    };
  }
  const factor = unit.mantissa === 1 ? '' : `*${unit.mantissa}`;
  return {
    comparator,
    unit: `${unit.dimension}${factor}${unit.offset === 0 ? '' : `+${unit.offset}`}`,
    value: shifted(written, unit.exponent),
    written,
  };
}

/**
 * What `value[x]` of an Observation or of a component says, and the same as a
 * measure if it is a number.
 */
export const measureIn = rememberingLast(
  (of): { value: unknown; measure: Measure | undefined } => {
    const value = valueElement(of)?.value;
    return { value, measure: measureOf(value, of.code) };
  },
);

/**
 * The unit's code if it is one of UCUM, otherwise its words, without
 * annotations in braces.
 */
export function comparableUnit({ code, unit, system }: Json): string {
  const isUcum = system === undefined || system === 'http://unitsofmeasure.org';
  return (
    (isUcum ? textOf(code) : undefined) ??
    textOf(unit) ??
    textOf(code) ??
    ''
  ).trim();
}

const isMonovalent = (concept: unknown): boolean =>
  objectsOf(isJson(concept) ? concept.coding : undefined).some(({ code }) =>
    MONOVALENT.has(textOf(code) ?? ''),
  );

/** A number with the significant digits that were written. */
interface Written {
  value: number;
  digits: number;
}

/**
 * Whether the less precise of two numbers is the more precise one, rounded.
 * Requires at least three digits: JSON drops trailing zeros, so 1 may have been
 * 1.0, which is not the same as 1.4.
 */
export function isWithinPrecision(left: Written, right: Written): boolean {
  if (left.value === right.value) return true;
  const [coarse, fine] =
    left.digits < right.digits ? [left, right] : [right, left];
  const { digits } = coarse;
  return (
    digits >= FEWEST_DIGITS &&
    digits < fine.digits &&
    Number(fine.value.toPrecision(digits)) === coarse.value
  );
}

/** The number of significant digits. */
export function significantDigits(value: number): number {
  const [mantissa = ''] = Math.abs(value).toString().split('e');
  return mantissa.replace('.', '').replace(/^0+/, '').length;
}

/**
 * Buckets for numbers: two numbers that agree within their precision share at
 * least one. The second bucket differs from the first only where rounding twice
 * crosses the edge of a bucket.
 */
export function bucketsOf(value: number): string[] {
  const direct = value.toPrecision(2);
  const twice = Number(value.toPrecision(FEWEST_DIGITS)).toPrecision(2);
  const bucket = String(Number(direct));
  return direct === twice ? [bucket] : [bucket, String(Number(twice))];
}
