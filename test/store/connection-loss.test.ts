import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { toErrorResponse } from '../../src/exchange/platform/http/errors.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { querySql } from '../support/postgres-tools.ts';

test('loses a transaction, and not the process, when its connection breaks between two statements', async () => {
  const { databaseUrl, drop } = await createTestDatabase();
  const store = createStore({ databaseUrl, poolMax: 2 });
  onTestFinished(async () => {
    await store.close();
    await drop();
  });
  const unhandled: unknown[] = [];
  const note = (error: unknown) => void unhandled.push(error);
  process.on('uncaughtException', note);
  onTestFinished(() => void process.off('uncaughtException', note));

  const broken = store.asSystem(async ({ db }) => {
    const { rows } = await sql<{
      pid: number;
    }>`select pg_backend_pid() as pid`.execute(db);
    await querySql(databaseUrl, `select pg_terminate_backend(${rows[0]?.pid})`);
    // Meanwhile the server says goodbye on this connection, which is not asking
    // anything.
    await new Promise((resolve) => setTimeout(resolve, 200));
    await sql`select 1`.execute(db);
  });
  const error: unknown = await broken.catch((thrown: unknown) => thrown);
  // The roll back fails too, with another error; to the caller it is an outage
  // and no fault of ours.
  expect(toErrorResponse(error, 'request').status).toBe(503);
  await store.ping();
  expect(unhandled).toEqual([]);
});
