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
const waited = fc.integer({ min: 0, max: 30 * 86_400_000 });

describe('the wait before a source is asked for its answer', () => {
  property([policy, waited])(
    'never shrinks and stays within the policy',
    (of, waitedMs) => {
      const wait = pollDelayMs(of, waitedMs);
      expect(wait).toBeGreaterThanOrEqual(of.pollFirstMs);
      expect(wait).toBeLessThanOrEqual(of.pollMaxMs);
      expect(pollDelayMs(of, waitedMs + 1)).toBeGreaterThanOrEqual(wait);
    },
  );

  property([policy, waited, fc.integer({ min: 0, max: 30 * 86_400_000 })])(
    'is never shorter than what the source asked for',
    (of, waitedMs, retryAfterMs) => {
      const wait = pollDelayMs(of, waitedMs, retryAfterMs);
      expect(wait).toBeGreaterThanOrEqual(Math.max(retryAfterMs, 1_000));
      expect(Number.isFinite(wait)).toBe(true);
    },
  );

  test('starts at once with what the source asked for, and grows when it was asked in vain', () => {
    const waits = [0, 10_000, 25_000].map((waitedMs) =>
      pollDelayMs(SOURCE_RETRIES.hie, waitedMs, 10_000),
    );
    expect(waits).toEqual([10_000, 15_000, 22_500]);
  });
});
