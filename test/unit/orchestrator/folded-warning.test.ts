import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { foldedWarning } from '../../../src/orchestrator/receiver/webhooks-route.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a flood of one warning is one line at once and one a minute with their number', () => {
  const lines: unknown[][] = [];
  const warn = foldedWarning(
    { warn: (...line: unknown[]) => lines.push(line) } as never,
    'refused',
  );
  for (let times = 0; times < 1_000; times += 1) warn();
  expect(lines).toEqual([['refused']]);
  vi.advanceTimersByTime(60_000);
  expect(lines.slice(1)).toEqual([[{ times: 999 }, 'refused']]);
  vi.advanceTimersByTime(120_000);
  warn();
  expect(lines.slice(2)).toEqual([['refused']]);
});
