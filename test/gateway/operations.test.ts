import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConfigError } from '../../src/config.ts';
import type { AdminTarget } from '../../src/exchange/operations/admin/command.ts';
import { runAdmin } from '../../src/exchange/operations/admin/program.ts';
import { findingsOf } from '../../src/exchange/operations/ops/findings.ts';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { insertEvent } from '../../src/exchange/platform/outbox/event-store.ts';
import { recordRefusal } from '../../src/exchange/platform/workflows/refusal-store.ts';
import { createTemporalClient } from '../../src/temporal/client.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { giveMailbox } from '../support/mail-system.ts';
import { runAdminOn } from '../support/run-admin.ts';
import { TEST_DATA_KEYS } from '../support/test-keys.ts';

interface Finding {
  kind: string;
  what: string;
  help: string;
  accountId?: string;
  since?: string;
  happened?: { id: string };
}

const QUEUES = [
  {
    queue: 'source-lab' as const,
    type: 'activity' as const,
    backlog: 7,
    backlogSeconds: 300,
    pollers: 2,
  },
];
/** A key whose breaker is of one account's connection. */
const CONNECTION_ID = uuidv7();

let gateway: TestGateway;
let account: TestAccount;
let patientId: string;
beforeAll(async () => {
  gateway = await createTestGateway({ readQueues: async () => QUEUES });
  account = await gateway.addAccount();
  patientId = (
    await account.call(
      'POST',
      `patient?facilityId=${account.facilityId}`,
      newPerson(),
    )
  ).json().id;
});
afterAll(() => gateway.close());

/**
 * Nothing listens there: the command must work without Temporal, which it waits
 * for some seconds.
 */
const absentTemporal = () =>
  createTemporalClient(
    {
      TEMPORAL_ADDRESS: '127.0.0.1:1',
      TEMPORAL_NAMESPACE: 'default',
      TEMPORAL_API_KEY: undefined,
      DATA_KEYS: TEST_DATA_KEYS,
    },
    { lazy: true },
  );
/** The same without the wait. */
const refusingTemporal = async () =>
  Object.assign(await absentTemporal(), {
    withDeadline: () => Promise.reject(new Error('away')),
  });

/** `admin ops` with these parts; what it does not use is refused. */
async function run(argv: string[], parts: Partial<AdminTarget> = {}) {
  const out: string[] = [];
  const write = (text: string) => void out.push(text);
  const unused = () => Promise.reject(new Error('not needed here'));
  const exitCode = await runAdmin(['ops', ...argv], {
    write,
    writeError: write,
    open: async () => ({
      store: { ...gateway.store, close: async () => undefined },
      openKeyRing: unused,
      openAudit: unused,
      openBlobs: () => Promise.reject(new ConfigError('BLOB_STORE')),
      openTemporal: refusingTemporal,
      ...parts,
    }),
  });
  return { exitCode, stdout: out.join('') };
}
const findings = async (parts?: Partial<AdminTarget>) =>
  (JSON.parse((await run(['--json'], parts)).stdout) as { findings: Finding[] })
    .findings;
const execute = (statement: ReturnType<typeof sql>) =>
  gateway.store.asSystem((tx) => statement.execute(tx.db));
const metrics = async () =>
  (await gateway.app.inject({ method: 'GET', url: '/metrics' })).body;

async function addQuery(): Promise<string> {
  const answer = await account.call(
    'POST',
    `network/query?patientId=${patientId}`,
    { sources: ['lab'] },
  );
  return answer.json().requestId;
}

test('admin ops reports Temporal as the only trouble of a quiet system that cannot reach it', async () => {
  expect(await findings({ openTemporal: absentTemporal })).toEqual([
    expect.objectContaining({
      kind: 'stuck',
      what: expect.stringMatching(/Temporal/),
    }),
  ]);
});

test('admin ops names each service that does not answer with its remedy, and reports what the others say', async () => {
  const { exitCode, stdout } = await run([], {
    store: createStore({
      databaseUrl: 'postgres://nobody@127.0.0.1:1/none',
      poolMax: 1,
    }),
    gatewayUrl: 'http://127.0.0.1:1',
    openTemporal: absentTemporal,
  });
  expect(exitCode).toBe(1);
  for (const entry of [
    'PostgreSQL is down',
    'Temporal is down',
    'The gateway is down',
  ])
    expect(stdout).toContain(`→ docs/operations.md, "${entry}"`);
  expect(stdout).toContain('http://127.0.0.1:1');
});

