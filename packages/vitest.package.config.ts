import { defineConfig } from 'vitest/config';

/**
 * The tests of one package alone: npm test -w packages/<name>. `npm run
 * test:unit` runs those of all. (A file named vitest.config.ts would be mistaken
 * for the root's.)
 */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // Far above what a busy machine needs, as in the root's vitest.config.ts.
    testTimeout: 900_000,
  },
});
