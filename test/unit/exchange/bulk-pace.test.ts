import { describe, expect, test } from 'vitest';
import { bulkPace } from '../../../src/exchange/people/bulk-create/rules/bulk-pace.ts';

const counts = (rows: number, handled: number) => ({
  rows,
  handled,
  created: handled,
  updated: 0,
  failed: 0,
});
const running = { status: 'processing', paused: false, activeMs: 2_000 };

describe('the pace of a bulk create', () => {
  test('is told over the time that was spent on rows, with what is left at it', () => {
    expect(bulkPace({ ...running, counts: counts(100, 25) })).toEqual({
      rowsPerSecond: 12.5,
      secondsLeft: 6,
    });
  });

  test('has no time left while it is paused, or once it has ended', () => {
    const half = { ...running, counts: counts(100, 50) };
    expect(bulkPace({ ...half, paused: true })).toEqual({ rowsPerSecond: 25 });
    expect(bulkPace({ ...half, status: 'completed' })).toEqual({
      rowsPerSecond: 25,
    });
  });

  test('is not told before the first rows are done', () => {
    expect(bulkPace({ ...running, counts: counts(100, 0) })).toEqual({});
    expect(
      bulkPace({ ...running, activeMs: 0, counts: counts(100, 50) }),
    ).toEqual({});
  });
});
