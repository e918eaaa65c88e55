import type { FhirResource } from 'fhir/r4.js';
import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import { SOURCE_TYPES } from '../../src/contract/source-types.ts';
import {
  partDeadlineMs,
  SOURCE_RETRIES,
} from '../../src/exchange/queries/network-query/rules/retries.ts';
import {
  completenessMeta,
  readRecordCompleteness,
} from '../../src/exchange/records/reading/completeness.ts';
import type { SourceConnections } from '../../src/exchange/sources/connections/connections.ts';
import {
  type MissingResources,
  type SourceConnector,
  SourceFailure,
} from '../../src/exchange/sources/connectors/connector.ts';
import { namespaced } from '../../src/exchange/sources/connectors/namespaced-connector.ts';
import {
  createSourceHealth,
  pauseConnection,
  resumeConnection,
} from '../../src/exchange/sources/health/source-health.ts';
import { queryTest } from '../support/fixtures.ts';
import { closedGate } from '../support/gate.ts';
import {
  runActivity,
  unwilling,
} from '../support/network-query-environment.ts';
import { observation, page, sourceOf } from '../support/source-pages.ts';

const test = queryTest.extend(
  'querying',
  { scope: 'file' },
  async ({ environment, account }) => {
    const patientId = await account.addPatient();
    const { accountId } = account.step(patientId, 'hie');
    // Only an account that has connections is asked for its parts.
    for (const [name, id] of Object.entries(IDS))
      await environment.store.asSystem((tx) =>
        sql`insert into network_connection (id, account_id, source, name, base_url, settings, auth_kind, credentials, namespace)
          values (${id}, ${accountId}, 'hie', ${name}, 'http://127.0.0.1:1/', '{}', 'bearer', '', ${`c-${id.slice(-8)}~`})`.execute(
          tx.db,
        ),
      );
    /**
     * A query of the hie through both servers, whose steps a test runs one by
     * one.
     */
    async function query(
      servers: { Alpha: Server; Beta: Server },
      of = patientId,
    ) {
      const requestId = await account.addQuery(of, ['hie']);
      const current = { ...servers };
      const activities = () =>
        account.activities(
          {},
          {
            connections: connectionsTo(current),
            sourceHealth: createSourceHealth(environment.store),
          },
        );
      const step = account.step(requestId, 'hie');
      return {
        requestId,
        step,
        /** What the two servers do from now on. */
        servers: current,
        ask: () => runActivity(activities().askSource, step),
        poll: () => runActivity(activities().collectSource, step),
        /** The second call of the activity, which is its first look. */
        look: () =>
          runActivity(
            activities().awaitSource,
            { ...step, waitingSince: Date.now(), firstLookMs: 1_000 },
            2,
          ),
        fail: (reason: string) =>
          runActivity(activities().recordFailedAttempt, {
            ...step,
            reason,
            abandoned: true,
          }),
        timeline: async () =>
          (await account.timeline(requestId)).map(
            ({ kind, message }) => `${kind}: ${message}`,
          ),
        attempt: async () => (await account.view(requestId)).attempts[0],
        /** Ends every wait, as time would. */
        elapse: (what = sql`next_try_at = now()`) =>
          account.inTx((tx) =>
            sql`update network_query_part set ${what} where query_id = ${requestId}`.execute(
              tx.db,
            ),
          ),
      };
    }
    const stored = (of: string) =>
      account.inTx(async (tx) => {
        const rows = await tx.db
          .selectFrom('delivered_resource')
          .select(['source_id as id', 'content'])
          .where('patient_id', '=', of)
          .orderBy('source_id')
          .execute();
        return rows.map(({ id, content }) => [
          id,
          (content.code as { text: string }).text,
        ]);
      });
    return { ...account, patientId, query, stored };
  },
);

type Server = Partial<SourceConnector>;
const IDS = {
  Alpha: '0198a000-0000-7000-8000-00000000000a',
  Beta: '0198a000-0000-7000-8000-00000000000b',
};
const ALPHA = 'c-0000000a~';
const BETA = 'c-0000000b~';

/**
 * Two connections of the hie; `Alpha` and `Beta` are two servers that number
 * their resources alike.
 */
