import { type RawBuilder, sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SourceScore } from '../../src/contract/network-query.ts';
import { readScorecard } from '../../src/exchange/queries/network-query/query-store.ts';
import { createConnectors } from '../../src/exchange/sources/connectors/create-connector.ts';
import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import { personOf } from '../support/deliveries.ts';
import {
  createQueryEnvironment,
  type QueryEnvironment,
  runActivity,
  stepOf,
} from '../support/network-query-environment.ts';
import {
  SIMULATOR_CREDENTIALS,
  startTestSimulator,
  type TestSimulator,
} from '../support/simulator.ts';

// What the scorecard says of a source, against what the source itself noted of
// each request.

const SOURCES = ['pharmacy', 'lab'] as const;
let env: QueryEnvironment;
let simulator: TestSimulator;
let accountId: string;
const from = new Date(Date.now() - 60_000);
beforeAll(async () => {
  env = await createQueryEnvironment();
  simulator = await startTestSimulator();
  ({ accountId } = await env.addAccount());
  const { url } = simulator;
  const { pharmacyToken, labToken, hie } = SIMULATOR_CREDENTIALS;
  const connectors = createConnectors({
    hie: {
      source: 'hie',
      baseUrl: `${url}/hie/fhir`,
      auth: {
        kind: 'client-credentials',
        tokenUrl: `${url}/hie/oauth/token`,
        ...hie,
      },
    },
    pharmacy: {
      source: 'pharmacy',
      baseUrl: `${url}/pharmacy/fhir`,
      auth: { kind: 'bearer', token: pharmacyToken },
    },
    lab: {
      source: 'lab',
      baseUrl: `${url}/lab/fhir`,
      auth: { kind: 'bearer', token: labToken },
    },
  });
  const known = (await loadSamplePatients()).slice(0, 4).map(personOf);
  const stranger = {
    ...known[0],
    firstNames: ['Nobody'],
    lastNames: ['Atall'],
    personalIdentifiers: [],
  };
  for (const person of [...known, { ...stranger, dob: '1931-02-03' }]) {
    const patientId = await env.addPatient(accountId, {}, person);
    const requestId = await env.addQuery(accountId, patientId, SOURCES);
    for (const source of SOURCES) {
      const { askSource } = env.activities(connectors[source]);
      await runActivity(askSource, stepOf(accountId, requestId, source));
    }
  }
});
afterAll(async () => {
  await simulator.close();
  await env.close();
});

const scores = (
  of: string,
  to = new Date(Date.now() + 60_000),
): Promise<SourceScore[]> =>
  env.store.asAccount(of, (tx) => readScorecard(tx, [of], { from, to }));

test.each(SOURCES)(
  'the scorecard of %s agrees with what the source noted',
  async (source) => {
    const score = (await scores(accountId)).find(
      (each) => each.source === source,
    );
    const log = await simulator.admin.requests({ source });
    const asked = log.filter(({ operation }) => operation === 'match');
    // Whoever it knows is asked for data of; `sample` is set only for whom the
    // source knows.
    const found = new Set(
      log.flatMap(({ operation, status, sample }) =>
        ['everything', 'search', 'page', 'job'].includes(operation) &&
        status === 200
          ? (sample ?? [])
          : [],
      ),
    );
    expect(new Set(asked.map(({ status }) => status))).toEqual(new Set([200]));
    expect(score).toMatchObject({
      connectionId: null,
      queries: 5,
      ended: 5,
      answered: 5,
      responseRate: 1,
      patientsAnswered: 5,
      patientsFound: found.size,
      foundShare: found.size / 5,
    });
    expect(found.size).toBeGreaterThan(0);
    // What it delivered, counted resource by resource.
    const { rows } = await env.store.asAccount(accountId, async (tx) => ({
      rows: await tx.db
        .selectFrom('delivered_resource')
        .select(['resource_type', 'content'])
        .where('source', '=', source)
        .execute(),
    }));
    const results = rows
      .filter((each) => each.resource_type === 'Observation')
      .map(({ content }) => JSON.stringify(content));
    const measured = results.filter((each) => each.includes('"valueQuantity"'));
    expect(score).toMatchObject({
      resources: rows.length,
      results: results.length,
    });
    if (results.length > 0)
      expect(score?.codedShare).toBeCloseTo(
        results.filter((each) => each.includes('http://loinc.org')).length /
          results.length,
        3,
      );
    expect(score?.measured).toBeLessThanOrEqual(results.length);
    expect(
      measured.length === 0 ? score?.unitShare : typeof score?.unitShare,
    ).toBe(measured.length === 0 ? null : 'number');
    expect(score?.firstDataSecondsMedian).toBeGreaterThanOrEqual(0);
    expect(score?.firstDataSecondsP95).toBeGreaterThanOrEqual(
      score?.firstDataSecondsMedian ?? 0,
    );
  },
);

