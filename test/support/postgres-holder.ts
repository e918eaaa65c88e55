import { startPostgres } from '../../tools/embedded/postgres.ts';

// Starts PostgreSQL on the folder given as argument, as a supervisor does, and
// tells its parent where; the tests kill this process to see what becomes of
// the server.

const [, , dataDir = ''] = process.argv;
try {
  const { databaseUrl, pid } = await startPostgres({
    dataDir,
    settings: { shared_buffers: '32MB' },
  });
  process.send?.({ databaseUrl, pid });
} catch (error) {
  process.send?.({
    error: error instanceof Error ? error.message : String(error),
  });
  process.exit(1);
}
