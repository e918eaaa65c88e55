import { expect, test } from 'vitest';
import { compileExpression } from '../../../src/exchange/delivery/bulk-export/views/fhirpath.ts';
import { stepsOf } from '../../support/steps.ts';

const compiled = (text: string) => compileExpression(text, 'path', []);
const evaluated = (text: string) =>
  compiled(text)
    .evaluate({ type: 'Patient', value: { resourceType: 'Patient' } }, {})
    .map(({ value }) => value);

/** Pieces that are repeated, and what stands around them. */
const REPEATED: Readonly<Record<string, [string, string, string]>> = {
  signs: ['', '-', '1'],
  'signs of elements': ['', '-a.', 'a'],
  brackets: ['', '(', '1'],
  numbers: ['', '1 ', '1'],
  sums: ['1', '+1', ''],
  unions: ['a', ' | a', ''],
  elements: ['a', '.a', ''],
  indexes: ['a', '[0]', ''],
  calls: ['', 'iif(', 'a'],
  'an open text': ["'", '\\', ''],
};

test.each(Object.entries(REPEATED))(
  'twice as many %s cost about twice the steps',
  (_, [start, piece, end]) => {
    const read = (times: number) => () => {
      try {
        compiled(`${start}${piece.repeat(times)}${end}`);
      } catch {
        // Refused, in as many steps.
      }
    };
    const most = Math.floor(900 / piece.length);
    for (const times of [8, 32, 128, most / 2].filter((n) => n * 2 <= most)) {
      read(times)();
      const once = stepsOf(read(times));
      expect(stepsOf(read(times * 2)), `${times} times`).toBeLessThan(
        once * 2.5 + 1_000,
      );
    }
  },
);

test('what a sign stands before is evaluated once', () => {
  expect(evaluated(`${'-'.repeat(10)}1`)).toEqual([1]);
  expect(evaluated(`${'-'.repeat(11)}1`)).toEqual([-1]);
  expect(evaluated('-(1 | 2)')).toEqual([]);
  const steps = (signs: number) =>
    stepsOf(() => evaluated(`${'-'.repeat(signs)}1`));
  expect(steps(16)).toBeLessThan(steps(8) * 2.5 + 1_000);
});

test.each([
  ['forty signs', `${'-'.repeat(40)}1`, 'is nested deeper than 20'],
  ['calls in calls', `${'iif(true, '.repeat(40)}1${')'.repeat(40)}`, 'nested'],
  ['very many parts', `1${'+1'.repeat(480)}`, 'has more than 400 parts'],
])('an expression with %s is refused', (_, text, message) => {
  expect(() => compiled(text)).toThrow(message);
});

test('a chain of elements, and a list of codes, may be as long as an expression', () => {
  expect(() => compiled(`a${'.b'.repeat(150)}`)).not.toThrow();
  const codes = Array.from({ length: 80 }, (_, n) => `'code-${n}'`);
  expect(() => compiled(`code in (${codes.join('|')})`)).not.toThrow();
});
