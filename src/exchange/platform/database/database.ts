import { readdir, readFile } from 'node:fs/promises';
import { Kysely, type Migration, Migrator, type RawBuilder, sql } from 'kysely';
import pg from 'pg';
import { ConfigError } from '../../../config.ts';
import { FairQueue } from '../../../lib/lanes.ts';
import { AccountSlots } from './account-slots.ts';
import {
  PipelineDialect,
  PipelinedClient,
  type PipelinedTransaction,
  transact,
} from './pipeline.ts';
import type { Database } from './schema.ts';

/**
 * A transaction that can access the rows of one account only (row-level
 * security).
 */
export interface AccountTx {
  readonly accountId: string;
  readonly db: PipelinedTransaction;
  /**
   * Ids of the outbox events that this transaction writes (`insertEvent` adds
   * to it); announced after the commit.
   */
  readonly newEvents: string[];
  /**
   * Set by a transaction that notes changes of records, which the FHIR
   * Subscriptions are told of after the commit.
   */
  hasNewChanges: boolean;
}

/**
 * A transaction with access to all accounts: for authentication, reconcile and
 * callbacks.
 */
export interface SystemTx {
  readonly db: PipelinedTransaction;
  /** As in `AccountTx`, by account. */
  readonly newEvents: Map<string, string[]>;
}

/**
 * Called after the commit of each transaction that wrote events. Must not
 * throw.
 */
export type EventsCommitted = (
  accountId: string,
  eventIds: readonly string[],
) => void;

/** Called after the commit of changes of records. Must not throw. */
export type ChangesCommitted = (accountId: string) => void;

export type Store = ReturnType<typeof createStore>;

// Dates without time are read as text: a date of birth has no time zone.
pg.types.setTypeParser(pg.types.builtins.DATE, (value) => value);
// Row counts and sizes fit into a double.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

export interface StoreOptions {
  databaseUrl: string;
  /**
   * Name of the connections in pg_stat_activity, unless DATABASE_URL gives one.
   */
  name?: string;
  /** Maximum number of connections of this process. */
  poolMax?: number;
  /**
   * Maximum number of connections that one account may use at a time; capped at
   * half of `poolMax`. Default: no limit. Set it in processes that serve many
   * accounts, so that one account cannot block the others.
   */
  accountMax?: number;
  /**
   * Maximum number of connections that accounts share evenly while several are
   * active; at least one each. Default: no sharing.
   */
  sharedMax?: number;
  /**
   * How long a transaction waits for a connection, or for a slot of its
   * account, before it is refused. Default: 10 s.
   */
  connectionWaitMs?: number;
  /**
   * Called when an idle connection breaks, for example on a restart of the
   * server.
   */
  onIdleError?: (error: Error) => void;
}

/**
 * The beginning of a transaction whose commit does not wait for the disk, and
 * the same in a statement of its own. PostgreSQL may lose it if it crashes
 * within the next second, never if only our process does; whatever commits later
 * and waits saves it, too. For what is done again then
 * (docs/decisions/0701-what-is-repeated-is-not-flushed.md).
 */
export const NOT_FLUSHED = { begin: '; set local synchronous_commit = off' };
export const notFlushed = sql`set_config('synchronous_commit', 'off', true)`;

const POOL_MAX = 20;
const CONNECTION_WAIT_MS = 10_000;
/** What may wait is bounded by what looks up: a batch of each kind. */
const ONE_BY_ONE = {
  atOnce: 1,
  ofOneAtOnce: 1,
  waiting: 100,
  ofOneWaiting: 100,
};