function connectionsTo(servers: {
  Alpha: Server;
  Beta: Server;
}): SourceConnections {
  const all = Object.entries(IDS).map(([name, id]) => ({
    id,
    name,
    namespace: `c-${id.slice(-8)}~`,
  }));
  return {
    toAsk: async (_tx, source) => (source === 'hie' ? all : undefined),
    connector: async (_accountId, connectionId) => {
      const found = all.find(({ id }) => id === connectionId);
      const server = servers[found?.name === 'Alpha' ? 'Alpha' : 'Beta'];
      return namespaced({ ...unwilling, ...server }, found?.namespace ?? '');
    },
    network: () => Promise.reject(new Error('there is no network')),
  };
}

const result = (id: string, text: string): FhirResource =>
  ({
    ...observation(id, text),
    subject: { reference: 'Patient/p1' },
  }) as FhirResource;
const answering = (...resources: FhirResource[]) =>
  sourceOf([page(resources, { patientIds: ['p1'] })]);
const letter = {
  sourceDocumentId: 'd1',
  contentType: 'text/plain',
  bytes: Buffer.from('Dear colleague'),
};
const failing = (kind: SourceFailure['kind'], message: string): Server => ({
  begin: () => Promise.reject(new SourceFailure(kind, message)),
});

describe('two connections of one source', () => {
  test('are asked side by side, and are one entry whose records are kept apart', async ({
    querying,
  }) => {
    const of = await querying.addPatient();
    let begun = 0;
    let bothBegan = () => {};
    const together = new Promise<void>((resolve) => {
      bothBegan = resolve;
    });
    const meeting = (text: string): Server => ({
      ...answering(),
      begin: async () => {
        begun += 1;
        if (begun === 2) bothBegan();
        await together;
        return {
          kind: 'ready',
          pages: sourceOf([
            page([result('1', text)], {
              patientIds: ['p1'],
              attachments: text === 'iron' ? [letter] : [],
            }),
          ]).pagesFrom(0),
        };
      },
    });
    const { ask, attempt, timeline } = await querying.query(
      { Alpha: meeting('sugar'), Beta: meeting('iron') },
      of,
    );
    expect(await ask()).toEqual({
      state: 'completed',
      resources: 2,
      note: undefined,
    });
    const ended = await attempt();
    expect(ended).toMatchObject({ status: 'completed', resources: 2 });
    expect(ended?.reason).toBeUndefined();
    expect(await querying.stored(of)).toEqual([
      [`${ALPHA}1`, 'sugar'],
      [`${BETA}1`, 'iron'],
    ]);
    const lines = await timeline();
    expect(lines).toEqual(
      expect.arrayContaining(['asked: Asking Alpha', 'asked: Asking Beta']),
    );
    expect(lines).toEqual(
      expect.arrayContaining([
        'connection-completed: Alpha: 1 resource and 0 documents collected',
        'connection-completed: Beta: 1 resource and 1 document collected',
        'completed: The hie source completed: 2 resources and 1 document collected',
      ]),
    );
  });

  test('one of which fails: the rest is kept, the reason is shown, and the record is incomplete', async ({
    querying,
  }) => {
    const of = await querying.addPatient();
    const { ask, attempt } = await querying.query(
      {
        Alpha: answering(result('1', 'sugar')),
        Beta: failing('refused', 'hie answered 403 to $match'),
      },
      of,
    );
    const reason =
      '1 of 2 connections failed: Beta: hie answered 403 to $match';
    expect(await ask()).toEqual({
      state: 'completed',
      resources: 1,
      note: reason,
    });
    expect(await attempt()).toMatchObject({
      status: 'completed',
      reason,
      resources: 1,
    });
    expect(await querying.stored(of)).toHaveLength(1);
    const completeness = await querying.inTx((tx) =>
      readRecordCompleteness(tx, of),
    );
    expect(JSON.stringify(completenessMeta(completeness))).toContain(
      'could not deliver everything',
    );
    expect(
      completeness.sources.find(({ source }) => source === 'hie')?.omissions,
    ).toEqual([reason]);
  });

  test('that both fail: the source fails with both reasons', async ({
    querying,
  }) => {
    const { ask, fail, attempt } = await querying.query({
      Alpha: failing('refused', 'no'),
      Beta: failing('refused', 'never'),
    });
    const message = '2 of 2 connections failed: Alpha: no; Beta: never';
    await expect(ask()).rejects.toMatchObject({
      type: 'SourceRefused',
      nonRetryable: true,
      message,
    });
    await fail(message);
    expect(await attempt()).toMatchObject({
      status: 'failed',
      reason: message,
    });
  });

  test('neither of which knows the patient: completed without data', async ({
    querying,
  }) => {
    const unknown: Server = {
      begin: async () => ({ kind: 'unknown-patient' }),
    };
    const { ask } = await querying.query({ Alpha: unknown, Beta: unknown });
    expect(await ask()).toMatchObject({
      state: 'completed',
      note: 'The source does not know this patient',
    });
  });

  test('one of which needs time: the other is collected at once and not asked again', async ({
    querying,
  }) => {
    const of = await querying.addPatient();
    const job = { url: 'https://beta.example.org/job/1' };
    const { ask, poll, look, attempt, servers } = await querying.query(
      {
        Alpha: answering(result('1', 'sugar')),
        Beta: {
          begin: async () => ({ kind: 'accepted', job, retryAfterMs: 7_000 }),
        },
      },
      of,
    );
    expect(await ask()).toEqual({
      state: 'waiting',
      retryAfterMs: 7_000,
      hasEndedPart: true,
    });
    expect(await querying.stored(of)).toEqual([[`${ALPHA}1`, 'sugar']]);
    expect(await attempt()).toMatchObject({ status: 'running', resources: 1 });

    servers.Alpha = {};
    servers.Beta = { poll: async () => ({ kind: 'pending', job }) };
    expect(await poll()).toEqual({ state: 'waiting', retryAfterMs: undefined });
    await expect(look()).rejects.toMatchObject({ type: 'SourcePending' });
    const answer = answering(result('1', 'iron'));
    servers.Beta = {
      poll: async () => ({ kind: 'ready', pages: answer.pagesFrom(0) }),
    };
    expect(await look()).toEqual({ state: 'ready' });
    expect(await attempt()).toMatchObject({ status: 'running', resources: 1 });
    expect(await poll()).toMatchObject({ state: 'completed', resources: 2 });
  });
});

