import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { anySignal } from '../../../src/lib/abort-signals.ts';

test('a time limit that only a joined signal refers to is in force after garbage was collected', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const limited = anySignal([
    new AbortController().signal,
    AbortSignal.timeout(200),
  ]);
  await sleep(20);
  collectGarbage();
  await expect.poll(() => limited.aborted, { timeout: 240_000 }).toBe(true);
  expect(limited.reason).toMatchObject({ name: 'TimeoutError' });
});

test('joined signals abort with the first of them, for its reason, and leave nothing at the others', () => {
  const first = new AbortController();
  const second = new AbortController();
  const joined = anySignal([first.signal, second.signal]);
  expect(joined.aborted).toBe(false);
  second.abort('enough');
  expect(joined.reason).toBe('enough');
  expect(getEventListeners(first.signal, 'abort')).toEqual([]);
  expect(anySignal([new AbortController().signal, second.signal]).reason).toBe(
    'enough',
  );
});
