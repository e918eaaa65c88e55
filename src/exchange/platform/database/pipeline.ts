import {
  CompiledQuery,
  type ConnectionProvider,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  DummyDriver,
  type Kysely,
  PostgresDialect,
  type PostgresDialectConfig,
  PostgresDriver,
  type QueryExecutor,
  type QueryResult,
  SingleConnectionProvider,
  Transaction,
} from 'kysely';
import pg from 'pg';
import { preparedName } from './prepared.ts';
import type { Database } from './schema.ts';

/**
 * Runs `work` in a transaction that begins with these statements, which leave
 * together with the first one of `work`; they cannot have parameters. Commits
 * when it resolves, rolls back when it throws. Throws the error of the first
 * statement that failed, whoever waited for it: after it, PostgreSQL refuses
 * the others, and rolls back.
 */
export async function transact<T>(
  { db, dialect }: { db: Kysely<Database>; dialect: Dialect },
  statements: string,
  work: (tx: PipelinedTransaction) => Promise<T>,
): Promise<T> {
  const executor = db.getExecutor();
  const unanswered: Promise<unknown>[] = [];
  const result = executor.provideConnection(async (connection) => {
    const session = new TransactionSession(
      executor,
      dialect,
      connection,
      unanswered,
    );
    session.send(CompiledQuery.raw(`begin; ${statements}`));
    try {
      const inOrder = connectionThat((query) => session.ask(query));
      const done = await work(
        new PipelinedTransaction(
          session,
          new SingleConnectionProvider(inOrder),
        ),
      );
      await session.end(session.commit);
      return done;
    } catch (error) {
      await session.end('rollback');
      throw error;
    }
  });
  await Promise.allSettled([result]);
  // PostgreSQL answers the commit of a transaction that has failed with a
  // rollback, and without an error.
  await Promise.all(unanswered);
  return result;
}

/** One transaction on its connection, from its first statement to its end. */
class TransactionSession {
  readonly executor: QueryExecutor;
  readonly dialect: Dialect;
  readonly #connection: DatabaseConnection;
  readonly #unanswered: Promise<unknown>[];
  #isEnded = false;
  commit = 'commit';

  /** @param unanswered to it are added the answers that nobody waits for */
  constructor(
    executor: QueryExecutor,
    dialect: Dialect,
    connection: DatabaseConnection,
    unanswered: Promise<unknown>[],
  ) {
    this.executor = executor;
    this.dialect = dialect;
    this.#connection = connection;
    this.#unanswered = unanswered;
  }

  /** Throws after the end: the connection then belongs to others. */
  async ask<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#isEnded) throw new Error('The transaction has ended');
    return this.#connection.executeQuery<R>(query);
  }

  /** Sends a statement without waiting for its answer; `transact` throws it. */
  send(query: CompiledQuery): void {
    const answer = this.ask(query);
    answer.catch(() => undefined);
    this.#unanswered.push(answer);
  }

  async end(statement: string): Promise<void> {
    await this.ask(CompiledQuery.raw(statement));
    this.#isEnded = true;
  }
}

/**
 * A transaction whose statements need not wait for each other's answers. On the
 * transaction itself each one does; `later` and `together` are the same
 * transaction for statements that do not.
 */
export class PipelinedTransaction extends Transaction<Database> {
  readonly #session: TransactionSession;

  constructor(session: TransactionSession, connections: ConnectionProvider) {
    const { dialect, executor } = session;
    super({
      config: { dialect },
      dialect,
      driver: new DummyDriver(),
      executor: executor.withConnectionProvider(connections),
    });
    this.#session = session;
  }

