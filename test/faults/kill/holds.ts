import pg from 'pg';
import type { TestStack } from '../../support/stack.ts';

export const KILLABLE = [
  'worker',
  'gateway',
  'Temporal',
  'PostgreSQL',
] as const;
export type Killable = (typeof KILLABLE)[number];

/**
 * Holds single things still, so that a moment too short to hit by chance lasts
 * until the kill.
 */
export interface Holds {
  /**
   * Nobody can write into the table; who tries waits inside its transaction.
   */
  lockTable(table: string): Promise<Hold>;
  /** The same for single rows: `statement` selects them `for update`. */
  lockRows(statement: string, values: unknown[]): Promise<Hold>;
  /**
   * Stops a process without ending it: to the others it is a server that does
   * not answer.
   */
  pause(part: Killable | 'receiver'): void;
  releaseAll(): Promise<void>;
}

export interface Hold {
  /** Whether a transaction waits for it. */
  isWaitedFor(): Promise<boolean>;
}

export function createHolds({ stack, connection, rows }: TestStack): Holds {
  const releases: (() => Promise<void>)[] = [];

  async function lock(
    statement: string,
    values: unknown[] = [],
  ): Promise<Hold> {
    const client = new pg.Client({ connectionString: connection.databaseUrl });
    client.on('error', () => undefined);
    await client.connect();
    // With PostgreSQL itself killed the session is gone, and the lock with it.
    releases.push(async () => void (await client.end().catch(() => undefined)));
    await client.query('begin');
    await client.query(statement, values);
    const [own] = (await client.query('select pg_backend_pid() as pid')).rows;
    return {
      isWaitedFor: async () => {
        // Only of those that wait: the function stops all locking for a moment,
        // each time it is called.
        const waiting =
          'select pid from pg_locks where not granted and $1 = any(pg_blocking_pids(pid))';
        return (await rows(waiting, [own.pid])).length > 0;
      },
    };
  }

  return {
    lockTable: (table) => lock(`lock table ${table} in share mode`),
    lockRows: lock,
    pause(part) {
      const pid = stack.pids()[part];
      if (pid === undefined) throw new Error(`${part} is not running`);
      process.kill(pid, 'SIGSTOP');
      releases.push(async () => {
        // Killed meanwhile: another process has its place.
        if (stack.pids()[part] === pid) process.kill(pid, 'SIGCONT');
      });
    },
    async releaseAll() {
      for (const release of releases.splice(0))
        await release().catch(() => undefined);
    },
  };
}
