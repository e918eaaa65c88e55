import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SOURCE_TYPES } from '../../../src/contract/primitives.ts';
import {
  pollDelayMs,
  SOURCE_RETRIES,
} from '../../../src/exchange/queries/network-query/rules/retries.ts';
import { property } from '../../support/property.ts';

const policy = fc.constantFrom(
  ...SOURCE_TYPES.map((source) => SOURCE_RETRIES[source]),
);
const asked = fc.integer({ min: 0, max: 100_000 });

describe('the wait before a source is asked for its answer', () => {
  property([policy, asked])(
    'never shrinks and stays within the policy',
    (of, askedInVain) => {
      const wait = pollDelayMs(of, askedInVain);
      expect(wait).toBeGreaterThanOrEqual(of.pollFirstMs);
      expect(wait).toBeLessThanOrEqual(of.pollMaxMs);
      expect(pollDelayMs(of, askedInVain + 1)).toBeGreaterThanOrEqual(wait);
    },
  );

  property([policy, asked, fc.integer({ min: 0, max: 30 * 86_400_000 })])(
    'is never shorter than what the source asked for',
    (of, askedInVain, retryAfterMs) => {
      const wait = pollDelayMs(of, askedInVain, retryAfterMs);
      expect(wait).toBeGreaterThanOrEqual(Math.max(retryAfterMs, 1_000));
      expect(Number.isFinite(wait)).toBe(true);
    },
  );

  test('starts at once with what the source asked for, and grows when it was asked in vain', () => {
    const waits = [0, 1, 2].map((askedInVain) =>
      pollDelayMs(SOURCE_RETRIES.hie, askedInVain, 10_000),
    );
    expect(waits).toEqual([10_000, 15_000, 22_500]);
  });
});
