import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { DATABASE_FILE } from '../../tools/embedded/temporal-server.ts';
import { startTestPostgres } from './postgres.ts';
import { startTestTemporalServer } from './temporal-server.ts';
import { makeTestFolder } from './test-folder.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /**
     * Superuser address of the run's PostgreSQL; tests use createTestDatabase()
     * instead.
     */
    postgresUrl: string;
    /** host:port of the run's Temporal server, namespace `default`. */
    temporalAddress: string;
    /** Path of that server's SQLite database. */
    temporalDatabase: string;
  }
}

/** Starts the servers of one test run; what it returns stops them. */
export default async function setup(
  project: TestProject,
): Promise<() => Promise<void>> {
  const folder = await makeTestFolder();
  const started = await Promise.allSettled([
    startTestPostgres(join(folder, 'postgres')),
    startTestTemporalServer(join(folder, 'temporal')),
  ]);
  const stop = async () => {
    await Promise.all(
      started.map((result) =>
        result.status === 'fulfilled' ? result.value.stop() : undefined,
      ),
    );
  };
  const [postgres, temporal] = started;
  if (postgres.status === 'rejected' || temporal.status === 'rejected') {
    await stop();
    throw postgres.status === 'rejected'
      ? postgres.reason
      : (temporal as PromiseRejectedResult).reason;
  }
  project.provide('postgresUrl', postgres.value.adminUrl);
  project.provide('temporalAddress', temporal.value.address);
  project.provide('temporalDatabase', join(folder, 'temporal', DATABASE_FILE));
  return stop;
}
