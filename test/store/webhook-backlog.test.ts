import type { ServerResponse } from 'node:http';
import type { Client } from '@temporalio/client';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { expect } from 'vitest';
import type {
  Store,
  SystemTx,
} from '../../src/exchange/platform/database/database.ts';
import {
  claimDue,
  claimEvents,
} from '../../src/exchange/platform/outbox/claim-store.ts';
import {
  afterDelivery,
  recordDelivered,
} from '../../src/exchange/platform/outbox/delivery.ts';
import { routesOf } from '../../src/exchange/platform/outbox/event-store.ts';
import type { EventState } from '../../src/exchange/platform/outbox/tables.ts';
import {
  addEvent,
  createDeliveries,
  startReceiver,
} from '../support/events-environment.ts';
import { queryTest } from '../support/fixtures.ts';

const WAITING = 5_000;
const SENT_TOGETHER = 50;
const OTHERS = 30;
/** Rows of events that a statement may read for each event that it is about. */
const READ_MAX = 20;

const test = queryTest.extend(
  'backlog',
  { scope: 'file' },
  async ({ environment }) => {
    const asOwner = (...statements: ReturnType<typeof sql>[]) =>
      environment.store.asSystem(async (tx) => {
        await sql`reset role`.execute(tx.db);
        for (const statement of statements) await statement.execute(tx.db);
      });
    const addEvents = (accountId: string, status: EventState) =>
      environment.store.asAccount(accountId, (tx) =>
        sql`
      insert into event (id, account_id, patient_id, destination_id, type, fact_key, body, occurred_at, status)
      select gen_random_uuid(), d.account_id, gen_random_uuid(), d.id, 'network-query.hie', ${`${status}/`} || n,
        '{"meta": {}}', now(), ${status}
      from webhook_destination as d, generate_series(1, ${WAITING}::int) as n`.execute(
          tx.db,
        ),
      );
    const counted = <T>(work: (tx: SystemTx) => Promise<T>) =>
      environment.store.asSystem((tx) => readBy(tx, () => work(tx)));
    return { asOwner, addEvents, counted };
  },
);

test.for(['its own destination', 'the destination of another account'])(
  'what an event costs does not grow with the events that wait for %s',
  async (whose, { environment, backlog }) => {
    const { store } = environment;
    const { accountId } = await environment.addAccount(
      {},
      'https://one.example.org',
    );
    for (let count = 0; count < OTHERS; count++)
      await environment.addAccount({}, 'https://another.example.org');
    const other = await environment.addAccount({}, 'https://other.example.org');
    // A backlog comes sooner than the statistics know of it.
    await backlog.addEvents(other.accountId, 'delivered');
    await backlog.asOwner(
      sql`update event set status = 'delivered'`,
      sql`alter table event set (autovacuum_enabled = off)`,
      sql`analyze event`,
    );
    await backlog.addEvents(
      whose === 'its own destination' ? accountId : other.accountId,
      'pending',
    );
    const events: { accountId: string; eventId: string }[] = [];
    for (let count = 0; count < SENT_TOGETHER; count++)
      events.push({
        accountId,
        eventId: await addEvent(store, accountId, uuidv7()),
      });
    const items = events.map(({ eventId }) => ({ eventId, isWhole: true }));
    const ids = events.map(({ eventId: id }) => ({ id }));

    const routes = await backlog.counted((tx) => {
      const call: Store['call'] = async (statement) =>
        (await statement.execute(tx.db)).rows;
      return routesOf({ call }, [{ accountId, items }]);
    });
    const routed = [...(routes.result[0] ?? [])];
    const [destinationId = '', given] = routed[0] ?? [];
    expect(given).toHaveLength(events.length);
    const claims = await backlog.counted((tx) => claimEvents(tx, events));
    expect(claims.result.map(({ kind }) => kind)).toEqual(
      events.map(() => 'claimed'),
    );
    const sent = events.map(({ eventId }) => ({
      eventId,
      httpStatus: 200,
      note: '200',
    }));
    const recorded = await backlog.counted((tx) => recordDelivered(tx, sent));
    expect(recorded.result.size).toBe(events.length);
    const after = await backlog.counted((tx) => afterDelivery(tx, ids));
    expect(after.result).toHaveLength(events.length);
    for (const { read } of [routes, claims, recorded, after])
      expect(read).toBeLessThan(READ_MAX * events.length);

    if (whose !== 'its own destination') return;
    const due = await store.asAccount(accountId, (tx) =>
      readBy({ db: tx.db }, () => claimDue(tx, destinationId, events.length)),
    );
    expect(due.result).toHaveLength(events.length);
    expect(due.read).toBeLessThan(READ_MAX * events.length);
  },
);

test('events that exceed what may wait in memory signal the workflow of their destination now and then, not each', async ({
  environment,
  backlog,
}) => {
  const { store } = environment;
  const held: ServerResponse[] = [];
  const receiver = await startReceiver(
    (_, response) => void held.push(response),
  );
  const { accountId } = await environment.addAccount({}, receiver.url);
  let signals = 0;
  const temporal = {
    withDeadline: (_deadline: number, call: () => Promise<unknown>) => call(),
    workflow: { signalWithStart: async () => void signals++ },
  } as unknown as Client;
  const { webhookDispatcher } = createDeliveries(store, temporal, {
    handOverPauseMs: 86_400_000,
  });

  await backlog.addEvents(accountId, 'pending');
  const waiting = await store.asAccount(accountId, (tx) =>
    tx.db.selectFrom('event').select('id').execute(),
  );
  webhookDispatcher.send(
    accountId,
    waiting.map(({ id }) => id),
  );
  await expect.poll(() => signals).toBe(1);
  for (let count = 0; count < 20; count++) {
    const [{ id } = { id: '' }] = waiting;
    webhookDispatcher.send(accountId, [id]);
    await store.ping();
    await store.ping();
  }
  await expect.poll(() => held.length).toBeGreaterThan(0);
  expect(signals).toBe(1);
  // So that the others need not be sent.
  await store.asAccount(accountId, (tx) =>
    tx.db.updateTable('event').set({ status: 'dead' }).execute(),
  );
  for (const response of held) response.end();
  await webhookDispatcher.drain();
  expect(signals).toBe(2);
  await receiver.close();
});

/** The result of `work`, and how many rows of events its statements read. */
async function readBy<T>({ db }: Pick<SystemTx, 'db'>, work: () => Promise<T>) {
  // Counts of earlier transactions are included until they are reported.
  const readSoFar = async () => {
    const { rows } = await sql<{ read: number }>`
      select seq_tup_read + idx_tup_fetch as read from pg_stat_xact_user_tables where relname = 'event'`.execute(
      db,
    );
    return rows[0]?.read ?? Number.NaN;
  };
  const before = await readSoFar();
  const result = await work();
  return { result, read: (await readSoFar()) - before };
}
