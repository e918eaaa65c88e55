import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import {
  createStore,
  type Store,
  type StoreOptions,
} from '../../src/exchange/platform/database/database.ts';
import type { RunningPart } from '../../tools/embedded/child-process.ts';
import { startPostgres } from '../../tools/embedded/postgres.ts';

const TEMPLATE = 'exchange_template';
/**
 * The default strategy writes the whole copy to the log too: four times the
 * processor time.
 */
const STRATEGY = 'STRATEGY FILE_COPY';
/**
 * Nothing of a test run must outlive the machine, so it need not reach the
 * disk.
 */
const FAST_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  shared_buffers: '128MB',
};

/**
 * With PACK_AT_ONCE=1 in the environment, each content is in a pack as soon as it
 * is written, and each origin at the end of the transaction that merged it: the
 * same tests, of packed records.
 */
const PACK_AT_ONCE = `
  CREATE FUNCTION pack_at_once() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF pg_trigger_depth() = 1 THEN
      PERFORM pack_record(patient_id, 10000) FROM (SELECT DISTINCT patient_id FROM written) AS each;
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER written_is_packed AFTER INSERT ON patient_resource REFERENCING NEW TABLE AS written
    FOR EACH STATEMENT EXECUTE FUNCTION pack_at_once();
  CREATE TRIGGER written_over_is_packed AFTER UPDATE ON patient_resource REFERENCING NEW TABLE AS written
    FOR EACH STATEMENT EXECUTE FUNCTION pack_at_once();
  CREATE FUNCTION pack_origins_at_once() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pack_origins(NEW.patient_id);
    RETURN NULL;
  END $$;
  CREATE CONSTRAINT TRIGGER merged_is_packed AFTER INSERT OR UPDATE ON record_origin DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION pack_origins_at_once()`;

export interface TestPostgres extends RunningPart {
  /** Superuser address of the maintenance database. */
  readonly adminUrl: string;
}

/**
 * Once per vitest run (global-setup.ts): a server with a migrated database that
 * test databases are copied from.
 */
export async function startTestPostgres(
  dataDir: string,
): Promise<TestPostgres> {
  const server = await startPostgres({ dataDir, settings: FAST_SETTINGS });
  try {
    const adminUrl = withDatabase(server.databaseUrl, 'postgres');
    await runSql(adminUrl, `CREATE DATABASE ${TEMPLATE}`);
    const store = createStore({
      databaseUrl: withDatabase(adminUrl, TEMPLATE),
    });
    await store.migrate().finally(() => store.close());
    if (process.env.PACK_AT_ONCE === '1')
      await runSql(withDatabase(adminUrl, TEMPLATE), PACK_AT_ONCE);
    return {
      adminUrl,
      pid: server.pid,
      exited: server.exited,
      stop: server.stop,
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

export interface TestDatabase {
  /** Superuser address of a database of its own: migrated, empty. */
  readonly databaseUrl: string;
  /**
   * Removes the database, ending sessions that are still open. Optional: the
   * server goes after the run anyhow.
   */
  drop(): Promise<void>;
}

/** A fresh, migrated database; one per test file keeps files independent. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const adminUrl = inject('postgresUrl');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await runSql(
    adminUrl,
    `CREATE DATABASE ${name} TEMPLATE ${TEMPLATE} ${STRATEGY}`,
  );
  return {
    databaseUrl: withDatabase(adminUrl, name),
    drop: () =>
      runSql(adminUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

export interface TestStore {
  readonly store: Store;
  readonly databaseUrl: string;
  close(): Promise<void>;
}

/**
 * A store on a test database of its own: `beforeAll(async () => { …; return
 * close; })` takes both away after the file.
 */
export async function createTestStore(
  options: Omit<StoreOptions, 'databaseUrl'> = {},
): Promise<TestStore> {
  const { databaseUrl, drop } = await createTestDatabase();
  const store = createStore({ poolMax: 4, ...options, databaseUrl });
  const close = async () => {
    await store.close();
    await drop();
  };
  return { store, databaseUrl, close };
}

/**
 * A copy of a test database, as a backup that was restored. No session may be
 * open on it.
 */
export async function copyTestDatabase(
  databaseUrl: string,
): Promise<TestDatabase> {
  const adminUrl = inject('postgresUrl');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await runSql(
    adminUrl,
    `CREATE DATABASE ${name} TEMPLATE ${new URL(databaseUrl).pathname.slice(1)} ${STRATEGY}`,
  );
  return {
    databaseUrl: withDatabase(adminUrl, name),
    drop: () =>
      runSql(adminUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}

async function runSql(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
