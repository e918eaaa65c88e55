import { Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import { openConnection } from '../../../src/temporal/connection.ts';

const NOWHERE = '127.0.0.1:1';

test.each([50, 150, 400, 900])(
  'a call that waits for its retry when the connection is closed, %i ms after it was made, fails and throws nowhere else',
  async (afterMs) => {
    const connection = await openConnection(
      { address: NOWHERE },
      { lazy: true },
    );
    const call = new Client({ connection }).workflow
      .getHandle('any')
      .describe();
    const failed = expect(call).rejects.toThrow();
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    await connection.close();
    await failed;
  },
);

test('a call fails also if the process was too busy to make its retry before the connection was closed', async () => {
  const connection = await openConnection({ address: NOWHERE }, { lazy: true });
  const call = new Client({ connection }).workflow.getHandle('any').describe();
  const failed = expect(call).rejects.toThrow();
  await new Promise((resolve) => setTimeout(resolve, 60));
  const busyUntil = performance.now() + 1_500;
  while (performance.now() < busyUntil);
  await connection.close();
  await failed;
});
