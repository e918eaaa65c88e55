import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  DELIVERY_DELAYS_MS,
  deliveryDelayMs,
} from '../../../src/exchange/platform/outbox/rules/delivery-schedule.ts';
import { property } from '../../support/property.ts';

const HOUR = 3_600_000;
const made = fc.integer({ min: 1, max: DELIVERY_DELAYS_MS.length });
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('the wait before the next attempt on a webhook', () => {
  test('follows the published schedule', () => {
    const seconds = DELIVERY_DELAYS_MS.map(
      (_, index) => (deliveryDelayMs(index + 1, 0) ?? Number.NaN) / 1000,
    );
    expect(seconds).toEqual([
      5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
    ]);
  });

  test('is nothing before the first attempt, and there is none after the tenth', () => {
    expect(deliveryDelayMs(0, 0.5)).toBe(0);
    expect(deliveryDelayMs(10, 0.5)).toBeUndefined();
    expect(deliveryDelayMs(11, 0.5, 1_000)).toBeUndefined();
  });

  property([made, random])(
    'is up to a tenth longer by chance, never shorter',
    (attempts, chance) => {
      const plain = deliveryDelayMs(attempts, 0) ?? Number.NaN;
      const wait = deliveryDelayMs(attempts, chance) ?? Number.NaN;
      expect(wait).toBeGreaterThanOrEqual(plain);
      expect(wait).toBeLessThanOrEqual(plain * 1.1);
    },
  );

  property([made, random, fc.integer({ min: 0, max: 24 * HOUR })])(
    'is never shorter than what the receiver asked for',
    (attempts, chance, retryAfterMs) => {
      expect(
        deliveryDelayMs(attempts, chance, retryAfterMs),
      ).toBeGreaterThanOrEqual(retryAfterMs);
    },
  );

  property([
    made,
    fc.oneof(
      fc.integer({ min: 24 * HOUR }),
      fc.constant(Number.POSITIVE_INFINITY),
    ),
  ])(
    'lets no receiver put it off for more than a day and the jitter',
    (attempts, retryAfterMs) => {
      expect(deliveryDelayMs(attempts, 0, retryAfterMs)).toBe(24 * HOUR);
    },
  );
});
