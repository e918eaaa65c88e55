import { ConfigError, readConfig } from './config.ts';
import { createStore } from './exchange/platform/database/database.ts';
import { retryOvertaken } from './exchange/platform/database/retry.ts';
import { lookupTable } from './lib/lookup-table.ts';
import { runProcess } from './lib/process.ts';

/**
 * Migrates the database schema to the current version and exits. Safe to run
 * several times in parallel.
 */
await runProcess('migrate', async (logger) => {
  const { DATABASE_URL } = readConfig(['DATABASE_URL']);
  const store = createStore({ databaseUrl: DATABASE_URL, poolMax: 2 });
  const migrated = retryOvertaken(() => store.migrate())
    .catch(forOperators)
    .then(() => logger.info('the schema is up to date'));
  return { ended: migrated, stop: () => store.close() };
});

/**
 * What to do, by PostgreSQL's code of the error: insufficient privilege, lock
 * not available.
 */
const ADVICE: Readonly<Record<string, string>> = lookupTable({
  '42501':
    'DATABASE_URL: this login may not change the schema. Use the login that owns the database (docs/deployment.md, "Logins of ' +
    'PostgreSQL"); if it does, that page says what an administrator must create first.',
  '55P03':
    'A long transaction, such as a backup, uses a table; nothing was changed. Run migrate again after it.',
});

function forOperators(error: unknown): never {
  const advice = ADVICE[String((error as { code?: unknown }).code)];
  throw advice === undefined ? error : new ConfigError(advice);
}
