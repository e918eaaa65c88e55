import { readConfig } from './config.ts';
import { createStore } from './exchange/platform/database/database.ts';
import { runProcess } from './lib/process.ts';

/** Migrates the database schema to the current version and exits. Safe to run several times in parallel. */
await runProcess('migrate', async (logger) => {
  const { DATABASE_URL } = readConfig(['DATABASE_URL']);
  const store = createStore({ databaseUrl: DATABASE_URL, poolMax: 2 });
  const migrated = store.migrate().then(() => logger.info('the schema is up to date'));
  return { ended: migrated, stop: () => store.close() };
});
