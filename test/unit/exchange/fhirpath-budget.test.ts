import { expect, test } from 'vitest';
import { compileView } from '#sql-on-fhir';
import { planView } from '../../../src/exchange/delivery/bulk-export/views/planned-view.ts';
import { stepsOf } from '../../support/steps.ts';

const compiled = (path: string) =>
  compileView({
    resource: 'Patient',
    select: [{ column: [{ name: 'a', path }] }],
  });
const evaluated = (text: string) =>
  compiled(text).rowsOf({ resourceType: 'Patient' });

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

test('twice as many signs cost about twice the steps to evaluate', () => {
  const steps = (signs: number) =>
    stepsOf(() => evaluated(`${'-'.repeat(signs)}1`));
  expect(steps(16)).toBeLessThan(steps(8) * 2.5 + 1_000);
});

test('a column that ends with toString() can be stored', () => {
  const column = { name: 'a', path: '1.toString()' };
  const view = { resource: 'Patient', select: [{ column: [column] }] };
  expect(planView(view).columns).toMatchObject([
    { name: 'a', type: 'string', stored: 'STRING' },
  ]);
});
