import { defineConfig } from 'vitest/config';

/**
 * Two projects, so that the quick loop stays quick: `unit` needs no server; `servers` gets a PostgreSQL and a
 * Temporal server of its own, started once per run by test/support/global-setup.ts.
 */
const common = { pool: 'forks', testTimeout: 60_000, hookTimeout: 60_000 } as const;

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      // Pure tests share a process: most of their time went into importing the same modules anew for each file.
      { test: { ...common, name: 'unit', include: ['test/unit/**/*.test.ts'], isolate: false } },
      {
        test: {
          ...common,
          name: 'servers',
          include: ['test/**/*.test.ts'],
          exclude: ['test/unit/**'],
          globalSetup: ['test/support/global-setup.ts'],
        },
      },
    ],
  },
});