export function createStore(options: StoreOptions) {
  const { poolMax = POOL_MAX, connectionWaitMs = CONNECTION_WAIT_MS } = options;
  const pool = new pg.Pool({
    connectionString: options.databaseUrl,
    application_name: options.name,
    max: poolMax,
    connectionTimeoutMillis: connectionWaitMs,
    statement_timeout: 60_000,
    idle_in_transaction_session_timeout: 60_000,
    pipeline: true,
    Client: PipelinedClient,
  });
  pool.on('error', (error) => options.onIdleError?.(error));
  // A connection that breaks between two statements emits an error event, which
  // would end the process if it had no listener. The transaction fails at its
  // next statement.
  pool.on('connect', (client) => client.on('error', () => undefined));
  const connectionListeners: ((waitedMs: number) => void)[] = [];
  const onConnection = (waitedMs: number): void => {
    for (const listener of connectionListeners) listener(waitedMs);
  };
  const dialect = new PipelineDialect({ pool, onConnection });
  const db = new Kysely<Database>({ dialect });
  const inSlot = createSlots(poolMax, connectionWaitMs, options);
  const strangers = new FairQueue(ONE_BY_ONE);
  const listeners: EventsCommitted[] = [];
  const changeListeners: ChangesCommitted[] = [];
  const announce = (accountId: string, eventIds: readonly string[]) => {
    if (eventIds.length > 0)
      for (const listener of listeners) listener(accountId, eventIds);
  };

  const asAccount =
    (role: string) =>
    async <T>(
      accountId: string,
      work: (tx: AccountTx) => Promise<T>,
      { begin = '' }: { begin?: string } = {},
    ): Promise<T> => {
      const binding = `${bindingTo(accountId, role)}${begin}`;
      const newEvents: string[] = [];
      let hasNewChanges = false;
      const result = await inSlot(accountId, () =>
        transact({ db, dialect }, binding, async (db) => {
          const tx = { accountId, db, newEvents, hasNewChanges };
          const worked = await work(tx);
          hasNewChanges = tx.hasNewChanges;
          return worked;
        }),
      );
      announce(accountId, newEvents);
      if (hasNewChanges)
        for (const listener of changeListeners) listener(accountId);
      return result;
    };

  return {
    /**
     * Runs `work` in one transaction bound to the account; commits when it
     * resolves, rolls back when it throws. What `begin` says runs with its
     * beginning: a lock or a setting, as text without parameters.
     */
    asAccount: asAccount('exchange_app'),
    /**
     * Runs `work` for a network, in a transaction like that of `asAccount`: it
     * reads what the account contributed, and nothing else
     * (0203-responder.sql).
     */
    asResponder: asAccount(
      'exchange_responder; set local search_path = responder, public',
    ),
    /**
     * Runs `work` in one transaction with access to all accounts; commits and
     * rolls back like `asAccount`.
     */
    asSystem: async <T>(
      work: (tx: SystemTx) => Promise<T>,
      { begin = '' }: { begin?: string } = {},
    ): Promise<T> => {
      const newEvents = new Map<string, string[]>();
      const result = await transact(
        { db, dialect },
        `set local role exchange_system${begin}`,
        (tx) => work({ db: tx, newEvents }),
      );
      for (const [accountId, eventIds] of newEvents)
        announce(accountId, eventIds);
      return result;
    },
    /**
     * Runs what a caller causes who has not proven anything, one at a time in
     * this process: strangers never use more than one of its connections. Call
     * it with batches (`strangersLookUp`).
     */
    inStrangersTurn: <T>(work: () => Promise<T>): Promise<T> =>
      strangers.run('', work),
    /**
     * Registers a listener for committed events, such as the webhook
     * dispatcher.
     */
    onEventsCommitted: (listener: EventsCommitted) =>
      void listeners.push(listener),
    /** Registers a listener for committed changes of records. */
    onChangesCommitted: (listener: ChangesCommitted) =>
      void changeListeners.push(listener),
    /**
     * Registers a listener that learns how long each transaction waited for a
     * connection.
     */
    onConnection: (listener: (waitedMs: number) => void) =>
      void connectionListeners.push(listener),
    /**
     * Runs one statement in a transaction of its own: a call of a database
     * function that sets the role it needs. For lookups that every request
     * makes, because a transaction takes three round trips.
     */
    call: async <R>(statement: RawBuilder<R>) =>
      (await statement.execute(db)).rows,
    /**
     * The same for an account, whose share of connections it uses: the function
     * takes the role of the account (0591-one-statement.sql).
     */
    callAsAccount: <R>(accountId: string, statement: RawBuilder<R>) =>
      inSlot(accountId, async () => (await statement.execute(db)).rows),
    /** Number of transactions that wait for a connection. */
    waitingForConnection: () => pool.waitingCount,
    /**
     * Brings the schema up to date; safe to call from several processes at
     * once.
     */
    migrate: () => migrate(db),
    /** Resolves if the database responds. */
    ping: async () => {
      await sql`select 1`.execute(db);
    },
    close: () => db.destroy(),
  };
}

