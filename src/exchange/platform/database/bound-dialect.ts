import { AsyncLocalStorage } from 'node:async_hooks';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  PostgresDialect,
  type PostgresDialectConfig,
  PostgresDriver,
} from 'kysely';

/** What a transaction is bound to, as SQL. */
const binding = new AsyncLocalStorage<string>();

/** Runs `transact`; the transaction it begins is bound by these statements, which go with BEGIN in one trip. */
export const boundBy = <T>(statements: string, transact: () => Promise<T>): Promise<T> =>
  binding.run(`begin; ${statements}`, transact);

/** PostgreSQL, with transactions that begin bound. Several statements in one text take no parameters. */
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
