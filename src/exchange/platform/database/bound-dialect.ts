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

/** PostgreSQL dialect for `boundBy`. Several statements in one query cannot have parameters. */
export class BoundDialect extends PostgresDialect {
  readonly #config: PostgresDialectConfig;

  constructor(config: PostgresDialectConfig) {
    super(config);
    this.#config = config;
  }

  override createDriver(): Driver {
    return new BoundDriver(this.#config);
  }
}

class BoundDriver extends PostgresDriver {
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(binding.getStore() ?? 'begin'));
  }
}
