import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createStartProgress } from '../../../tools/embedded/start-progress.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('a stack starts part by part: each says when it is ready, and what is not ready is waited for, with a line that says so', () => {
  let written = '';
  const { onStart, close } = createStartProgress({
    write: (text) => (written += text),
  });
  const postgresReady = onStart('PostgreSQL');
  onStart('Temporal');
  vi.advanceTimersByTime(10_000);
  postgresReady();
  vi.advanceTimersByTime(20_000);
  close();
  vi.advanceTimersByTime(60_000);
  expect(written.replaceAll(/\d+(\.\d)? s/g, 'n s').split('\n')).toEqual([
    '… n s, waiting for PostgreSQL, Temporal',
    '  PostgreSQL         ready, n s',
    '… n s, waiting for Temporal',
    '… n s, waiting for Temporal',
    expect.stringMatching(
      /^ {2}Temporal {11}not ready after n s, still waiting: the machine is (busy|not busy, so it may hang: see its log in the data folder)$/,
    ),
    '',
  ]);
});
