import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { RETENTION_KINDS } from '../../src/exchange/operations/retention/kinds.ts';
import { retentionSweep } from '../../src/exchange/operations/retention/sweep.ts';
import { insertEvent } from '../../src/exchange/platform/outbox/event-store.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { runAdminOn } from '../support/run-admin.ts';
import { takeUp } from '../support/take-up.ts';

const STATEMENT = ['--by', 'Ada', '--reason', 'Policy 4'];
const OLD = sql`now() - interval '400 days'`;

let gateway: TestGateway;
let account: TestAccount;
beforeAll(async () => {
  gateway = await createTestGateway();
});
afterAll(() => gateway.close());
beforeEach(async () => {
  account = await gateway.addAccount();
  await system(sql`delete from event`);
  await admin('retention', 'set', 'webhook-events', '--forever', ...STATEMENT);
});

const admin = (...argv: string[]) => runAdminOn(gateway.store, ...argv);
const setDays = (kind: string) =>
  admin('retention', 'set', kind, '--days', '365', ...STATEMENT);
const system = (statement: ReturnType<typeof sql>) =>
  gateway.store.asSystem((tx) => statement.execute(tx.db));

async function kindOf(name: string) {
  const { document } = await admin('retention', 'run', '--dry-run');
  return document.kinds.find(({ kind }: { kind: string }) => kind === name);
}

async function sweep(name: string, limit?: number): Promise<number> {
  const kind = RETENTION_KINDS.find((known) => known.name === name);
  if (kind === undefined) throw new Error(`No kind ${name}`);
  return takeUp(retentionSweep(gateway.store, kind), limit);
}

const newPatient = async (): Promise<string> =>
  (
    await account.call(
      'POST',
      `patient?facilityId=${account.facilityId}`,
      newPerson(),
    )
  ).json().id;

const hold = (patientId: string) =>
  admin(
    'holds',
    'place',
    '--account',
    account.accountId,
    '--patient',
    patientId,
    ...STATEMENT,
  );

async function newEvent(
  patientId: string,
  status = 'delivered',
  requestId?: string,
): Promise<string> {
  const event = {
    type: 'patient.admit',
    factKey: uuidv7(),
    patientId,
    requestId,
    occurredAt: new Date(),
  };
  const id = await gateway.store.asAccount(account.accountId, (tx) =>
    insertEvent(tx, { ...event, body: { meta: {} } }),
  );
  await system(
    sql`update event set status = ${status}, opened_at = ${OLD} where id = ${id}`,
  );
  return id ?? '';
}

const eventIds = async (): Promise<string[]> => {
  const { rows } = await gateway.store.asAccount(account.accountId, (tx) =>
    sql<{ id: string }>`select id from event where copy_of is null`.execute(
      tx.db,
    ),
  );
  return rows.map(({ id }) => id).sort();
};

test('without a rule everything is kept', async () => {
  const event = await newEvent(await newPatient());
  expect(await sweep('webhook-events')).toBe(0);
  expect((await admin('retention', 'run')).document.removed[0]).toEqual({
    kind: 'webhook-events',
    removed: 0,
  });
  expect(await eventIds()).toEqual([event]);
});

test('ended webhook messages go after the time of their rule; open, recent, needed and held ones stay', async () => {
  const patientId = await newPatient();
  const held = await newPatient();
  await hold(held);
  const started = await account.call(
    'POST',
    `network/query?patientId=${patientId}`,
    {
      sources: { lab: { enabled: true } },
    },
  );
  const gone = [await newEvent(patientId), await newEvent(patientId, 'dead')];
  const kept = [
    await newEvent(patientId, 'pending'),
    await newEvent(patientId, 'delivered', started.json().requestId),
    await newEvent(held),
  ];
  const resent = await newEvent(patientId);
  const copied = await newEvent(patientId);
  await system(
    sql`update event set last_attempt_at = now() where id = ${resent}`,
  );
  await system(sql`insert into event (id, account_id, copy_of, type, fact_key, occurred_at, status)
    select gen_random_uuid(), account_id, id, type, fact_key, occurred_at, 'pending' from event where id = ${copied}`);
  await setDays('webhook-events');

  expect(await kindOf('webhook-events')).toMatchObject({
    days: 365,
    due: 2,
    held: 1,
    removed: 0,
  });
  expect(await eventIds()).toHaveLength(7);
  expect(await sweep('webhook-events')).toBe(2);
  expect(await eventIds()).toEqual([...kept, resent, copied].sort());
  expect(await eventIds()).not.toEqual(expect.arrayContaining(gone));
  expect(await kindOf('webhook-events')).toMatchObject({
    due: 0,
    removed: 2,
    sweptAt: expect.any(String),
  });
});

