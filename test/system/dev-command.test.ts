import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, utimes } from 'node:fs/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { readConnection } from '../../src/local-stack/connection-file.ts';
import { makeTestFolder } from '../support/test-folder.ts';

const WAIT = { timeout: 240_000, interval: 250 };

test('npm run dev starts the system again, at its old addresses, when its code changes, and ends with Ctrl-C', async () => {
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8'));
  const dataDir = await makeTestFolder();
  const child = spawn('sh', ['-c', scripts.dev], {
    env: {
      PATH: `node_modules/.bin:${process.env.PATH}`,
      HOME: process.env.HOME,
      DATA_DIR: dataDir,
      LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGINT'));
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part) => (output += part));
  const starts = () => output.split('Everything is running').length - 1;

  await vi.waitFor(() => expect(starts(), output).toBe(1), WAIT);
  const before = await readConnection(dataDir);
  await vi.waitFor(
    async () => {
      // Nothing says when the watcher has begun. The content stays as it is.
      if (!output.includes('Restarting'))
        await utimes('src/receiver.ts', new Date(), new Date());
      expect(starts(), output).toBe(2);
    },
    { timeout: 240_000, interval: 1_000 },
  );
  const { baseUrl, receiverUrl, apiKey } = await readConnection(dataDir);
  expect({ baseUrl, receiverUrl, apiKey }).toEqual({
    baseUrl: before.baseUrl,
    receiverUrl: before.receiverUrl,
    apiKey: before.apiKey,
  });
  child.kill('SIGINT');
  await once(child, 'exit');
  expect(output).toMatch(/Stopped\.\s*$/);
});