  /**
   * For statements whose result is not needed: they leave together with the
   * next statement that is waited for, or with the commit, which saves a round
   * trip each, and run in their turn. Their result is empty. If one fails, so
   * does what follows it.
   */
  get later(): PipelinedTransaction {
    return this.#sending(async (query) => {
      this.#session.send(query);
      return { rows: [] };
    });
  }

  /**
   * For statements that are waited for together, with `Promise.all`: they leave
   * in one piece, and run in the order of the calls.
   */
  get together(): PipelinedTransaction {
    return this.#sending((query) => this.#session.ask(query));
  }

  /**
   * Sends what `work` sends `later` as one statement, later. For rows that none
   * of the others reads or writes: the parts of one statement do not see each
   * other's changes, and have no order.
   */
  async united(
    work: (tx: PipelinedTransaction) => Promise<void>,
  ): Promise<void> {
    const parts: CompiledQuery[] = [];
    const collecting = connectionThat(async (query) => {
      parts.push(query);
      return { rows: [] };
    });
    await work(new UnitingTransaction(this.#session, collecting));
    if (parts.length > 0) this.#session.send(oneOf(parts));
  }

  /**
   * Ends the transaction with this text, a commit with a comment: PostgreSQL
   * shows it as the session's last statement.
   */
  commitAs(commit: string): void {
    this.#session.commit = commit;
  }

  #sending(
    executeQuery: DatabaseConnection['executeQuery'],
  ): PipelinedTransaction {
    const connection = connectionThat(executeQuery);
    return new PipelinedTransaction(this.#session, {
      provideConnection: (consumer) => consumer(connection),
    });
  }
}

/** What is to be sent later is collected; nothing else is sent. */
class UnitingTransaction extends PipelinedTransaction {
  readonly #collecting: PipelinedTransaction;

  constructor(session: TransactionSession, collecting: DatabaseConnection) {
    const refusing = connectionThat(async () => {
      throw new Error('Only what is sent later can be united');
    });
    super(session, { provideConnection: (consumer) => consumer(refusing) });
    this.#collecting = new PipelinedTransaction(session, {
      provideConnection: (consumer) => consumer(collecting),
    });
  }

  override get later(): PipelinedTransaction {
    return this.#collecting;
  }
}

/** Statements that change rows, as the parts of one. */
function oneOf(parts: readonly CompiledQuery[]): CompiledQuery {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;

  const parameters: unknown[] = [];
  const texts = parts.map((part, index) => {
    const before = parameters.length;
    parameters.push(...part.parameters);
    const text = part.sql.replaceAll(
      /\$(\d+)/g,
      (_, number: string) => `$${before + Number(number)}`,
    );
    return `part_${index} as (${text}\n)`;
  });
  return CompiledQuery.raw(`with ${texts.join(', ')} select`, parameters);
}

const connectionThat = (
  executeQuery: DatabaseConnection['executeQuery'],
): DatabaseConnection => ({
  executeQuery,
  streamQuery: () => {
    throw new Error('The rows of a transaction cannot be streamed');
  },
});

/**
 * A client in pg's pipeline mode: what is asked in one turn of the event loop
 * leaves in one piece. What is asked often is prepared (`preparedName`), unless
 * the transaction has a search path of its own: there, the same names mean other
 * tables, and PostgreSQL refuses what was prepared of the usual ones.
 */
export class PipelinedClient extends pg.Client {
  #hasUsualTables = true;

  override query(...call: unknown[]): never {
    const { stream } = this.connection;
    stream.cork();
    process.nextTick(() => stream.uncork());
    const [text, values] = call;
    if (typeof text === 'string' && text.startsWith('begin'))
      this.#hasUsualTables = !text.includes('search_path');
    const name = this.#hasUsualTables ? preparedName(text, values) : undefined;
    const asked =
      name === undefined ? call : [{ name, text, values }, ...call.slice(2)];
    return Reflect.apply(super.query, this, asked) as never;
  }
}

interface PipelineConfig extends PostgresDialectConfig {
  /** Called after each wait for a connection of the pool, successful or not. */
  onConnection(waitedMs: number): void;
}

/** PostgreSQL dialect that says how long each wait for a connection took. */
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
}
