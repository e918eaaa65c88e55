import { defineConfig } from 'vitest/config';

/**
 * FHIR's validator on the records that we give out (npm run test:conformance):
 * minutes, and two gigabytes of memory.
 */
export default defineConfig({
  test: {
    name: 'conformance',
    include: ['test/conformance/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 1_800_000,
    hookTimeout: 600_000,
    globalSetup: ['test/support/run-folder.ts', 'test/support/global-setup.ts'],
  },
});