function createSlots(
  poolMax: number,
  waitMs: number,
  { accountMax, sharedMax }: StoreOptions,
) {
  if (accountMax === undefined)
    return <T>(_accountId: string, work: () => Promise<T>) => work();
  const atOnceMax = Math.max(1, Math.min(accountMax, Math.floor(poolMax / 2)));
  const slots = new AccountSlots({ atOnceMax, sharedMax, waitMs });
  return <T>(accountId: string, work: () => Promise<T>) =>
    slots.run(accountId, work);
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The statements that bind a transaction to an account. Throws unless the id is
 * a UUID, because it becomes part of the SQL.
 */
function bindingTo(accountId: string, role: string): string {
  if (!UUID.test(accountId))
    throw new TypeError('An account id must be a UUID');
  return `set local role ${role}; set local app.account_id = '${accountId}'`;
}

/**
 * Runs part of a system transaction as one account: row-level security applies
 * to `work` as in `asAccount`, and its changes commit with the rest of the
 * transaction.
 */
export async function withinAccount<T>(
  tx: SystemTx,
  accountId: string,
  work: (tx: AccountTx) => Promise<T>,
): Promise<T> {
  await sql`select set_config('role', 'exchange_app', true), set_config('app.account_id', ${accountId}, true)`.execute(
    tx.db.later,
  );
  const newEvents = tx.newEvents.get(accountId) ?? [];
  tx.newEvents.set(accountId, newEvents);
  const result = await work({
    accountId,
    db: tx.db,
    newEvents,
    hasNewChanges: false,
  });
  await sql`select set_config('role', 'exchange_system', true), set_config('app.account_id', '', true)`.execute(
    tx.db.later,
  );
  return result;
}

/**
 * Gives the rest of a system transaction the rights to create and change
 * accounts and keys. Fails unless the login is a member of exchange_admin; the
 * logins of gateways and workers are not.
 */
export async function takeAdminRole(tx: SystemTx): Promise<void> {
  await sql`set local role exchange_admin`.execute(tx.db);
}

const MIGRATIONS = new URL('./migrations/', import.meta.url);

/**
 * Applies the numbered SQL files in order. Kysely's migrator serialises
 * concurrent runs and records what was applied. Throws ConfigError for a
 * database from before the first release.
 */
async function migrate(db: Kysely<Database>): Promise<void> {
  await refuseUnreleased(db);
  // Parts that were built side by side number their migrations apart, and are
  // released in another order.
  const migrator = new Migrator({
    db,
    provider: {
      getMigrations: async () => ({
        ...(await appliedMigrations(db)),
        ...(await readMigrations()),
      }),
    },
    allowUnorderedMigrations: true,
  });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
}

/** The first of the migrations that `0001-baseline` replaced. */
const UNRELEASED = '0001-exchange';

async function refuseUnreleased(db: Kysely<Database>): Promise<void> {
  const { rows } = await sql<{ found: boolean }>`
    select to_regclass('kysely_migration') is not null as found`.execute(db);
  if (
    rows[0]?.found !== true ||
    (await appliedMigrations(db))[UNRELEASED] === undefined
  )
    return;
  throw new ConfigError(
    'This database was created by a state of the exchange before 0.1.0, the first release. It cannot be updated, and nothing ' +
      'was changed. Start with an empty database: for "npm start" with another data folder (DATA_DIR), for a deployment with ' +
      'another DATABASE_URL, an empty BLOB_STORE and an empty Temporal namespace. The old data stays readable with the commit that wrote it.',
  );
}

/**
 * The migrations that the database has. It may have more than this build: after
 * a deploy is rolled back, the schema is still that of the later build.
 * Migrations only expand the schema, so the previous build runs on it.
 */
async function appliedMigrations(
  db: Kysely<Database>,
): Promise<Record<string, Migration>> {
  const { rows } = await sql<{
    name: string;
  }>`select name from kysely_migration`.execute(db);
  return Object.fromEntries(
    rows.map(({ name }) => [name, { up: async () => undefined }]),
  );
}

async function readMigrations(): Promise<Record<string, Migration>> {
  const files = (await readdir(MIGRATIONS))
    .filter((name) => name.endsWith('.sql'))
    .sort();
  const migrations: Record<string, Migration> = {};
  for (const file of files) {
    const text = await readFile(new URL(file, MIGRATIONS), 'utf8');
    migrations[file.replace(/\.sql$/, '')] = {
      up: (tx) =>
        sql
          .raw(text)
          .execute(tx)
          .then(() => undefined),
    };
  }
  return migrations;
}