test('a sweep goes on slice by slice, ends, and is repeated after a day; each slice is audited', async () => {
  const patientId = await newPatient();
  for (let each = 0; each < 5; each++) await newEvent(patientId);
  await setDays('webhook-events');
  expect(await sweep('webhook-events', 2)).toBe(5);
  const { rows } = await gateway.store.asAccount(account.accountId, (tx) =>
    sql`select details from audit_entry where actor = 'retention' order by id`.execute(
      tx.db,
    ),
  );
  expect(rows).toEqual(
    [2, 2, 1].map((removed) => ({
      details: JSON.stringify({ kind: 'webhook-events', days: 365, removed }),
    })),
  );

  await newEvent(patientId);
  expect(await sweep('webhook-events')).toBe(0);
  await system(
    sql`update retention_rule set swept_at = now() - interval '25 hours'`,
  );
  expect(await sweep('webhook-events')).toBe(1);
  await newEvent(patientId);
  expect((await admin('retention', 'run')).document.removed[0].removed).toBe(1);
});

test('what has left the record goes; what shows that a document was withdrawn, recent and held rows stay', async () => {
  const patientId = await newPatient();
  const held = await newPatient();
  await hold(held);
  const retire = (of: string, type: string, at: ReturnType<typeof sql>) =>
    system(sql`insert into retired_resource (account_id, patient_id, source, resource_type, source_id, document_id, sha256,
      content, revision, collected_at, retired_at, reason, query_id, attempt)
      values (${account.accountId}, ${of}, 'lab', ${type}, ${uuidv7()}, ${uuidv7()}, '', '{}', '', ${OLD}, ${at},
      'moved', ${uuidv7()}, 1)`);
  await retire(patientId, 'Observation', OLD);
  await retire(patientId, 'DocumentReference', OLD);
  await retire(patientId, 'Condition', sql`now()`);
  await retire(held, 'Observation', OLD);
  await setDays('retired-resources');
  expect(await kindOf('retired-resources')).toMatchObject({ due: 1, held: 1 });
  expect(await sweep('retired-resources')).toBe(1);
  const { rows } =
    await system(sql`select resource_type as type, patient_id = ${held} as held from retired_resource
    where account_id = ${account.accountId} order by 1`);
  expect(rows).toEqual([
    { type: 'Condition', held: false },
    { type: 'DocumentReference', held: false },
    { type: 'Observation', held: true },
  ]);
});

test('timelines of ended queries go, but not what they say about gaps, and not those of running or held ones', async () => {
  const patients = [await newPatient(), await newPatient(), await newPatient()];
  const queries: string[] = [];
  for (const id of patients) {
    const query = { sources: { lab: { enabled: true } } };
    queries.push(
      (
        await account.call('POST', `network/query?patientId=${id}`, query)
      ).json().requestId,
    );
  }
  const [ended, running, onHold] = queries;
  for (const id of queries)
    await system(sql`insert into network_query_timeline (query_id, account_id, at, kind, message, is_gap)
      select id, account_id, ${OLD}, 'incomplete', gap.text, gap.text = 'a gap'
      from network_query, (values ('a gap'), ('a step')) as gap (text) where id = ${id}`);
  await system(
    sql`update network_query_timeline set at = ${OLD} where query_id = any(${queries}::uuid[])`,
  );
  await system(sql`update network_query set status = 'completed', ended_at = ${OLD}
    where id in (${ended}, ${onHold})`);
  await hold(patients[2] ?? '');
  await setDays('query-timelines');
  expect((await kindOf('query-timelines')).held).toBeGreaterThan(0);
  await sweep('query-timelines');
  const messages = async (id = '') => {
    const { rows } = await system(
      sql`select message from network_query_timeline where query_id = ${id}`,
    );
    return rows.length;
  };
  expect(await messages(ended)).toBe(1);
  expect(
    [await messages(running), await messages(onHold)].every(
      (count) => count > 1,
    ),
  ).toBe(true);
});