test('admin ops lists what is stuck, late, dead-lettered or refused, each with the command that helps', async () => {
  const unstarted = await addQuery();
  const failed = await addQuery();
  await execute(
    sql`update network_query_run set requested_at = now() - interval '9 days' where query_id = ${unstarted}`,
  );
  await execute(
    sql`update network_query_run set ended_at = now() where query_id = ${failed}`,
  );
  await execute(sql`update network_query_attempt set status = 'failed', completed_at = now(), reason = 'lab answered 401'
    where query_id = ${failed}`);
  await execute(sql`insert into source_connection (connection, reason, opened_at) values
    ('lab', 'lab answered 401', now()), (${CONNECTION_ID}, 'answered 503', now())`);
  await gateway.store.asAccount(account.accountId, (tx) =>
    insertEvent(tx, {
      type: 'test',
      factKey: uuidv7(),
      patientId,
      occurredAt: new Date(),
      body: { meta: {} },
    }),
  );
  await execute(sql`update event set status = 'dead'`);

  const found = await findings();
  const of = (what: RegExp) =>
    found.filter((finding) => what.test(finding.what));
  expect(of(/network queries without a workflow: 1 of 1/)).toMatchObject([
    { kind: 'stuck' },
  ]);
  expect(of(/network queries: 1 open, the oldest for 9 days/)).toMatchObject([
    { kind: 'late' },
  ]);
  expect(of(/^source lab; .* refuses every call/)).toMatchObject([
    { kind: 'waiting', help: expect.stringContaining('admin -- sources list') },
  ]);
  expect(of(new RegExp(`^connection ${CONNECTION_ID}`))).toMatchObject([
    { help: expect.stringContaining('admin -- connections list') },
  ]);
  expect(of(/dead-lettered in the last week: 1/)).toMatchObject([
    {
      kind: 'dead-lettered',
      accountId: account.accountId,
      help: expect.stringContaining('/settings/webhook/retry'),
    },
  ]);
  expect(of(/failed at lab: 1/)).toMatchObject([
    {
      accountId: account.accountId,
      help: expect.stringMatching(/redrive --source lab --from \S+Z --dry-run/),
    },
  ]);
});

test('it lists what was refused because it was not encrypted, for a week, with the entry that helps', async () => {
  for (const what of [
    'signal uploaded of bulkPatientCreate',
    'signal uploaded of bulkPatientCreate',
    'old',
  ])
    await gateway.store.asSystem((tx) => recordRefusal(tx, what));
  await execute(
    sql`update refused_payload set last_at = now() - interval '8 days' where what = 'old'`,
  );
  expect(
    (await findings()).filter(({ what }) => /not encrypted/.test(what)),
  ).toEqual([
    expect.objectContaining({
      kind: 'refused',
      count: 2,
      what: expect.stringMatching(
        /refused: signal uploaded of bulkPatientCreate; 2 times, last at 2/,
      ),
      help: expect.stringContaining('Input that is not encrypted'),
    }),
  ]);
  await execute(sql`delete from refused_payload`);
});

test('it counts the messages of a day about patients of no cohort that is notified', async () => {
  const add = (id: string) =>
    execute(sql`insert into inbound_message
      (id, sender, message_key, control_key, format, kind, trigger, outcome, content, recorded_at, time_zone)
      values (${id}, 'hospital', ${Buffer.from(id)}, '\\x00', 'hl7v2', 'encounter', 'A01', 'not-monitored', '{}', now(), 'UTC')`);
  await add(uuidv7());
  await add(uuidv7({ msecs: Date.now() - 2 * 86_400_000 }));
  expect(
    (await findings()).filter(({ what }) => /no cohort/.test(what)),
  ).toEqual([
    expect.objectContaining({
      kind: 'refused',
      what: 'messages of senders in the last day about patients of no cohort that is notified, so in no record: 1',
      help: expect.stringContaining('cohorts create'),
    }),
  ]);
  await execute(sql`delete from inbound_message`);
});

test('it names a process whose clock has gone wrong', async () => {
  await execute(sql`insert into process_clock (process, shown) values
    ('worker on host-3', clock_timestamp() + interval '42 seconds'), ('gateway on host-1', clock_timestamp())`);
  expect((await findings()).filter(({ what }) => /clock/.test(what))).toEqual([
    expect.objectContaining({
      kind: 'stuck',
      what: "the clock of worker on host-3 is 42 s ahead of PostgreSQL's",
      help: expect.stringContaining('A clock is wrong'),
    }),
  ]);
  await execute(sql`delete from process_clock`);
});

