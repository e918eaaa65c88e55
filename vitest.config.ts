import { defineConfig } from 'vitest/config';

/**
 * Three projects, so that the quick loop stays quick: `unit` needs no server; `pages` needs Chromium and is skipped without;
 * `servers` gets a PostgreSQL and a Temporal server of its own, started once per run by test/support/global-setup.ts.
 */
const common = {
  pool: 'forks',
  // Files of a worker share a process: importing the same modules anew for each took a fifth of a run.
  isolate: false,
  // Far above what a busy machine needs: only a test that hangs meets them.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 30_000, interval: 50 } },
} as const;
/** For every project: a temporary folder of the run, which is cleared away whatever ends the run. */
const RUN_FOLDER = 'test/support/run-folder.ts';

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      { test: { ...common, name: 'unit', include: ['test/unit/**/*.test.ts'], globalSetup: [RUN_FOLDER] } },
      { test: { ...common, name: 'pages', include: ['test/pages/**/*.test.ts'], globalSetup: [RUN_FOLDER] } },
      {
        test: {
          ...common,
          name: 'servers',
          include: ['test/**/*.test.ts'],
          exclude: ['test/unit/**', 'test/pages/**', 'test/foreign/**', 'test/conformance/**'],
          globalSetup: [RUN_FOLDER, 'test/support/global-setup.ts'],
        },
      },
    ],
  },
});
