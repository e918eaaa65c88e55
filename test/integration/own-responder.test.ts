import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Demographics } from '../../src/exchange/people/patients/rules/demographics.ts';
import { readConsolidated } from '../../src/exchange/records/reading/read-consolidated.ts';
import { createFhirConnector } from '../../src/exchange/sources/connectors/fhir-connector.ts';
import {
  createTestGateway,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import {
  createQueryEnvironment,
  type QueryEnvironment,
  runActivity,
  stepOf,
} from '../support/network-query-environment.ts';

// Two exchanges: one asks the other, by the connector that asks any FHIR
// server, at the responder for networks.

let theirs: TestGateway;
let account: TestAccount;
let baseUrl: string;
let ours: QueryEnvironment;
beforeAll(async () => {
  const port = await freePort();
  const publicBaseUrl = `http://127.0.0.1:${port}`;
  theirs = await createTestGateway({ publicBaseUrl });
  await theirs.app.listen({ host: '127.0.0.1', port });
  baseUrl = `${publicBaseUrl}/fhir/responder`;
  account = await theirs.addAccount();
  ours = await createQueryEnvironment();
});
afterAll(async () => {
  await ours?.close();
  await theirs?.close();
});

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        resolve(
          typeof address === 'object' && address !== null ? address.port : 0,
        ),
      );
    });
  });

const PERSON = {
  firstName: 'Tamica',
  lastName: 'Murazik',
  dob: '1980-04-01',
  genderAtBirth: 'F',
};
const ADDRESS = {
  addressLine1: '1 Main St',
  city: 'Boston',
  state: 'MA',
  zip: '02116',
};

async function query(demographics: Partial<Demographics> = {}) {
  const { accountId } = await ours.addAccount();
  const patientId = await ours.addPatient(accountId, {}, demographics);
  const requestId = await ours.addQuery(accountId, patientId, ['hie']);
  const connector = createFhirConnector({
    source: 'hie',
    baseUrl,
    auth: { kind: 'bearer', token: account.apiKey },
  });
  const { askSource } = ours.activities(connector);
  await runActivity(askSource, stepOf(accountId, requestId, 'hie'));
  const page = await ours.store.asAccount(accountId, (tx) =>
    readConsolidated(tx, patientId, {}, undefined, 100),
  );
  const told = await ours.timeline(accountId, requestId);
  return {
    resources: page.resources,
    told: told.map(({ kind, message }) => `${kind}: ${message}`).join('\n'),
  };
}

test('our connector collects from our responder what the other exchange contributed, file included', async () => {
  const { id } = (
    await account.call('POST', `patient?facilityId=${account.facilityId}`, {
      ...PERSON,
      address: [ADDRESS],
    })
  ).json();
  const file = Buffer.from('Dear all').toString('base64');
  const resources = [
    {
      resourceType: 'Condition',
      id: 'c-1',
      code: { text: 'Gout' },
      recorder: { reference: 'Practitioner/p-1' },
    },
    { resourceType: 'Practitioner', id: 'p-1', name: [{ family: 'Lee' }] },
    {
      resourceType: 'DocumentReference',
      id: 'd-1',
      status: 'current',
      description: 'Letter',
      content: [{ attachment: { contentType: 'text/plain', data: file } }],
    },
  ];
  const entry = resources.map((resource) => ({ resource }));
  await account.call('PUT', `patient/${id}/consolidated`, {
    resourceType: 'Bundle',
    type: 'collection',
    entry,
  });

  const { resources: record, told } = await query();

  const clinical = record.filter(
    ({ resourceType }) => !['Patient', 'Provenance'].includes(resourceType),
  );
  expect(
    clinical.map(({ resourceType, origins }) => [
      resourceType,
      origins.map(({ source }) => source),
    ]),
  ).toEqual([
    ['Condition', ['hie']],
    ['DocumentReference', ['hie']],
    ['Practitioner', ['hie']],
  ]);
  const [condition, reference, practitioner] = clinical.map(
    ({ content }) => content,
  );
  expect(condition).toMatchObject({
    code: { text: 'Gout' },
    recorder: { reference: `Practitioner/${practitioner?.id}` },
  });
  expect(reference).toMatchObject({
    content: [{ attachment: { url: expect.stringContaining('Binary/') } }],
  });
  expect(told).not.toMatch(/failed|incomplete/);
});

test('and completes with nothing for a person whom the other exchange does not know', async () => {
  const { resources, told } = await query({ firstNames: ['Elsewhere'] });
  expect(resources.map(({ resourceType }) => resourceType)).toEqual([
    'Patient',
  ]);
  expect(told).not.toMatch(/failed/);
});