test("it names a gateway whose clock is off, and a connection's certificate that ends soon until it is replaced", async () => {
  const queryId = await addQuery();
  const replacedId = uuidv7();
  const connection = (id: string) => sql`
    insert into network_connection (id, account_id, source, name, base_url, settings, auth_kind, credentials, namespace, changed_at)
    values (${id}, ${account.accountId}, 'hie', ${id}, 'https://gateway.example', '{}', 'saml', '', ${id}, now() - interval '1 day')`;
  await execute(connection(CONNECTION_ID));
  await execute(connection(replacedId));
  const ends = 'our client certificate ends on 2026-12-01';
  await execute(sql`
    insert into network_query_timeline (query_id, account_id, source, attempt, kind, message, once_key)
    select ${queryId}, ${account.accountId}, 'hie', 1, 'notice', t.message, t.key
    from (values (${ends}, ${`certificate/hie/1/${CONNECTION_ID}`}), (${ends}, ${`certificate/hie/1/${replacedId}`}),
      ('its clock is 12 minutes ahead of ours', 'clock/hie/1')) as t (message, key)`);
  await execute(
    sql`update network_connection set changed_at = clock_timestamp() where id = ${replacedId}`,
  );
  expect(
    (await findings()).filter(({ what }) => /^hie gateway/.test(what)),
  ).toEqual([
    expect.objectContaining({
      kind: 'late',
      what: expect.stringContaining(`connection ${CONNECTION_ID}: ${ends}`),
      help: `npm run admin -- connections rotate ${CONNECTION_ID}`,
    }),
    expect.objectContaining({
      kind: 'refused',
      what: expect.stringMatching(/^hie gateway: its clock is 12 minutes/),
      help: expect.stringContaining('docs/networks.md'),
    }),
  ]);
  await execute(
    sql`delete from network_query_timeline where query_id = ${queryId}`,
  );
  await execute(sql`delete from network_connection`);
});

test('it names what Temporal knows of work that does not go on, each with the command that helps', () => {
  const startedAt = new Date('2026-11-21T06:12:00Z');
  const run = {
    type: 'networkQuery',
    workflowId: 'network-query/1',
    startedAt,
  };
  const round = { cohortId: 'c1', kind: 'hie', startedAt } as const;
  const troubles = {
    namespace: 'default',
    paused: [run, { ...run, workflowId: 'network-query/2' }],
    failing: [run],
    hanging: [{ ...round, workflowId: 'cohort-monitoring/c1/hie-1' }],
    skipped: [{ ...round, kind: 'pharmacy' as const }],
    pausedSchedules: [
      { cohortId: 'c2', kind: 'hie', note: undefined } as const,
    ],
  };
  expect(findingsOf({ temporal: { queues: [], troubles } })).toEqual([
    expect.objectContaining({ help: expect.stringMatching(/PostgreSQL/) }),
    {
      kind: 'stuck',
      what: 'the task of 1 networkQuery workflow fails again and again, such as network-query/1',
      help: 'docs/operations.md, "A workflow task fails again and again"',
      count: 1,
    },
    {
      kind: 'stuck',
      what: 'monitoring of cohort c1 (hie): the round of 2026-11-21 06:12 UTC still runs, so that no further one begins',
      help: 'temporal workflow cancel --namespace default --workflow-id cohort-monitoring/c1/hie-1, then npm run starter -- monitor trigger c1 hie',
      count: 1,
    },
    {
      kind: 'late',
      what: 'monitoring of cohort c1 (pharmacy) has skipped a round; the last one began at 2026-11-21 06:12 UTC',
      help: 'npm run starter -- monitor trigger c1 pharmacy',
      count: 1,
    },
    {
      kind: 'paused',
      what: '2 networkQuery workflows, such as network-query/1',
      by: 'somebody in Temporal',
      help: 'temporal workflow unpause --namespace default --workflow-id network-query/1',
      count: 2,
    },
    expect.objectContaining({
      kind: 'paused',
      what: expect.stringContaining('monitoring of cohort c2 (hie)'),
      help: 'npm run starter -- monitor resume c2 hie',
    }),
  ]);
});