test('a connection that an operator has paused across its deadline is asked when it is resumed', async ({
  querying,
}) => {
  const hie = await querying.query({
    Alpha: answering(result('a', 'from Alpha')),
    Beta: answering(),
  });
  const pause = (paused: boolean) =>
    querying.store.asSystem(async (tx) => {
      if (paused)
        await pauseConnection(tx, IDS.Alpha, {
          by: 'R. Ortiz',
          reason: 'maintenance',
        });
      else await resumeConnection(tx, IDS.Alpha);
    });
  const attemptBegan = (hoursAgo: number) =>
    querying.inTx((tx) =>
      sql`update network_query_attempt set started_at = now() - ${hoursAgo} * interval '1 hour'
          where query_id = ${hie.requestId}`.execute(tx.db),
    );
  await pause(true);
  expect(await hie.ask()).toMatchObject({
    state: 'waiting',
    pausedMs: expect.any(Number),
  });
  // The deadline passes, and all of it was pause.
  await attemptBegan(60);
  await hie.elapse(sql`next_try_at = now(), paused_ms = 60 * 3600000`);
  expect(await hie.poll()).toMatchObject({ state: 'waiting' });
  await pause(false);
  await hie.elapse();
  expect(await hie.poll()).toMatchObject({ state: 'completed', resources: 1 });
});

test('a connection that stays paused is given up in the end', async ({
  querying,
}) => {
  const hie = await querying.query({
    Alpha: answering(result('b', 'from Alpha')),
    Beta: answering(),
  });
  await querying.store.asSystem((tx) =>
    pauseConnection(tx, IDS.Alpha, { by: 'R. Ortiz', reason: 'forgotten' }),
  );
  await hie.ask();
  await hie.elapse(sql`next_try_at = now(), paused_ms = 15 * 24 * 3600000`);
  await querying.inTx((tx) =>
    sql`update network_query_attempt set started_at = now() - interval '17 days' where query_id = ${hie.requestId}`.execute(
      tx.db,
    ),
  );
  expect(await hie.poll()).toMatchObject({
    state: 'completed',
    note: expect.stringContaining('Alpha'),
  });
  await querying.store.asSystem((tx) => resumeConnection(tx, IDS.Alpha));
});

