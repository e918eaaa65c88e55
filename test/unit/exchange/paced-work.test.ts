import { expect, test } from 'vitest';
import { PacedWork } from '../../../src/exchange/platform/outbox/webhook-dispatcher.ts';

const A_DAY_MS = 86_400_000;

test('work that is requested often begins at once, and once more after the last request', async () => {
  const begun: string[] = [];
  const paced = new PacedWork({
    pauseMs: A_DAY_MS,
    work: async (key) => void begun.push(key),
  });
  for (let count = 0; count < 100; count++) {
    paced.request('one');
    await Promise.resolve();
  }
  paced.request('other');
  expect(begun).toEqual(['one', 'other']);
  await paced.drain();
  expect(begun).toEqual(['one', 'other', 'one']);
  expect(paced.isIdle).toBe(true);
});

test('what is requested while the work is in progress is done afterwards', async () => {
  const ends: (() => void)[] = [];
  let begun = 0;
  const paced = new PacedWork({
    pauseMs: 0,
    work: async () => {
      begun += 1;
      await new Promise<void>((resolve) => ends.push(resolve));
    },
  });
  paced.request('one');
  paced.request('one');
  expect(begun).toBe(1);
  ends[0]?.();
  await expect.poll(() => begun).toBe(2);
  expect(paced.isIdle).toBe(false);
  ends[1]?.();
  await paced.drain();
  expect([begun, paced.isIdle]).toEqual([2, true]);
});
