import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  backOff,
  pageWithin,
  pauseAfter,
  shouldContinueAsNew,
} from '../../../src/workflows/shared/work-in-pages.ts';
import { property } from '../../support/property.ts';

const perMinute = fc.integer({ min: 1, max: 20_000 });
/**
 * Pieces of work as they may come: how many each could use at most, and how
 * long it took.
 */
const pieces = fc.array(
  fc.record({
    wanted: fc.nat(150),
    tookMs: fc.integer({ min: 0, max: 90_000 }),
  }),
  {
    minLength: 1,
    maxLength: 60,
  },
);

/**
 * When each piece began and what it used, with the waits that pacing asks for.
 */
function run(
  work: { wanted: number; tookMs: number }[],
  budget: number,
  pageSize: number,
) {
  let nowMs = 0;
  return work.map(({ wanted, tookMs }) => {
    const begunAtMs = nowMs;
    const count = Math.min(wanted, pageWithin(pageSize, budget));
    nowMs += tookMs;
    nowMs += pauseAfter([{ count, perMinute: budget }], tookMs);
    return { begunAtMs, count };
  });
}

describe('paced work', () => {
  property([pieces, perMinute, fc.integer({ min: 1, max: 150 })])(
    'uses in any stretch no more than its minutes allow and one page',
    (work, budget, pageSize) => {
      const begun = run(work, budget, pageSize);
      for (const [first, from] of begun.entries()) {
        let used = 0;
        for (const piece of begun.slice(first)) {
          const minutes = (piece.begunAtMs - from.begunAtMs) / 60_000;
          expect(used).toBeLessThanOrEqual(budget * minutes + 1e-6);
          used += piece.count;
        }
      }
    },
  );

  property([pieces, perMinute])(
    'takes no longer than the budget makes it take',
    (work, budget) => {
      let nowMs = 0;
      for (const { wanted, tookMs } of work) {
        const waitMs = pauseAfter(
          [{ count: wanted, perMinute: budget }],
          tookMs,
        );
        expect(waitMs).toBeGreaterThanOrEqual(0);
        if (waitMs > 0)
          expect(tookMs + waitMs).toBeLessThan((wanted * 60_000) / budget + 1);
        nowMs += tookMs + waitMs;
      }
      expect(nowMs).toBeGreaterThanOrEqual(0);
    },
  );

  test('keeps to the tighter of two budgets', () => {
    const uses = [
      { count: 50, perMinute: 100 },
      { count: 100, perMinute: 400 },
    ];
    expect(pauseAfter(uses, 10_000)).toBe(20_000);
    expect(pauseAfter([], 10_000)).toBe(0);
  });
});

describe('a page', () => {
  property([
    fc.integer({ min: 1, max: 500 }),
    fc.double({ min: 0, max: 1e6, noNaN: true }),
  ])(
    'is at least one item and never more than a minute allows',
    (size, budget) => {
      const page = pageWithin(size, budget);
      expect(page).toBeGreaterThanOrEqual(1);
      expect(page).toBeLessThanOrEqual(Math.max(1, Math.min(size, budget)));
    },
  );
});

describe('looking again', () => {
  test('is put off ever longer, up to a bound', () => {
    expect(
      [0, 1, 2, 3, 9, 5_000].map((looks) => backOff(looks, 1_000, 30_000)),
    ).toEqual([1_000, 2_000, 4_000, 8_000, 30_000, 30_000]);
  });
});

describe('a workflow begins anew', () => {
  test.each([
    [{ pages: 9, suggested: false }, false],
    [{ pages: 10, suggested: false }, true],
    [{ pages: 1, suggested: true }, true],
  ])('%o: %s', (state, expected) => {
    expect(shouldContinueAsNew(state, 10)).toBe(expected);
  });
});