test('the result file of a bulk create goes with its blob; a hold on one of its patients keeps it', async () => {
  const patientId = await newPatient();
  const held = await newPatient();
  await hold(held);
  const requests: string[] = [];
  for (const id of [patientId, held]) {
    const made = await account.call(
      'POST',
      `patient/bulk?facilityId=${account.facilityId}`,
    );
    const { requestId } = made.json();
    requests.push(requestId);
    await system(sql`update bulk_request set status = 'completed', ended_at = ${OLD},
      result = jsonb_build_object('ref', ${`blob-of-${id}`}::text, 'sizeBytes', 1, 'sha256', '') where id = ${requestId}`);
    await system(sql`insert into bulk_patient (request_id, account_id, patient_id, first_row)
      values (${requestId}, ${account.accountId}, ${id}, 1)`);
  }
  await setDays('bulk-results');
  expect(await kindOf('bulk-results')).toMatchObject({ due: 1, held: 1 });
  expect(await sweep('bulk-results')).toBe(1);
  const results = await Promise.all(
    requests.map(async (id) =>
      (await account.call('GET', `patient/bulk/${id}`)).json(),
    ),
  );
  expect(results).toMatchObject([
    { status: 'completed' },
    { status: 'completed' },
  ]);
  expect(results.map(({ result }) => result !== undefined)).toEqual([
    false,
    true,
  ]);
  const { rows } = await system(
    sql`select kind from erasure where ref = ${`blob-of-${patientId}`}`,
  );
  expect(rows).toEqual([{ kind: 'blob' }]);
});

test('messages about people who are no patients go; those about a matched or ambiguous subject stay', async () => {
  const add = async (
    outcome: string,
    age = OLD,
    subject = uuidv7(),
  ): Promise<string> => {
    const message = uuidv7();
    await system(sql`insert into inbound_subject (id, sender, kind, source_key, updated_at)
      values (${subject}, 'adt', 'encounter', ${Buffer.from(subject)}, ${age}) on conflict do nothing`);
    await system(sql`insert into inbound_message (id, sender, message_key, control_key, time_zone, format, kind, trigger, recorded_at, received_at, content, outcome)
      values (${message}, 'adt', ${Buffer.from(message)}, ${Buffer.from(message)}, 'UTC', 'hl7v2', 'encounter', 'A01', ${age}, ${age},
        jsonb_build_object('ref', ${`blob-of-${subject}`}::text), ${outcome})`);
    await system(sql`insert into inbound_event (subject_id, message_id, describes_person, content)
      values (${subject}, ${message}, true, '{}')`);
    return subject;
  };
  const gone = [await add('unmatched'), await add('incomplete')];
  const kept = [
    await add('ambiguous'),
    await add('unmatched', sql`now()`),
    await add('matched'),
  ];
  for (const subject of kept.slice(1)) await add('unmatched', OLD, subject);
  await setDays('unmatched-messages');
  expect(await kindOf('unmatched-messages')).toMatchObject({ due: 2 });
  expect(await sweep('unmatched-messages')).toBe(2);
  const { rows } = await system(
    sql`select distinct subject_id as id from inbound_event`,
  );
  expect(rows.map((row) => (row as { id: string }).id).sort()).toEqual(
    [...kept].sort(),
  );
  const erased = await system(
    sql`select ref from erasure where ref like 'blob-of-%' and account_id is null`,
  );
  expect(erased.rows).toEqual(
    expect.arrayContaining(gone.map((id) => ({ ref: `blob-of-${id}` }))),
  );
});

test.each([
  [
    ['set', 'audit', '--days', '365'],
    '"audit" is not a kind of data; expected one of webhook-events',
  ],
  [
    ['set', 'webhook-events', '--days', '29'],
    '--days must be a number from 30',
  ],
  [['set', 'webhook-events'], 'Give either --days <n> or --forever'],
])(
  'retention %j is refused with what would be right',
  async (argv, message) => {
    const { exitCode, err } = await admin('retention', ...argv, ...STATEMENT);
    expect([exitCode, err]).toEqual([2, expect.stringContaining(message)]);
  },
);
