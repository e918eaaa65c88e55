import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fromBaseUnits, inBaseUnits, ucumUnit } from '../../src/fhir/ucum.ts';
import { property } from '../property.ts';

const inUnit = (
  value: number,
  from: string,
  to: string,
): number | undefined => {
  const one = ucumUnit(from);
  const other = ucumUnit(to);
  if (
    one === undefined ||
    other === undefined ||
    one.dimension !== other.dimension
  )
    return undefined;
  return fromBaseUnits(inBaseUnits(value, one), other);
};

describe('units are compared by what they measure', () => {
  test.each([
    [4.5, 'K/uL', '10*9/L', 4.5],
    [4.5, 'x10E3/uL', 'thou/mcL', 4.5],
    [4.5, '10*3/uL', '10*6/mL', 4.5],
    [5.1, 'M/uL', '10*12/L', 5.1],
    [250, '10^3/µL', '/uL', 250_000],
    [13.5, 'G/DL', 'g/L', 135],
    [95, 'mg/dL', 'g/L', 0.95],
    [1.2, 'ng/mL', 'ug/L', 1.2],
    [2, 'uIU/mL', 'm[IU]/L', 2],
    [120, 'mm Hg', 'mm[Hg]', 120],
    [72, 'bpm', '/min', 72],
    [60, '{beats}/min', '/s', 1],
    [154, 'lbs', 'kg', 69.85322498],
    [70, 'inches', 'cm', 177.8],
    [98.6, '°F', 'Cel', 37],
    [37, 'degC', '[degF]', 98.6],
    [1, 'kg/m2', 'g/cm2', 0.1],
    [6.3, 's/m.mg', 's.m-1.g', 0.0063],
    [8, 'h', 'min', 480],
    [60, 'mL/min/{1.73_m2}', 'mL/min', 60],
    [40, '%', '1', 0.4],
  ])('%d %s in %s', (value, from, to, expected) => {
    expect(inUnit(value, from, to)).toBeCloseTo(expected, 8);
  });

  test.each([
    ['mg/dL', 'mmol/L'],
    ['mmol/L', 'meq/L'],
    ['mg', 'mL'],
    ['K', 'K/uL'],
    ['mosm/kg', 'mmol/kg'],
  ])('%s and %s are not one', (one, other) => {
    expect(inUnit(1, one, other)).toBeUndefined();
  });

  test.each([
    '',
    '/',
    'm//s',
    'Foo',
    'mg//',
    'constructor',
    '__proto__',
    '10*',
    '[',
    '{',
    'x'.repeat(5_000),
  ])('%j ends well', (text) => {
    expect(() => ucumUnit(text)).not.toThrow();
  });

  property([fc.string({ maxLength: 30 })])(
    'any text is a unit or none',
    (text) => {
      expect(() => ucumUnit(text)).not.toThrow();
    },
  );

  const UNITS = ['g/L', 'mg/dL', 'ng/mL', 'ug/dL', 'pg/mL'];
  property([
    fc.double({ min: 0.001, max: 10_000, noNaN: true }),
    fc.constantFrom(...UNITS),
    fc.constantFrom(...UNITS),
  ])('there and back is the same number', (value, from, to) => {
    expect(inUnit(inUnit(value, from, to) ?? Number.NaN, to, from)).toBeCloseTo(
      value,
      9,
    );
  });
});
