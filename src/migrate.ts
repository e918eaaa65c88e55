import { ConfigError, readConfig } from './config.ts';
import { createStore } from './exchange/platform/database/database.ts';
import { runProcess } from './lib/process.ts';

/** Migrates the database schema to the current version and exits. Safe to run several times in parallel. */
await runProcess('migrate', async (logger) => {
  const { DATABASE_URL } = readConfig(['DATABASE_URL']);
  const store = createStore({ databaseUrl: DATABASE_URL, poolMax: 2 });
  const migrated = store
    .migrate()
    .catch(forOperators)
    .then(() => logger.info('the schema is up to date'));
  return { ended: migrated, stop: () => store.close() };
});

const INSUFFICIENT_PRIVILEGE = '42501';

function forOperators(error: unknown): never {
  if ((error as { code?: unknown }).code !== INSUFFICIENT_PRIVILEGE) throw error;
  throw new ConfigError(
    'DATABASE_URL: this login may not change the schema. Use the login that owns the database (docs/deployment.md, "Logins of ' +
      'PostgreSQL"); if it does, that page says what an administrator must create first.',
  );
}
