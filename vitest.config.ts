import { createHash } from 'node:crypto';
import { accessSync, constants, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import type { ProjectConfig } from 'vitest/node';
import { CountReporter } from './test/support/count-reporter.ts';
import { LongestFirst } from './test/support/longest-first.ts';

/**
 * The folder of a test decides when it runs (CONTRIBUTING.md, "Add a test").
 * `npm test` has three projects: `unit` and `unit-counting` need no server;
 * `servers` gets a PostgreSQL and a Temporal server of its own, started once per
 * run by test/support/global-setup.ts. `npm run test:system` has the fourth, with
 * whole stacks, our processes and pages in a browser, and has such servers too.
 */
const common = {
  pool: 'forks',
  // Files of a worker share a process: importing the same modules anew for each
  // took a fifth of a run.
  isolate: false,
  // Tests make much that is soon thrown away: with the default of 16 MB, a
  // tenth of their processor time went into collecting it.
  execArgv: ['--max-semi-space-size=64'],
  // Far above what a busy machine needs: only a test that hangs meets them. At
  // a load of twenty a test of half a minute took seven minutes.
  testTimeout: 900_000,
  hookTimeout: 900_000,
  expect: { poll: { timeout: 240_000, interval: 50 } },
  // One of thousands that fails by chance on a busy machine is tried once more
  // where nobody looks on; the run's end names it (test/support/count-reporter.ts).
  retry: process.env.CI === undefined ? 0 : 1,
} satisfies ProjectConfig;
/**
 * For every project: a temporary folder of the run, which is cleared away
 * whatever ends the run.
 */
const RUN_FOLDER = 'test/support/run-folder.ts';
const SERVERS = 'test/support/global-setup.ts';
const SYSTEM = [
  'test/system/**/*.test.ts',
  'test/faults/**/*.test.ts',
  'test/pages/**/*.test.ts',
];
const WITHOUT_SERVERS = ['test/unit/**'];
/**
 * Each in a process of its own: loops are counted only of code that no file
 * before has run, and counting slows the files after (test/support/steps.ts).
 */
const COUNTING = [
  'test/unit/fuzz/growth.test.ts',
  'test/unit/exchange/fhirpath-budget.test.ts',
];
/** Software of others, with a config of their own. */
const FOREIGN = ['test/foreign/**', 'test/conformance/**'];

const lock = readFileSync(new URL('package-lock.json', import.meta.url));
/**
 * A folder for each state of the dependencies: vitest empties the cache of
 * another state, even while another run is using it.
 */
const CACHE = `node_modules/.cache/vitest/${createHash('sha256').update(lock).digest('hex').slice(0, 12)}`;

/** Somebody else's clone may not be written to; then nothing is kept. */
function mayKeep(): boolean {
  try {
    accessSync('node_modules', constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

export default defineConfig({
  test: {
    // Twice the cores of the machine that this is made for: tests wait for half
    // of their time, and those that kill, for timeouts of the product.
    maxWorkers: 4,
    // Sources that have not changed since the last run are not compiled again.
    experimental: { fsModuleCache: mayKeep(), fsModuleCachePath: CACHE },
    sequence: { sequencer: LongestFirst },
    reporters: ['default', new CountReporter()],
    projects: [
      {
        test: {
          ...common,
          name: 'unit',
          include: ['test/unit/**/*.test.ts', 'packages/*/test/**/*.test.ts'],
          exclude: COUNTING,
          globalSetup: [RUN_FOLDER],
        },
      },
      {
        test: {
          ...common,
          name: 'unit-counting',
          isolate: true,
          include: COUNTING,
          globalSetup: [RUN_FOLDER],
        },
      },
      {
        test: {
          ...common,
          name: 'servers',
          include: ['test/**/*.test.ts'],
          exclude: [...WITHOUT_SERVERS, ...SYSTEM, ...FOREIGN],
          globalSetup: [RUN_FOLDER, SERVERS],
        },
      },
      {
        test: {
          ...common,
          name: 'system',
          include: SYSTEM,
          globalSetup: [RUN_FOLDER, SERVERS],
          // Stacks compute more than they wait, and kills wait for timeouts of
          // the product. Two numbers need two groups.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
