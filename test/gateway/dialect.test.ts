import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Dialect } from '../../src/exchange/platform/account.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await createTestGateway();
});
afterAll(() => gateway.close());

interface Names {
  firstName: unknown;
  lastName: unknown;
  additionalIdentifiers: unknown;
  additionalIds: unknown;
}

/** Every answer that carries a patient, by operation. */
async function patientAnswers(
  account: TestAccount,
): Promise<Record<string, Names>> {
  const externalId = 'chart-1';
  const cohort = (await account.call('POST', 'cohort', { name: 'All' })).json();
  const person = newPerson({
    firstName: 'Mary Ann',
    lastName: ['Garcia', 'Lopez'],
    externalId,
    additionalIdentifiers: IDENTIFIERS,
    cohorts: [cohort.id],
  });
  const create = async () =>
    (
      await account.call(
        'POST',
        `patient?facilityId=${account.facilityId}`,
        person,
      )
    ).json();
  const created = await create();
  const { cohorts: _, ...demographics } = person as Record<string, unknown>;
  const read = async (path: string) => (await account.call('GET', path)).json();
  return {
    createPatient: created,
    'createPatient, known': await create(),
    getPatient: await read(`patient/${created.id}`),
    updatePatient: (
      await account.call('PUT', `patient/${created.id}`, demographics)
    ).json(),
    matchPatient: (
      await account.call('POST', 'patient/match', demographics)
    ).json(),
    getPatientByExternalId: await read(
      `patient/external-id?externalId=${externalId}`,
    ),
    listPatients: (await read('patient')).patients[0],
    listCohortPatients: (await read(`cohort/${cohort.id}/patient`)).patients[0],
  };
}
const IDENTIFIERS = { quest: ['q-1'] };

interface Query {
  status: string;
  sources: { type: string; status: string }[];
}

/**
 * Every answer that carries a query: its lab source has failed once and runs
 * again, hie is done.
 */
async function queryAnswers(
  account: TestAccount,
): Promise<Record<'E4' | 'E2' | 'E3' | 'list', Query>> {
  const sources = { lab: { enabled: true }, hie: { enabled: true } };
  const person = newPerson({ networkQuery: { sources } });
  const patient = (
    await account.call(
      'POST',
      `patient?facilityId=${account.facilityId}`,
      person,
    )
  ).json();
  const E2 = (
    await account.call('POST', `network/query?patientId=${patient.id}`, {
      sources,
    })
  ).json();
  await gateway.store.asAccount(account.accountId, async (tx) => {
    await sql`update network_query_attempt set completed_at = now(),
      status = case source when 'lab' then 'failed' else 'completed' end`.execute(
      tx.db,
    );
    await sql`insert into network_query_attempt (query_id, source, attempt, run, account_id, status)
      values (${E2.requestId}, 'lab', 2, 0, ${account.accountId}, 'running')`.execute(
      tx.db,
    );
  });
  const E3 = (
    await account.call('GET', `network/query/${E2.requestId}`)
  ).json();
  const list = (
    await account.call('GET', `network/query?patientId=${patient.id}`)
  ).json().queries[0];
  return { E4: patient.networkQuery, E2, E3, list };
}
const shown = ({ status, sources }: Query) => [
  status,
  ...sources.map((source) => `${source.type} ${source.status}`).sort(),
];

describe.each<[Dialect, { first: unknown; last: unknown }]>([
  ['interface', { first: ['Mary', 'Ann'], last: ['Garcia', 'Lopez'] }],
  ['published', { first: 'Mary Ann', last: 'Garcia Lopez' }],
])('the dialect %s', (dialect, { first, last }) => {
  test('writes names its way in every answer that carries a patient, and further identifiers twice', async () => {
    const answers = await patientAnswers(await gateway.addAccount({ dialect }));
    for (const [operation, answer] of Object.entries(answers)) {
      expect(answer, operation).toMatchObject({
        firstName: first,
        lastName: last,
      });
      expect(
        [answer.additionalIdentifiers, answer.additionalIds],
        operation,
      ).toEqual([IDENTIFIERS, IDENTIFIERS]);
    }
  });

  test('shows running states and attempts in its own form in every response that carries a query', async () => {
    const { E4, E2, E3, list } = await queryAnswers(
      await gateway.addAccount({ dialect }),
    );
    // A start says processing in both (interface.md, E2).
    for (const started of [E4, E2]) {
      expect(shown(started)).toEqual([
        'processing',
        'hie processing',
        'lab processing',
      ]);
    }
    for (const read of [E3, list]) {
      expect(shown(read)).toEqual(
        dialect === 'published'
          ? ['processing', 'hie completed', 'lab processing']
          : ['in-progress', 'hie completed', 'lab failed', 'lab in-progress'],
      );
    }
  });
});

test('ignores settings of a cohort that only published clients send', async () => {
  const account = await gateway.addAccount({ dialect: 'published' });
  const settings = {
    theme: 'dark',
    monitoring: { adt: { enabled: true, enable: true }, imaging: {} },
  };
  const created = await account.call('POST', 'cohort', {
    name: 'Published',
    settings,
  });
  expect(created.json().settings.monitoring.adt).toEqual({ enabled: true });
  const { id } = created.json();
  const off = {
    settings: { theme: 'light', monitoring: { adt: { enabled: false } } },
  };
  const changed = await account.call('PATCH', `cohort/${id}`, off);
  expect([changed.statusCode, changed.json().settings.monitoring.adt]).toEqual([
    200,
    { enabled: false },
  ]);
  const nonsense = await account.call('POST', 'cohort', {
    name: 'Other',
    settings: 'dark',
  });
  expect(nonsense.statusCode).toBe(400);
});
