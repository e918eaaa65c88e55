import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import type { Bundle } from 'fhir/r4.js';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWebhookActivities } from '../../src/activities/exchange/webhook-delivery.ts';
import { readFilter } from '../../src/exchange/delivery/subscriptions/rules/subscription-request.ts';
import { TOPICS } from '../../src/exchange/delivery/subscriptions/rules/topics.ts';
import { eventRecovery } from '../../src/exchange/platform/outbox/destination-drain.ts';
import { insertEvent } from '../../src/exchange/platform/outbox/event-store.ts';
import { matchesAll } from '../../src/exchange/records/rules/search.ts';
import { startReceiver } from '../support/events-environment.ts';
import { closedGate } from '../support/gate.ts';
import { runActivity } from '../support/network-query-environment.ts';
import {
  createSubscriptionDoor,
  QUERIES,
  type SubscriptionDoor,
  statusIn,
  subscriptionTo,
} from '../support/subscriptions.ts';
import { takeUp } from '../support/take-up.ts';

let door: SubscriptionDoor;
beforeAll(async () => {
  door = await createSubscriptionDoor();
});
afterAll(() => door?.close());

const upTo = (last: number) =>
  Array.from({ length: last }, (_, index) => index + 1);
/**
 * The numbers that rows of the outbox have for a subscription, and the number
 * of its last event.
 */
async function numbersOf(
  id: string,
): Promise<{ numbers: number[]; events: number }> {
  await door.changesTold();
  return door.store.asAccount(door.accountId, async (tx) => {
    const { rows } = await sql<{ number: number; count: number }>`
      select number, coalesce(jsonb_array_length(body -> 'events'), 1) as count from event
      where destination_id = ${id} and number is not null order by number`.execute(
      tx.db,
    );
    const { events } = await tx.db
      .selectFrom('fhir_subscription')
      .select('events')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    return {
      events,
      numbers: rows.flatMap(({ number, count }) =>
        upTo(count).map((place) => number - count + place),
      ),
    };
  });
}

test('transactions that announce at the same time give each subscription its numbers without a gap, in the order of their commits', async () => {
  const patients = await Promise.all(
    [0, 1, 2, 3].map((index) => door.addPerson(index)),
  );
  const all = await door.subscribe();
  const queries = await door.subscribe({ topic: QUERIES });
  const some = await Promise.all(
    patients.map((patientId) =>
      door.subscribe({
        topic: QUERIES,
        filters: [`Patient?patient=${patientId}&trigger=lab`],
      }),
    ),
  );
  const rounds = 12;
  const announce = (patientId: string, fails: boolean) =>
    door.store
      .asAccount(door.accountId, async (tx) => {
        for (const type of ['network-query.lab', 'network-query.hie'])
          await insertEvent(tx, {
            type,
            factKey: uuidv7(),
            patientId,
            occurredAt: new Date(),
            body: {
              meta: { type },
              payload: { source: { status: 'completed' } },
            },
          });
        if (fails) throw new Error('rolled back');
      })
      .catch((error: Error) => expect(error.message).toBe('rolled back'));
  await Promise.all(
    patients.map(async (patientId) => {
      for (let round = 0; round < rounds; round++) {
        await Promise.all([
          announce(patientId, false),
          announce(patientId, true),
        ]);
        await door.deliverObservation(patientId, { code: `${round}-0` });
      }
    }),
  );
  expect(await numbersOf(queries.id)).toEqual({
    events: 2 * 4 * rounds,
    numbers: upTo(2 * 4 * rounds),
  });
  for (const { id } of some)
    expect(await numbersOf(id)).toEqual({
      events: rounds,
      numbers: upTo(rounds),
    });
  const changes = await numbersOf(all.id);
  expect(changes.events).toBeGreaterThanOrEqual(4 * rounds);
  expect(changes.numbers).toEqual(upTo(changes.events));
});

