import { readdir, readFile } from 'node:fs/promises';
import { Kysely, type Migration, Migrator, type RawBuilder, sql, type Transaction } from 'kysely';
import pg from 'pg';
import { AccountTurns } from './account-turns.ts';
import { BoundDialect, boundBy } from './bound-dialect.ts';
import type { Database } from './schema.ts';

/** A transaction that sees the rows of one account and no other (row-level security). */
export interface AccountTx {
  readonly accountId: string;
  readonly db: Transaction<Database>;
  /** Ids of the outbox events that this transaction writes (`insertEvent` adds to it); announced after the commit. */
  readonly newEvents: string[];
}

/** A transaction of the service itself, over all accounts: authentication, reconcile, callbacks. */
export interface SystemTx {
  readonly db: Transaction<Database>;
  /** As in `AccountTx`, by account. */
  readonly newEvents: Map<string, string[]>;
}

/** Is called after the commit of each transaction that wrote events. Must not throw. */
export type EventsCommitted = (accountId: string, eventIds: readonly string[]) => void;

export interface Store {
  /** Runs `work` in one transaction bound to the account; commits when it resolves, rolls back when it throws. */
  asAccount<T>(accountId: string, work: (tx: AccountTx) => Promise<T>): Promise<T>;
  asSystem<T>(work: (tx: SystemTx) => Promise<T>): Promise<T>;
  /**
   * One statement, a transaction of its own: a call of a function of the schema that takes the role it needs. For what
   * every request needs, because a transaction is three trips to the database.
   */
  call<R>(statement: RawBuilder<R>): Promise<R[]>;
  /** From now on `listener` learns of committed events; the webhook dispatcher is one. */
  onEventsCommitted(listener: EventsCommitted): void;
  /** Brings the schema up to date; safe to call from several processes at once. */
  migrate(): Promise<void>;
  /** Resolves when the database answers. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

// Dates without time stay text: a birth date has no time zone.
pg.types.setTypeParser(pg.types.builtins.DATE, (value) => value);
// Row counts and sizes fit a double here.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

export interface StoreOptions {
  databaseUrl: string;
  /** Connections of this process. */
  poolMax?: number;
  /**
   * How many of them one account may use at a time, at most half; undefined: all. What serves many accounts at once sets
   * it, so that one of them cannot keep the others waiting.
   */
  accountMax?: number;
  /** An idle connection broke (the server restarted): worth a log line, never the end of the process. */
  onIdleError?: (error: Error) => void;
}

const POOL_MAX = 20;
const CONNECTION_WAIT_MS = 10_000;

export function createStore(options: StoreOptions): Store {
  const { poolMax = POOL_MAX, accountMax } = options;
  const pool = new pg.Pool({
    connectionString: options.databaseUrl,
    max: poolMax,
    connectionTimeoutMillis: CONNECTION_WAIT_MS,
    statement_timeout: 60_000,
    idle_in_transaction_session_timeout: 60_000,
  });
  pool.on('error', (error) => options.onIdleError?.(error));
  // A connection that breaks between two statements of a transaction tells only itself, and an error event that
  // nobody listens to ends the process. The transaction learns it from its next statement.
  pool.on('connect', (client) => client.on('error', () => undefined));
  const db = new Kysely<Database>({ dialect: new BoundDialect({ pool }) });
  const inTurn = createTurns(poolMax, accountMax);
  const listeners: EventsCommitted[] = [];
  const announce = (accountId: string, eventIds: readonly string[]) => {
    if (eventIds.length > 0) for (const listener of listeners) listener(accountId, eventIds);
  };

  return {
    asAccount: async (accountId, work) => {
      const binding = toAccount(accountId);
      const newEvents: string[] = [];
      const result = await inTurn(accountId, () =>
        boundBy(binding, () => db.transaction().execute((tx) => work({ accountId, db: tx, newEvents }))),
      );
      announce(accountId, newEvents);
      return result;
    },
    asSystem: async (work) => {
      const newEvents = new Map<string, string[]>();
      const result = await boundBy('set local role exchange_system', () =>
        db.transaction().execute((tx) => work({ db: tx, newEvents })),
      );
      for (const [accountId, eventIds] of newEvents) announce(accountId, eventIds);
      return result;
    },
    onEventsCommitted: (listener) => void listeners.push(listener),
    call: async (statement) => (await statement.execute(db)).rows,
    migrate: () => migrate(db),
    ping: async () => {
      await sql`select 1`.execute(db);
    },
    close: () => db.destroy(),
  };
}

function createTurns(poolMax: number, accountMax: number | undefined) {
  if (accountMax === undefined) return <T>(_accountId: string, work: () => Promise<T>) => work();
  const atOnceMax = Math.max(1, Math.min(accountMax, Math.floor(poolMax / 2)));
  const turns = new AccountTurns({ atOnceMax, waitMs: CONNECTION_WAIT_MS });
  return <T>(accountId: string, work: () => Promise<T>) => turns.run(accountId, work);
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Throws for what is no UUID: it stands in the text of the statement. */
function toAccount(accountId: string): string {
  if (!UUID.test(accountId)) throw new TypeError('The id of an account is a UUID');
  return `set local role exchange_app; set local app.account_id = '${accountId}'`;
}

/**
 * Part of a transaction of the service as one account: row-level security holds for `work` as in `asAccount`, and what
 * it does commits with the rest.
 */
export async function withinAccount<T>(
  tx: SystemTx,
  accountId: string,
  work: (tx: AccountTx) => Promise<T>,
): Promise<T> {
  await sql`select set_config('role', 'exchange_app', true), set_config('app.account_id', ${accountId}, true)`.execute(
    tx.db,
  );
  const newEvents = tx.newEvents.get(accountId) ?? [];
  tx.newEvents.set(accountId, newEvents);
  const result = await work({ accountId, db: tx.db, newEvents });
  await sql`select set_config('role', 'exchange_system', true), set_config('app.account_id', '', true)`.execute(
    tx.db,
  );
  return result;
}

const MIGRATIONS = new URL('./migrations/', import.meta.url);

/** Numbered SQL files in order; Kysely's migrator serialises starters that race and remembers what was applied. */
async function migrate(db: Kysely<Database>): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: readMigrations } });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
}

async function readMigrations(): Promise<Record<string, Migration>> {
  const files = (await readdir(MIGRATIONS)).filter((name) => name.endsWith('.sql')).sort();
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