describe('a step on several connections that is killed', () => {
  test('goes on after the last stored page of each, and asks nothing twice', async ({
    querying,
  }) => {
    const of = await querying.addPatient();
    const pages = [page([result('1', 'a')]), page([result('2', 'b')])].map(
      (each) => ({
        ...each,
        patientIds: ['p1'],
      }),
    );
    const whole = sourceOf(pages);
    const { ask, servers } = await querying.query(
      {
        Alpha: answering(result('1', 'sugar')),
        Beta: {
          begin: async () => ({
            kind: 'ready',
            pages: (async function* () {
              for await (const each of whole.pagesFrom(0)) {
                yield each;
                throw new Error('killed');
              }
            })(),
          }),
        },
      },
      of,
    );
    await expect(ask()).rejects.toThrow('killed');
    servers.Alpha = {};
    servers.Beta = { resume: whole.resume };
    expect(await ask()).toMatchObject({ state: 'completed', resources: 3 });
    expect(await querying.stored(of)).toHaveLength(3);
  });
});

describe('a connection that fails for a while', () => {
  test('is called again after a moment, and the other is left alone', async ({
    querying,
  }) => {
    const { ask, servers, timeline } = await querying.query({
      Alpha: answering(result('1', 'sugar')),
      Beta: failing('transport', 'hie did not answer'),
    });
    await expect(ask()).rejects.toMatchObject({
      type: 'SourceTransport',
      nonRetryable: false,
    });
    servers.Alpha = {};
    servers.Beta = answering(result('1', 'iron'));
    expect(await ask()).toMatchObject({ state: 'completed', resources: 2 });
    expect(await timeline()).toContain(
      'call-failed: Beta: Call 1: hie did not answer',
    );
  });

  test('makes the query wait, which callers see, and is not called before its time', async ({
    querying,
  }) => {
    const { ask, poll, attempt, elapse, servers } = await querying.query({
      Alpha: answering(result('1', 'sugar')),
      Beta: {
        begin: () =>
          Promise.reject(
            new SourceFailure('denied', 'hie answered 401', {
              retryAfterMs: 90_000,
            }),
          ),
      },
    });
    expect(await ask()).toMatchObject({
      state: 'waiting',
      held: { reason: 'Beta: hie answered 401' },
    });
    expect((await attempt())?.waiting).toMatchObject({
      reason: 'Beta: hie answered 401',
    });
    servers.Alpha = {};
    servers.Beta = {};
    expect(await poll()).toMatchObject({
      state: 'waiting',
      held: { reason: 'Beta: hie answered 401' },
    });
    await elapse();
    servers.Beta = answering(result('1', 'iron'));
    expect(await poll()).toMatchObject({ state: 'completed', resources: 2 });
    expect((await attempt())?.waiting).toBeUndefined();
  });

  test('is asked again from the start when its answer was bad, and counted once', async ({
    querying,
  }) => {
    const of = await querying.addPatient();
    const { ask, poll, attempt, elapse, servers } = await querying.query(
      {
        Alpha: answering(result('1', 'sugar')),
        Beta: {
          begin: async () => ({
            kind: 'ready',
            pages: (async function* () {
              yield {
                ...page([result('1', 'iron')], { patientIds: ['p1'] }),
                next: { page: 1 },
              };
              throw new SourceFailure(
                'bad-answer',
                'hie answered with broken JSON',
              );
            })(),
          }),
        },
      },
      of,
    );
    expect(await ask()).toMatchObject({
      state: 'waiting',
      held: { reason: 'Beta: hie answered with broken JSON' },
    });
    expect(await attempt()).toMatchObject({ resources: 1 });
    servers.Alpha = {};
    servers.Beta = answering(result('1', 'iron'));
    await elapse();
    expect(await poll()).toMatchObject({ state: 'completed', resources: 2 });

    const again = await querying.query(
      {
        Alpha: answering(result('1', 'sugar')),
        Beta: failing('bad-answer', 'bad'),
      },
      of,
    );
    for (const _ of [1, 2]) {
      expect(await again.ask()).toMatchObject({ state: 'waiting' });
      await again.elapse();
    }
    expect(await again.ask()).toMatchObject({
      state: 'completed',
      note: '1 of 2 connections failed: Beta: bad',
    });
  });

  test('leaves no job at the source when the attempt was given up while it was asked', async ({
    querying,
  }) => {
    const asked = closedGate();
    const held = closedGate();
    const cancelled: unknown[] = [];
    const { ask, fail } = await querying.query({
      Alpha: answering(result('1', 'sugar')),
      Beta: {
        begin: async () => {
          asked.open();
          await held.passed;
          return { kind: 'accepted', job: { url: 'job-1' } };
        },
        cancel: async (handle) => void cancelled.push(handle),
      },
    });
    const asking = ask();
    await asked.passed;
    await fail('Given up on request');
    held.open();
    await asking.catch(() => undefined);
    expect(cancelled).toEqual([{ url: 'job-1' }]);
  });

  test('is looked at once more before it fails: an answer that lies ready is kept', async ({
    querying,
  }) => {
    const cancelled: unknown[] = [];
    const { ask, poll, step, servers } = await querying.query({
      Alpha: answering(result('1', 'sugar')),
      Beta: {
        begin: async () => ({ kind: 'accepted', job: { url: 'job-1' } }),
      },
    });
    await ask();
    servers.Beta = {
      poll: async () => ({
        kind: 'ready',
        pages: sourceOf([page([result('2', 'salt')])]).pagesFrom(0),
      }),
      cancel: async (handle) => void cancelled.push(handle),
    };
    await querying.inTx((tx) =>
      sql`update network_query_attempt set started_at = now() - interval '47 hours'
        where query_id = ${step.requestId}`.execute(tx.db),
    );
    expect(await poll()).toMatchObject({ state: 'completed', resources: 2 });
    expect(cancelled).toEqual([]);
  });

  test('fails before the deadline of the source, so that the answers of the others are kept', async ({
    querying,
  }) => {
    const cancelled: unknown[] = [];
    const job = { url: 'https://beta.example.org/job/1' };
    const { ask, poll, step, servers } = await querying.query({
      Alpha: answering(result('1', 'sugar')),
      Beta: { begin: async () => ({ kind: 'accepted', job }) },
    });
    await ask();
    servers.Beta = {
      poll: async (handle) => ({ kind: 'pending', job: handle }),
      cancel: async (handle) => void cancelled.push(handle),
    };
    await querying.inTx((tx) =>
      sql`update network_query_attempt set started_at = now() - interval '47 hours'
        where query_id = ${step.requestId}`.execute(tx.db),
    );
    expect(await poll()).toMatchObject({
      state: 'completed',
      note: '1 of 2 connections failed: Beta: No answer within 46 hours',
    });
    expect(cancelled).toEqual([job]);
    for (const source of SOURCE_TYPES) {
      const longestWaitMs = Math.max(
        SOURCE_RETRIES[source].pollMaxMs,
        30 * 60_000,
      );
      expect(partDeadlineMs(source) + longestWaitMs).toBeLessThan(
        SOURCE_RETRIES[source].deadlineMs,
      );
    }
  });
});

