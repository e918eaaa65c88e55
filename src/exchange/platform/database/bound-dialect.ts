import { AsyncLocalStorage } from 'node:async_hooks';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  PostgresDialect,
  type PostgresDialectConfig,
  PostgresDriver,
} from 'kysely';

/** The statements that begin a transaction and set its role and account. */
const binding = new AsyncLocalStorage<string>();

/** Runs `transact`. The transaction that it begins executes `statements` together with BEGIN, in one round trip. */
export const boundBy = <T>(statements: string, transact: () => Promise<T>): Promise<T> =>
  binding.run(`begin; ${statements}`, transact);

export interface BoundDialectConfig extends PostgresDialectConfig {
  /** Called after each wait for a connection of the pool, successful or not. */
  onConnection(waitedMs: number): void;
}

/** PostgreSQL dialect for `boundBy`. Several statements in one query cannot have parameters. */
export class BoundDialect extends PostgresDialect {
  readonly #config: BoundDialectConfig;

  constructor(config: BoundDialectConfig) {
    super(config);
    this.#config = config;
  }

  override createDriver(): Driver {
    return new BoundDriver(this.#config);
  }
}

class BoundDriver extends PostgresDriver {
  readonly #onConnection: BoundDialectConfig['onConnection'];

  constructor(config: BoundDialectConfig) {
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

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(binding.getStore() ?? 'begin'));
  }
}
