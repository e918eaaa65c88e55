import { AsyncLocalStorage } from 'node:async_hooks';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  DummyDriver,
  type Kysely,
  PostgresDialect,
  type PostgresDialectConfig,
  PostgresDriver,
  Transaction,
} from 'kysely';
import pg from 'pg';
import type { Database } from './schema.ts';

/**
 * A transaction: the statements that begin it and set its role and account, its
 * end, its connection, and what `work` does not wait for.
 */
interface Begun {
  readonly begin: string;
  /** Instead of a bare `commit`. */
  commit?: string;
  connection?: DatabaseConnection;
  readonly unanswered: Promise<unknown>[];
}

const beginning = new AsyncLocalStorage<Begun>();
const hasty = new WeakMap<Transaction<Database>, Transaction<Database>>();
const parallel = new WeakMap<
  Transaction<Database>,
  () => Transaction<Database>
>();

/**
 * Runs `work` in a transaction that begins with these statements, which leave
 * together with the first one of `work`. Throws the error of the first
 * statement that failed, whoever waited for it: after it, PostgreSQL refuses
 * the others, and rolls back.
 */
export async function transact<T>(
  { db, dialect }: { db: Kysely<Database>; dialect: Dialect },
  statements: string,
  work: (tx: Transaction<Database>) => Promise<T>,
): Promise<T> {
  const begun: Begun = { begin: `begin; ${statements}`, unanswered: [] };
  const result = beginning.run(begun, () =>
    db.transaction().execute((tx) => {
      hasty.set(
        tx,
        sending(tx, dialect, async (query) => {
          send(begun, query);
          return { rows: [] };
        }),
      );
      // Few transactions use it.
      parallel.set(tx, () =>
        sending(tx, dialect, (query) =>
          connectionOf(begun).executeQuery(query),
        ),
      );
      return work(tx);
    }),
  );
  await Promise.allSettled([result]);
  // PostgreSQL answers the commit of a transaction that has failed with a
  // rollback, and without an error.
  await Promise.all(begun.unanswered);
  return result;
}

/**
 * The transaction for statements whose result is not needed: they leave
 * together with the next statement that is waited for, or with the commit,
 * which saves a round trip each, and run in their turn. Their result is empty.
 * If one fails, so does what follows it.
 */
export const later = ({
  db,
}: {
  db: Transaction<Database>;
}): Transaction<Database> => hasty.get(db) ?? db;

/**
 * Ends the transaction under way with this text, a commit with a comment:
 * PostgreSQL shows it as the session's last statement.
 */
export function commitAs(commit: string): void {
  const begun = beginning.getStore();
  if (begun !== undefined) begun.commit = commit;
}

/**
 * The transaction for statements that are waited for together, with
 * `Promise.all`: they leave in one piece, and run in the order of the calls. On
 * the transaction itself each waits for the answer to the one before.
 */
export const together = ({
  db,
}: {
  db: Transaction<Database>;
}): Transaction<Database> => parallel.get(db)?.() ?? db;

/** A transaction that sends each statement at once. */
function sending(
  tx: Transaction<Database>,
  dialect: Dialect,
  executeQuery: DatabaseConnection['executeQuery'],
): Transaction<Database> {
  const connection: DatabaseConnection = {
    executeQuery,
    streamQuery: () => {
      throw new Error(
        'Rows of a statement that is sent at once cannot be streamed',
      );
    },
  };
  const executor = tx.getExecutor().withConnectionProvider({
    provideConnection: (consumer) => consumer(connection),
  });
  return new Transaction({
    config: { dialect },
    dialect,
    driver: new DummyDriver(),
    executor,
  });
}

function send(begun: Begun, query: CompiledQuery): void {
  const answer = connectionOf(begun).executeQuery(query);
  // `transact` throws it.
  answer.catch(() => undefined);
  begun.unanswered.push(answer);
}

function connectionOf({ connection }: Begun): DatabaseConnection {
  if (connection === undefined)
    throw new Error('The transaction has no connection');
  return connection;
}

/**
 * A client in pg's pipeline mode: what is asked in one turn of the event loop
 * leaves in one piece.
 */
export class PipelinedClient extends pg.Client {
  override query(...call: unknown[]): never {
    const { stream } = this.connection;
    stream.cork();
    process.nextTick(() => stream.uncork());
    return Reflect.apply(super.query, this, call) as never;
  }
}

interface PipelineConfig extends PostgresDialectConfig {
  /** Called after each wait for a connection of the pool, successful or not. */
  onConnection(waitedMs: number): void;
}

/**
 * PostgreSQL dialect for `transact`. Several statements in one query cannot
 * have parameters.
 */
export class PipelineDialect extends PostgresDialect {
  readonly #config: PipelineConfig;

  constructor(config: PipelineConfig) {
    super(config);
    this.#config = config;
  }

  override createDriver(): Driver {
    return new PipelineDriver(this.#config);
  }
}

class PipelineDriver extends PostgresDriver {
  readonly #onConnection: PipelineConfig['onConnection'];

  constructor(config: PipelineConfig) {
    super(config);
    this.#onConnection = config.onConnection;
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    const askedAt = performance.now();
    try {
      return await super.acquireConnection();
    } finally {
      this.#onConnection(performance.now() - askedAt);
    }
  }

  override async beginTransaction(
    connection: DatabaseConnection,
  ): Promise<void> {
    const begun = beginning.getStore();
    if (begun === undefined) return super.beginTransaction(connection, {});
    begun.connection = connection;
    send(begun, CompiledQuery.raw(begun.begin));
  }

  override async commitTransaction(
    connection: DatabaseConnection,
  ): Promise<void> {
    const commit = beginning.getStore()?.commit;
    if (commit === undefined) return super.commitTransaction(connection);
    await connection.executeQuery(CompiledQuery.raw(commit));
  }
}