test('a process that is killed while it announces and sends leaves no hole and no double, and all of it arrives', async () => {
  const killed = {
    at: 15,
    child: undefined as ReturnType<typeof fork> | undefined,
  };
  const receiver = await startReceiver((_, response) => {
    if (receiver.received.length === killed.at) killed.child?.kill('SIGKILL');
    else setTimeout(() => response.end(), 5);
  });
  const made = await door.call(
    'POST',
    'Subscription',
    subscriptionTo(receiver.url, { topic: QUERIES }),
  );
  expect(made.statusCode, made.body).toBe(201);
  await door.webhookDispatcher.drain();
  const { id } = made.json();
  const patients = await Promise.all(
    [0, 1, 2].map((index) => door.addPerson(index)),
  );

  const script = fileURLToPath(
    new URL('./dying-announcer.ts', import.meta.url),
  );
  killed.child = fork(
    script,
    [door.databaseUrl, door.accountId, patients.join(',')],
    {
      execArgv: [],
    },
  );
  const [, signal] = await once(killed.child, 'exit');
  expect(signal).toBe('SIGKILL');

  const { events, numbers } = await numbersOf(id);
  expect(numbers).toEqual(upTo(events));
  const messages = await door.store.asAccount(door.accountId, async (tx) => {
    // The claims of a dead process are respected for some seconds, and
    // reconcile waits as long; both are made to be over.
    await sql`update event set opened_at = opened_at - interval '1 minute',
      last_attempt_at = last_attempt_at - interval '1 minute' where destination_id = ${id}`.execute(
      tx.db,
    );
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from event where copy_of is null and patient_id = any(${patients}::uuid[])
        and type = 'network-query.lab'`.execute(tx.db);
    return rows[0]?.count;
  });
  expect(events).toBe(messages);
  const destinations: string[] = [];
  const handOver = async (_account: string, destinationId: string) =>
    void destinations.push(destinationId);
  await takeUp(
    eventRecovery({ store: door.store, webhookDispatcher: { handOver } }),
  );
  expect(destinations).toContain(id);
  const { deliverDue } = createWebhookActivities({
    store: door.store,
    delivery: door.deliveries,
  });
  for (let state = ''; state !== 'empty'; )
    state = (
      await runActivity(deliverDue, {
        accountId: door.accountId,
        destinationId: id,
        dueNow: false,
      })
    ).look.state;
  const told = receiver.received.flatMap(
    ({ raw }) => statusIn(JSON.parse(raw) as Bundle).told,
  );
  expect(
    [...new Set(told.map(({ number }) => number))].sort(
      (left, right) => left - right,
    ),
  ).toEqual(upTo(events));
  await receiver.close();
});

test('a filter passes exactly what a search with the same parameters finds', async () => {
  const [feed] = TOPICS;
  if (feed === undefined) throw new Error('no topic');
  const patientId = await door.addPerson();
  await door.deliverObservation(patientId);
  const { id } = await door.subscribe();
  const resource = await door.store.asAccount(door.accountId, (tx) =>
    tx.db
      .selectFrom('record_origin')
      .select('resource_id')
      .where('patient_id', '=', patientId)
      .where('resource_type', '=', 'Observation')
      .executeTakeFirstOrThrow(),
  );
  const system = fc.constantFrom('http://loinc.org', 'urn:x', '');
  const code = fc.constantFrom('a', 'b', 'a|b', 'ab', 'b%', '');
  const entry = fc
    .tuple(
      fc.constantFrom('code', 'category', 'status', 'value-concept'),
      system,
      code,
    )
    .map(
      ([name, of, value]) => `${name}=${name === 'status' ? '*' : of}|${value}`,
    );
  const value = fc.oneof(
    fc.tuple(system, code).map(([of, text]) => `${of}|${text}`),
    code,
  );
  const parameter = fc.tuple(
    fc.constantFrom('code', 'category', 'status'),
    fc.array(value, { minLength: 1, maxLength: 3 }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.oneof(
          { weight: 9, arbitrary: entry },
          { weight: 1, arbitrary: fc.constant('*') },
        ),
        {
          maxLength: 6,
        },
      ),
      fc.array(parameter, { maxLength: 3 }),
      async (entries, parameters) => {
        const query = parameters
          .map(
            ([name, values]) =>
              `${name}=${encodeURIComponent(values.join(','))}`,
          )
          .join('&');
        const filter = readFilter(
          `Observation?${query}`,
          feed,
          'https://exchange.example.org/fhir/R4',
        );
        fc.pre(typeof filter === 'object');
        const item = {
          focus: { type: 'Observation', id: resource.resource_id },
          triggers: ['feed-event', 'update'],
        };
        const { rows } = await door.store.asAccount(
          door.accountId,
          async (tx) => {
            await sql`update record_origin set search = ${entries}::text[] where resource_id = ${resource.resource_id}`.execute(
              tx.db,
            );
            await sql`update fhir_subscription set filters = ${JSON.stringify([filter])} where id = ${id}`.execute(
              tx.db,
            );
            return sql<{ place: number }>`
              select place from passing_items(${door.accountId}, ${[id]}::uuid[], ${patientId}, ${JSON.stringify([item])})`.execute(
              tx.db,
            );
          },
        );
        const isFound = matchesAll(entries, filter.clauses);
        expect(rows).toEqual(isFound ? [{ place: 1 }] : []);
      },
    ),
    { numRuns: 150 },
  );
});

test('a record is changed without waiting for a subscription, and what nobody told in time is told by reconcile', async () => {
  const patientId = await door.addPerson();
  const { id } = await door.subscribe();
  const gate = closedGate();
  const held = door.store.asAccount(door.accountId, async (tx) => {
    await sql`select from fhir_subscription where id = ${id} for update`.execute(
      tx.db,
    );
    await gate.passed;
  });
  await door.deliverObservation(patientId);
  const noted = () =>
    door.store.asAccount(door.accountId, async (tx) => {
      const { rows } = await sql`select from record_change`.execute(tx.db);
      return rows.length;
    });
  expect(await noted()).toBe(1);
  gate.open();
  await held;
  const before = await numbersOf(id);
  expect(before.events).toBeGreaterThan(0);
  expect(await noted()).toBe(0);

  // As a process leaves it that stops right after its commit.
  await door.store.asAccount(door.accountId, (tx) =>
    sql`insert into record_change (account_id, patient_id, changes, created_at)
      select ${door.accountId}, ${patientId}, jsonb_build_array(jsonb_build_object(
        'resourceType', resource_type, 'resourceId', resource_id, 'change', 'update')), now() - interval '1 minute'
      from record_resource where patient_id = ${patientId} limit 1`.execute(
      tx.db,
    ),
  );
  const told = door.recoveries.find(({ name }) => name.startsWith('changes'));
  if (told === undefined) throw new Error('no recovery');
  await takeUp(told);
  expect((await numbersOf(id)).events).toBe(before.events + 1);
});

test('a subscription of before the index is found by its filters too', async () => {
  const { id } = await door.subscribe({
    filters: ['Observation?code=8480-6'],
  });
  const keys = () =>
    door.store.asAccount(door.accountId, async (tx) => {
      const { rows } = await sql<{ key: string }>`
        select key from subscription_code where subscription_id = ${id} order by key`.execute(
        tx.db,
      );
      return rows.map(({ key }) => key);
    });
  expect(await keys()).toEqual(['ccode=|8480-6']);
  await door.store.asAccount(door.accountId, async (tx) => {
    await sql`delete from subscription_filter where subscription_id = ${id}`.execute(
      tx.db,
    );
    await sql`select index_filters_of(s) from fhir_subscription s`.execute(
      tx.db,
    );
  });
  expect(await keys()).toEqual(['ccode=|8480-6']);
});