describe('Direct messages', () => {
  const ofMailboxes = async () =>
    (await findings()).filter(({ what }) => /Direct/.test(what));
  const setMailbox = (columns: ReturnType<typeof sql>) =>
    execute(sql`update direct_mailbox set ${columns}`);

  beforeAll(() =>
    giveMailbox(gateway.store, account.accountId, { smtpPort: 1, imapPort: 1 }),
  );
  afterAll(() => execute(sql`delete from direct_mailbox`));

  test('a mailbox that is read as usual is no finding, also after one reading that failed', async () => {
    await setMailbox(
      sql`read_through = now() - interval '2 minutes', fault = 'The mailbox cannot be read (ECONNRESET)'`,
    );
    expect(await ofMailboxes()).toEqual([]);
  });

  test('a mailbox that was not read for longer than usual is named, with why and since when', async () => {
    await setMailbox(sql`read_through = '2026-11-20T10:00:00Z'`);
    expect(await ofMailboxes()).toEqual([
      expect.objectContaining({
        kind: 'waiting',
        accountId: account.accountId,
        since: '2026-11-20T10:00:00.000Z',
        what: expect.stringMatching(/cannot be read \(ECONNRESET\)/),
        help: expect.stringContaining(
          `direct connect --account ${account.accountId}`,
        ),
      }),
    ]);
    await setMailbox(sql`fault = null`);
    expect(await ofMailboxes()).toMatchObject([
      {
        what: expect.stringMatching(/no reading .* has ended/),
        by: expect.stringContaining(`direct-mailbox/${account.accountId}`),
      },
    ]);
  });

  test('a refused login is named at once', async () => {
    await setMailbox(
      sql`read_through = now(), fault = 'The mailbox cannot be read (login refused)'`,
    );
    expect(await ofMailboxes()).toMatchObject([
      { what: expect.stringMatching(/login refused/) },
    ]);
    await setMailbox(sql`fault = null`);
  });

  test('messages that the mail server does not take are named after some minutes, with the oldest; those it has are not', async () => {
    const send = async (age: string) => {
      const sent = await account.call(
        'POST',
        `message?patientId=${patientId}`,
        {
          destination: 'dr.jones@direct.clinic.example',
          subject: 'Referral',
          body: 'Please see.',
        },
      );
      expect(sent.statusCode, sent.body).toBe(200);
      const { id } = sent.json();
      await execute(
        sql`update message set sent_at = now() - ${age}::interval where id = ${id}`,
      );
      return id;
    };
    const oldest = await send('7 minutes');
    const other = await send('6 minutes');
    await send('4 minutes');
    expect(await ofMailboxes()).toEqual([
      expect.objectContaining({
        kind: 'waiting',
        accountId: account.accountId,
        count: 2,
        what: expect.stringContaining(`message-transmission/${oldest}`),
        since: expect.any(String),
        help: expect.stringContaining('A message stays in `processing`'),
      }),
    ]);

    for (const id of [oldest, other])
      await execute(
        sql`insert into direct_delivery (message_id, account_id, handed_over_at) values (${id}, ${account.accountId}, now())`,
      );
    expect(await ofMailboxes()).toEqual([]);
    await execute(sql`delete from message`);
  });
});

test('its text fits the terminal and names no person', async () => {
  const { stdout, exitCode } = await run([]);
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^stuck +Temporal does not answer/m);
  expect(stdout.split('\n').length).toBeLessThan(40);
  expect(stdout).not.toMatch(/Sample|Pat\b|1980/);
});

test('what was cancelled on purpose is no failure', async () => {
  const reason = (text: string) =>
    execute(
      sql`update network_query_attempt set reason = ${text} where status = 'failed'`,
    );
  await reason('Cancelled on request');
  expect(
    (await findings()).filter(({ what }) => /failed at lab/.test(what)),
  ).toEqual([]);
  await reason('lab answered 401');
  expect(
    (await findings()).filter(({ what }) => /failed at lab/.test(what)),
  ).toHaveLength(1);
});

test('a failure that was acknowledged is listed again only when something newer fails', async () => {
  const failedAtLab = async () =>
    (await findings()).filter(({ what }) => /failed at lab/.test(what));
  const [{ happened } = {}] = await failedAtLab();
  const said = ['--by', 'Jo', '--reason', 'the lab has no consent'];
  const acknowledged = await run(['acknowledge', happened?.id ?? '', ...said]);
  expect(acknowledged.exitCode).toBe(0);
  expect(await failedAtLab()).toEqual([]);

  await execute(
    sql`update network_query_attempt set completed_at = clock_timestamp() where status = 'failed'`,
  );
  expect(await failedAtLab()).toHaveLength(1);
  expect((await run(['acknowledge', 'stuck', ...said])).exitCode).toBe(2);
});

