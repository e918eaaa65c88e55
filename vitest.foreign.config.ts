import { defineConfig } from 'vitest/config';

/**
 * Tests against software that we did not write (npm run test:foreign): minutes,
 * and a gigabyte of memory.
 */
export default defineConfig({
  test: {
    name: 'foreign',
    include: ['test/foreign/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 300_000,
    hookTimeout: 1_200_000,
    globalSetup: ['test/support/run-folder.ts', 'test/support/global-setup.ts'],
  },
});
