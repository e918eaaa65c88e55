import { fhirText, isFhirJson } from './json.ts';
import { cdaTable } from './lookup-table.ts';

/** Units of UCUM as people write them. */
const UNIT_WORDS: Readonly<Record<string, string>> = cdaTable({
  'mm[Hg]': 'mmHg',
  Cel: '°C',
  '[degF]': '°F',
  '[in_i]': 'in',
  '[lb_av]': 'lb',
  '[iU]/L': 'IU/L',
  'kg/m2': 'kg/m²',
  '10*3/uL': '10^3/µL',
  '10*6/uL': '10^6/µL',
  d: 'days',
  wk: 'weeks',
  mo: 'months',
  a: 'years',
});

const ANNOTATION = /\{([^{}]+)\}/g;
const DIGITS = 5;

/** A Quantity in words: `36 years`, `4 mg/day`. */
export function amountInWords(quantity: unknown): string | undefined {
  if (!isFhirJson(quantity)) return undefined;
  const number = numberText(quantity.value);
  if (number === undefined) return undefined;
  const value = `${fhirText(quantity.comparator) ?? ''}${number}`;
  return `${value} ${unitText(quantity.unit ?? quantity.code)}`.trim();
}

/** A number with five significant digits; what is before the point in full. */
function numberText(value: unknown): string | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value))
    return fhirText(value);
  return String(
    Math.abs(value) < 10 ** DIGITS
      ? Number(value.toPrecision(DIGITS))
      : Math.round(value),
  );
}

/** A unit with its annotations as words: `mg creat` for `mg{creat}`. */
function unitText(unit: unknown): string {
  const text = fhirText(unit) ?? '';
  const known = UNIT_WORDS[text];
  if (known !== undefined) return known;
  return text
    .replaceAll('.{', '{')
    .replaceAll(ANNOTATION, annotationText)
    .replaceAll(/(?<![A-Za-z])m2(?![A-Za-z0-9])/g, 'm²')
    .replace(/^1$/, '');
}

/** The words of an annotation, apart from the units before and after it. */
function annotationText(
  annotation: string,
  words: string,
  at: number,
  unit: string,
): string {
  const before = unit.slice(0, at);
  const after = unit.slice(at + annotation.length);
  const gapBefore = /[^\s/(]$/.test(before) ? ' ' : '';
  const gapAfter = /^[A-Za-z0-9[]/.test(after) ? ' ' : '';
  return `${gapBefore}${words.replaceAll('_', ' ').trim()}${gapAfter}`;
}