test('an account without an address for webhooks has none that are dead-lettered', async () => {
  await execute(sql`update event set status = 'unrouted'`);
  expect(
    (await findings()).filter(({ what }) => /webhooks/.test(what)),
  ).toEqual([]);
  await execute(sql`update event set status = 'dead'`);
});

test('one query that waits for a source that fails is named within a minute or two, since it began to ask', async () => {
  const requestId = await addQuery();
  await execute(sql`update source_connection set opened_at = null, failing = '{${sql.raw(requestId)}}', reason = 'lab answered 503'
    where connection = 'lab'`);
  await execute(sql`update network_query_attempt set started_at = now() - interval '25 minutes', failing_since = now() - interval '24 minutes',
    waiting_for = 'lab answered 503' where query_id = ${requestId}`);
  const waits = async () =>
    (await findings()).filter(
      ({ kind, what }) => kind === 'waiting' && /for source lab/.test(what),
    );
  expect(await waits()).toEqual([
    expect.objectContaining({
      what: '1 query for source lab: its calls fail: lab answered 503',
      by: 'the source',
      help: expect.stringContaining(`starter -- status ${requestId}`),
    }),
  ]);
  const { stdout } = await run([]);
  expect(stdout).toMatch(
    /since 2\d{3}-\d\d-\d\d \d\d:\d\d UTC, for 25 min; by the source/,
  );
  const { document } = await runAdminOn(gateway.store, 'sources', 'list');
  expect(document.sources).toContainEqual(
    expect.objectContaining({
      source: 'lab',
      state: 'failing',
      waitingQueries: 1,
    }),
  );

  await execute(
    sql`update network_query_attempt set failing_since = null, waiting_for = null where query_id = ${requestId}`,
  );
  expect(await waits()).toMatchObject([
    { what: expect.stringContaining('no answer yet') },
  ]);
  await execute(
    sql`update network_query_attempt set started_at = now() where query_id = ${requestId}`,
  );
  expect(await waits()).toEqual([]);
});

test('a bulk create that is paused is listed with who paused it, since when, and the command that ends it', async () => {
  const started = await account.call(
    'POST',
    `patient/bulk?facilityId=${account.facilityId}`,
  );
  const { requestId } = started.json();
  await execute(
    sql`update bulk_request set status = 'processing', paused = true where id = ${requestId}`,
  );
  await execute(sql`insert into audit_entry (account_id, actor, operation, target_id, outcome)
    values (${account.accountId}, 'key:k1', 'pauseBulkCreate', ${requestId}, '200')`);
  expect((await findings()).filter(({ kind }) => kind === 'paused')).toEqual([
    expect.objectContaining({
      what: `bulk create ${requestId}`,
      by: 'API key k1',
      since: expect.stringMatching(/^2/),
      help: expect.stringContaining(`/patient/bulk/${requestId}/resume`),
    }),
  ]);
  await execute(sql`delete from bulk_request where id = ${requestId}`);
});

test('a blob store that cannot be written to is named, and the exit code says that not all is known', async () => {
  const { exitCode, stdout } = await run([], {
    openBlobs: () => Promise.reject(new Error('no space left on device')),
  });
  expect(exitCode).toBe(1);
  expect(stdout).toContain(
    'the blob store cannot be used: no space left on device',
  );
});

test('a failure that was retried since is no longer listed', async () => {
  await execute(sql`insert into network_query_attempt (query_id, source, attempt, run, account_id, status)
    select query_id, source, attempt + 1, run, account_id, 'running' from network_query_attempt where status = 'failed'`);
  expect(
    (await findings()).filter(({ what }) => /failed at lab/.test(what)),
  ).toEqual([]);
});

test('the metrics of a gateway are the same report, without ids in their labels', async () => {
  const text = await metrics();
  expect(text).toMatch(
    /^open_work\{kind="network-query",process="gateway"\} \d/m,
  );
  expect(text).toMatch(
    /^open_work_not_started\{kind="network-query",process="gateway"\} 1$/m,
  );
  expect(text).toMatch(
    /^webhooks_undeliverable\{state="dead",process="gateway"\} 1$/m,
  );
  expect(text).toMatch(
    /^account_connections_not_called\{state="open",process="gateway"\} 1$/m,
  );
  expect(text).toMatch(
    /^source_state\{source="lab",state="failing",process="gateway"\} 1$/m,
  );
  expect(text).toMatch(
    /^query_sources_last_hour\{source="lab",outcome="running",process="gateway"\} \d/m,
  );
  expect(text).toMatch(
    /^task_queue_backlog\{queue="source-lab",type="activity",process="gateway"\} 7$/m,
  );
  expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-/);
});
