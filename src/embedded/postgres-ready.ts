import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { describeExit, type ExitStatus } from './running-part.ts';

/** Long enough for the recovery after a kill, which replays up to max_wal_size of the write-ahead log. */
const READY_TIMEOUT_MS = 120_000;
const POLL_MS = 40;
const DUPLICATE_DATABASE = '42P04';
const WRONG_PASSWORD = '28P01';

/** Resolves when the server accepts sessions. Throws when it ends, rejects our password, or takes too long. */
export async function waitUntilAnswering(
  url: string,
  exited: Promise<ExitStatus>,
  signal?: AbortSignal,
): Promise<void> {
  let ended: ExitStatus | undefined;
  void exited.then((status) => {
    ended = status;
  });
  const deadline = Date.now() + READY_TIMEOUT_MS;
  for (;;) {
    try {
      return await withClient(url, async () => undefined);
    } catch (error) {
      if (ended !== undefined) throw new Error(`it ${describeExit(ended)}`);
      if (codeOf(error) === WRONG_PASSWORD) throw error;
      signal?.throwIfAborted();
      if (Date.now() > deadline) throw new Error(`it did not answer within ${READY_TIMEOUT_MS / 1000} s`);
    }
    await sleep(POLL_MS);
  }
}

/** Creates the database unless it exists. */
export async function ensureDatabase(url: string, name: string): Promise<void> {
  await withClient(url, async (client) => {
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
    if (rowCount !== 0) return;
    await client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`).catch((error: unknown) => {
      if (codeOf(error) !== DUPLICATE_DATABASE) throw error;
    });
  });
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  // Raised when an idle session is cut off; the next query fails anyway.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

const codeOf = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
