import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { timeoutSignal } from '../../../src/lib/timeout-signal.ts';

test('a time limit that only AbortSignal.any refers to is in force after garbage was collected', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const limited = AbortSignal.any([new AbortController().signal, timeoutSignal(200)]);
  for (let round = 0; round < 3; round++) {
    await sleep(20);
    collectGarbage();
  }
  await expect.poll(() => limited.aborted, { timeout: 5_000 }).toBe(true);
  expect(limited.reason).toMatchObject({ name: 'TimeoutError' });
});
