import { codeTable } from './code-table.ts';
import {
  METRIC_UNITS,
  OTHER_UNITS,
  UNIT_PREFIXES,
  UNIT_SPELLINGS,
  type UnitAtom,
} from './ucum-units.ts';

/**
 * What a unit measures, and how to bring a number to the base units: `(value +
 * offset) × mantissa × 10^exponent`.
 */
export interface Unit {
  /**
   * The base units with their exponents, in text order: `g.m-3`. Equal for
   * units that can be converted into each other.
   */
  dimension: string;
  mantissa: number;
  exponent: number;
  /** The zero point of a temperature scale. */
  offset: number;
}

const prefixes = codeTable(UNIT_PREFIXES);
const metric = codeTable(METRIC_UNITS);
const other = codeTable(OTHER_UNITS);
const spellings = codeTable(UNIT_SPELLINGS);

/** Units whose case matters, as they are written. */
const CASED: Readonly<Record<string, string>> = codeTable({
  l: 'L',
  iu: '[iU]',
  u: 'U',
});

/**
 * Temperature scales: what is added to a number before it is scaled to kelvin.
 */
const SCALES: Readonly<Record<string, Omit<Unit, 'dimension'>>> = codeTable({
  Cel: { mantissa: 1, exponent: 0, offset: 273.15 },
  '[degF]': { mantissa: 5 / 9, exponent: 0, offset: 459.67 },
});

const CACHE_MAX = 2_000;
const cache = new Map<string, Unit | undefined>();

/**
 * A UCUM unit, or another common spelling of one (`K/uL`, `x10E3/mcL`, `mm
 * Hg`), in its dimension. The units of `ucum-units.ts` are those of clinical
 * results and doses, after the UCUM specification; undefined for any other,
 * which then equals only itself.
 */
export function ucumUnit(text: string): Unit | undefined {
  if (cache.has(text)) return cache.get(text);
  if (cache.size >= CACHE_MAX) cache.clear();
  const unit =
    SCALES[text] === undefined
      ? (parsed(text) ?? parsed(respelled(text)))
      : parsed(text);
  cache.set(text, unit);
  return unit;
}

/**
 * `10*3/uL`, and the letter `K`, which in a count of cells is a thousand, not
 * kelvin.
 */
const COUNTS: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:x\s?)?10\s?(?:\^|\*{1,2}|e\+?|\()\s?0?(\d{1,2})\)?\s?(?=\/|$)/i,
    '10*$1',
  ],
  [
    /^(?:k|thou|thous|thousand|thousands|1000)\s?(?=\/\s?(?:ul|mcl|[µμ]l|cumm|cmm|mm3))/i,
    '10*3',
  ],
  [
    /^(?:m|mil|mill|million|millions)\s?(?=\/\s?(?:ul|mcl|[µμ]l|cumm|cmm|mm3))/i,
    '10*6',
  ],
];

/**
 * A spelling as people write it, in UCUM: token by token, in lower case where
 * the case says nothing.
 */
function respelled(text: string): string {
  const plain = COUNTS.reduce(
    (now, [from, to]) => now.replace(from, to),
    text.replaceAll(/[µμ]/g, 'u'),
  )
    .replaceAll(/°\s?([cf])\b/gi, 'deg$1')
    .replaceAll(/cu\.?\s?mm/gi, 'cumm')
    .replaceAll(/mm\s?\(?hg\)?/gi, 'mm[Hg]')
    .replaceAll(/\s+per\s+/gi, '/')
    .replaceAll(/\s+/g, '');
  return plain
    .split('/')
    .map((part) => {
      if (part !== '' && parsed(part) !== undefined) return part;
      const low = part.toLowerCase();
      return (
        spellings[low] ??
        low.replace(
          /^(10\*\d+)?([munpdkc]?)(l|iu|u|g|mol|eq)$/,
          (_, power: string | undefined, prefix: string, unit: string) =>
            `${power === undefined ? '' : `${power}.`}${prefix}${CASED[unit] ?? unit}`,
        )
      );
    })
    .join('/');
}

function parsed(text: string): Unit | undefined {
  const scale = SCALES[text];
  if (scale !== undefined) return { dimension: 'K', ...scale };
  // Not kelvin.
  if (/^[KM]\//.test(text)) return undefined;
  const plain = text
    .replaceAll(/(^|[/.])\{[^}]*\}/g, (_, before: string) => `${before}1`)
    .replaceAll(/\{[^}]*\}/g, '')
    .trim();
  if (plain === '' || plain === '1')
    return { dimension: '', mantissa: 1, exponent: 0, offset: 0 };
  // As UCUM reads it: from left to right, without precedence.
  if (!/^\/?[^./]+(?:[./][^./]+)*$/.test(plain)) return undefined;
  const powers = new Map<string, number>();
  let mantissa = 1;
  let exponent = 0;
  for (const [, operator, factor = ''] of plain.matchAll(/([./]?)([^./]+)/g)) {
    const [, name = '', power = '1'] =
      /^(10[*^]|.*?)([+-]?\d+)?$/.exec(factor) ?? [];
    const [scale, shift, dimension] =
      (name === '' ? [Number(power), 0, ''] : atomOf(name)) ?? [];
    if (scale === undefined || shift === undefined || dimension === undefined)
      return undefined;
    const raised =
      (operator === '/' ? -1 : 1) * (name === '' ? 1 : Number(power));
    mantissa *= scale ** raised;
    exponent += shift * raised;
    for (const base of dimension === '' ? [] : dimension.split('.')) {
      const [, unit = '', own = '1'] = /^(\D+?)(-?\d+)?$/.exec(base) ?? [];
      powers.set(unit, (powers.get(unit) ?? 0) + Number(own) * raised);
    }
  }
  const dimension = [...powers]
    .filter(([, power]) => power !== 0)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([base, power]) => (power === 1 ? base : `${base}${power}`));
  return { dimension: dimension.join('.'), mantissa, exponent, offset: 0 };
}

function atomOf(name: string): UnitAtom | undefined {
  const known = other[name] ?? metric[name];
  if (known !== undefined) return known;
  const prefix = prefixes[name.charAt(0)];
  const atom = metric[name.slice(1)];
  return prefix === undefined || atom === undefined
    ? undefined
    : [atom[0], atom[1] + prefix, atom[2]];
}

/**
 * The number in base units. Powers of ten only move the point, so that the
 * digits stay those that were measured.
 */
export const inBaseUnits = (
  value: number,
  { mantissa, exponent, offset }: Unit,
): number =>
  shifted(
    mantissa === 1 && offset === 0
      ? value
      : Number(((value + offset) * mantissa).toPrecision(12)),
    exponent,
  );

export const fromBaseUnits = (
  value: number,
  { mantissa, exponent, offset }: Unit,
): number =>
  mantissa === 1 && offset === 0
    ? shifted(value, -exponent)
    : Number((shifted(value, -exponent) / mantissa - offset).toPrecision(12));

/** The number with its point moved. */
export function shifted(value: number, by: number): number {
  if (by === 0) return value;
  const [digits = '', exponent = '0'] = String(value).split('e');
  return Number(`${digits}e${Number(exponent) + by}`);
}