test('a repeated query is no further yield, and a query that was cancelled on request does not count against a source', async () => {
  const labScore = async () =>
    (await scores(accountId)).find(({ source }) => source === 'lab');
  const before = await labScore();
  await env.store.asAccount(accountId, async (tx) => {
    await sql`insert into network_query (id, account_id, patient_id, purpose_of_use, origin, requested, status)
      select gen_random_uuid(), account_id, patient_id, purpose_of_use, origin, requested, status from network_query`.execute(
      tx.db,
    );
    await sql`insert into network_query_attempt (query_id, source, attempt, run, account_id, status, completed_at, pages, resources)
      select copy.id, t.source, 1, 1, t.account_id, t.status, now(), t.pages, t.resources
      from network_query_attempt t join network_query q on q.id = t.query_id and t.source = 'lab'
        join network_query copy on copy.patient_id = q.patient_id and copy.id <> q.id`.execute(
      tx.db,
    );
  });
  expect(await labScore()).toMatchObject({
    queries: 10,
    answered: 10,
    resources: before?.resources,
    resourcesPerFoundPatient: before?.resourcesPerFoundPatient,
  });

  const patientId = await env.addPatient(accountId);
  const requestId = await env.addQuery(accountId, patientId, ['lab']);
  const become = (columns: RawBuilder<unknown>) =>
    env.store.asAccount(accountId, (tx) =>
      sql`update network_query_attempt set ${columns} where query_id = ${requestId}`.execute(
        tx.db,
      ),
    );
  await become(sql`failing_since = now()`);
  expect(await labScore()).toMatchObject({ waiting: 1, responseRate: 0.9091 });
  await become(
    sql`failing_since = null, status = 'failed', completed_at = now(), reason = 'Cancelled on request'`,
  );
  expect(await labScore()).toMatchObject({
    cancelled: 1,
    ended: 10,
    responseRate: 1,
  });
});

test('a source that refuses lowers the response rate, and another account sees nothing', async () => {
  const { accountId: other } = await env.addAccount();
  expect(await scores(other)).toEqual([]);
  const patientId = await env.addPatient(other);
  const requestId = await env.addQuery(other, patientId, ['lab']);
  await env.store.asAccount(other, (tx) =>
    tx.db
      .updateTable('network_query_attempt')
      .set({ status: 'failed', completed_at: new Date() })
      .where('query_id', '=', requestId)
      .execute(),
  );
  expect(await scores(other)).toMatchObject([
    {
      source: 'lab',
      queries: 1,
      ended: 1,
      answered: 0,
      responseRate: 0,
      patientsFound: 0,
      foundShare: null,
      firstDataSecondsMedian: null,
      resourcesPerFoundPatient: null,
      codedShare: null,
      unitShare: null,
    },
  ]);
  expect(await scores(other, from)).toEqual([]);
  expect((await scores(accountId)).map(({ source }) => source)).toEqual([
    'lab',
    'pharmacy',
  ]);
});
