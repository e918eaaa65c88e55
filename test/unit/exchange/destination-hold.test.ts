import fc from 'fast-check';
import { expect, test } from 'vitest';
import { holdMs } from '../../../src/exchange/platform/outbox/rules/delivery-schedule.ts';

const HOUR_MS = 3_600_000;
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test('a destination is held from the fifth failure on, for 5 s at first and for five minutes in the end', () => {
  expect([0, 1, 4].map((failures) => holdMs(failures, 0))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(
    [5, 6, 7, 10, 11, 12, 1_000].map((failures) => holdMs(failures, 0)),
  ).toEqual([5_000, 10_000, 20_000, 160_000, 300_000, 300_000, 300_000]);
});

test('a Retry-After prolongs a hold, by a day at most, and never shortens it', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 5, max: 5_000 }),
      random,
      fc.nat(100 * HOUR_MS),
      (failures, chance, after) => {
        const plain = holdMs(failures, chance) ?? Number.NaN;
        const asked = holdMs(failures, chance, after) ?? Number.NaN;
        expect(asked).toBe(Math.max(plain, Math.min(after, 24 * HOUR_MS)));
        expect(plain).toBeLessThanOrEqual(330_000);
      },
    ),
  );
});
