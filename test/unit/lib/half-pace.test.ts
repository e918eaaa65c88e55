import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { atHalfPace } from '../../../src/lib/half-pace.ts';

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

/**
 * When the work on each item began, and when all of it had ended, in
 * milliseconds.
 */
async function beginnings(
  tookMs: readonly number[],
  pauseMsMax: number,
): Promise<number[]> {
  const at: number[] = [];
  const all = atHalfPace(tookMs, pauseMsMax, async (ms) => {
    at.push(performance.now());
    await new Promise((resolve) => setTimeout(resolve, ms));
  }).then(() => at.push(performance.now()));
  await vi.runAllTimersAsync();
  await all;
  return at;
}

test('pauses between two items for as long as the first took', async () => {
  expect(await beginnings([10, 30, 20], 1_000)).toEqual([0, 20, 80, 100]);
});

test('pauses no longer than the maximum', async () => {
  expect(await beginnings([10, 300, 10], 100)).toEqual([0, 20, 420, 430]);
});

test('stops with the first item that fails', async () => {
  const items: number[] = [];
  const all = atHalfPace([1, 2, 3], 0, async (item) => {
    items.push(item);
    if (item === 2) throw new Error('no');
  });
  await Promise.all([
    expect(all).rejects.toThrow('no'),
    vi.runAllTimersAsync(),
  ]);
  expect(items).toEqual([1, 2]);
});
