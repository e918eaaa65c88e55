import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test as base } from 'vitest';
import { startTestStack, type TestStack } from '../support/stack.ts';

/**
 * Far above what a busy machine needs: each test may kill several parts, and
 * wait for work that they had begun.
 */
export const FAULT_TEST = { timeout: 900_000 };

/** Tests of a file that have one stack among them, whose parts they kill. */
export const test = base.extend<{ stack: TestStack }>({
  stack: [
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern which fixtures this one needs
    async ({}, use) => {
      const dataDir = await mkdtemp(join(tmpdir(), 'exchange-kill-'));
      const stack = await startTestStack({ dataDir });
      await use(stack);
      await stack.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
    { scope: 'file' },
  ],
});
