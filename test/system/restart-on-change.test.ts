import { utimes } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { expect, onTestFinished, test, vi } from 'vitest';
import { restartOnChange } from '../../tools/embedded/restart-on-change.ts';
import { startStack } from '../../tools/embedded/stack.ts';
import { testFolder } from '../support/postgres-tools.ts';

const RECEIVER = fileURLToPath(new URL('../../src/receiver.ts', import.meta.url));

test('npm run dev starts the process anew whose code has changed, on its old port, and no other', async () => {
  const stack = await startStack({ dataDir: await testFolder(), logLevel: 'warn' });
  onTestFinished(() => stack.stop());
  const before = stack.pids();
  const stopping = new AbortController();
  const lines: string[] = [];
  const watching = restartOnChange(stack.restart, {
    signal: stopping.signal,
    log: (line) => lines.push(line),
  });

  // Nothing says when the watcher has begun. The content stays as it is.
  await vi.waitFor(
    async () => {
      const line = 'src/receiver.ts changed; restarting receiver';
      if (!lines.includes(line)) await utimes(RECEIVER, new Date(), new Date());
      expect(lines).toContain(line);
    },
    { timeout: 60_000, interval: 1_000 },
  );
  await vi.waitFor(() => expect(stack.pids().receiver).not.toBe(before.receiver), 60_000);
  stopping.abort();
  await watching;
  await vi.waitFor(() => expect(Number(stack.pids().receiver)).toBeGreaterThan(0), 60_000);

  const { receiver: _old, ...others } = before;
  expect(stack.pids()).toMatchObject(others);
  const status = async () => {
    const answer = await request(`${stack.connection.receiverUrl}/webhooks`, { method: 'POST' });
    await answer.body.dump();
    return answer.statusCode;
  };
  // Its file may have been touched again while it restarted, which restarts it once more.
  await expect.poll(() => status().catch(String)).toBe(401);
});