test('giving the source up cancels the jobs of all connections, keeps what came, and takes no page after that', async ({
  querying,
}) => {
  const cancelled: unknown[] = [];
  const accepting = (url: string): Server => ({
    begin: async () => ({ kind: 'accepted', job: { url } }),
    cancel: async (handle) => void cancelled.push(handle.url),
  });
  const { ask, poll, fail, servers, timeline } = await querying.query({
    Alpha: accepting('a'),
    Beta: accepting('b'),
  });
  await ask();
  await fail('Given up on request');
  expect(cancelled.sort()).toEqual(['a', 'b']);
  servers.Alpha = {
    poll: async () => ({
      kind: 'ready',
      pages: answering(result('1', 'x')).pagesFrom(0),
    }),
  };
  await expect(poll()).rejects.toMatchObject({
    type: 'SourceAttemptSuperseded',
  });
  expect(await timeline()).toContain(
    'failed: The hie source failed: Given up on request; no further attempt is planned',
  );
});

describe('a complete answer of one connection', () => {
  test('retires what that connection no longer has, and never what came from another one', async ({
    querying,
  }) => {
    const of = await querying.addPatient();
    const first = await querying.query(
      {
        Alpha: answering(result('1', 'sugar'), result('2', 'salt')),
        Beta: answering(result('1', 'iron')),
      },
      of,
    );
    await first.ask();
    const asked: { Alpha: MissingResources[]; Beta: MissingResources[] } = {
      Alpha: [],
      Beta: [],
    };
    const gone =
      (name: 'Alpha' | 'Beta') => async (question: MissingResources) => {
        asked[name].push(question);
        return question.missing.map(() => 'deleted' as const);
      };
    const second = await querying.query(
      {
        Alpha: {
          ...answering(result('1', 'sugar')),
          checkMissing: gone('Alpha'),
        },
        Beta: { ...failing('refused', 'closed'), checkMissing: gone('Beta') },
      },
      of,
    );
    await second.ask();
    expect(asked.Beta).toEqual([]);
    expect(asked.Alpha).toMatchObject([
      {
        missing: [{ resourceType: 'Observation', id: '2' }],
        patientIds: ['p1'],
      },
    ]);
    expect(await querying.stored(of)).toEqual([
      [`${ALPHA}1`, 'sugar'],
      [`${BETA}1`, 'iron'],
    ]);
  });

  test('does not retire what the connection of the environment delivered, nor the other way round', async ({
    querying,
  }) => {
    const of = await querying.addPatient();
    const fromEnvironment = async (...resources: FhirResource[]) => {
      const requestId = await querying.addQuery(of, ['hie']);
      const checkMissing = async ({ missing }: MissingResources) =>
        missing.map(() => 'deleted' as const);
      const { askSource } = querying.activities({
        ...answering(...resources),
        checkMissing,
      });
      await runActivity(askSource, querying.step(requestId, 'hie'));
    };
    await fromEnvironment(result('1', 'old'));
    const checkMissing = async ({ missing }: MissingResources) =>
      missing.map(() => 'deleted' as const);
    const { ask } = await querying.query(
      {
        Alpha: { ...answering(result('1', 'sugar')), checkMissing },
        Beta: { ...answering(), checkMissing },
      },
      of,
    );
    await ask();
    expect(await querying.stored(of)).toEqual([
      ['1', 'old'],
      [`${ALPHA}1`, 'sugar'],
    ]);
    await fromEnvironment();
    expect(await querying.stored(of)).toEqual([[`${ALPHA}1`, 'sugar']]);
  });
});

test('each connection is used for the purpose of the query', async ({
  querying,
}) => {
  const purposes: string[] = [];
  const connections = connectionsTo({ Alpha: answering(), Beta: answering() });
  const noting: SourceConnections = {
    ...connections,
    connector: (account, id, purpose) => {
      purposes.push(purpose);
      return connections.connector(account, id, purpose);
    },
  };
  for (const [purposeOfUse, expected] of [
    ['treatment', { state: 'completed' }],
    [
      'ias',
      {
        message: expect.stringContaining(
          'The AAL2 session of this query has expired',
        ),
      },
    ],
  ] as const) {
    const requestId = await querying.addQuery(querying.patientId, ['hie']);
    await querying.inTx((tx) =>
      sql`update network_query set purpose_of_use = ${purposeOfUse} where id = ${requestId}`.execute(
        tx.db,
      ),
    );
    const { askSource } = querying.activities({}, { connections: noting });
    const asked = runActivity(askSource, querying.step(requestId, 'hie')).catch(
      (error: unknown) => error,
    );
    expect(await asked).toMatchObject(expected);
  }
  expect(purposes).toEqual(['treatment', 'treatment', 'ias', 'ias']);
});

test('an attempt that began before the account had connections is finished on the connection of the environment', async ({
  querying,
}) => {
  const requestId = await querying.addQuery(querying.patientId, ['hie']);
  const step = querying.step(requestId, 'hie');
  const job = { url: 'https://hie.example.org/job/1' };
  const before = querying.activities({
    begin: async () => ({ kind: 'accepted', job }),
  });
  await runActivity(before.askSource, step);
  const answer = answering(result('9', 'late'));
  const after = querying.activities(
    { poll: async () => ({ kind: 'ready', pages: answer.pagesFrom(0) }) },
    { connections: connectionsTo({ Alpha: {}, Beta: {} }) },
  );
  expect(await runActivity(after.collectSource, step)).toMatchObject({
    state: 'completed',
    resources: 1,
  });
});
