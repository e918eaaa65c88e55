import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertPatient } from '../../src/exchange/people/patients/patient-store.ts';
import { newContent } from '../../src/exchange/people/patients/rules/patient-content.ts';
import { readRecordCompleteness } from '../../src/exchange/records/reading/completeness.ts';
import { createFhirConnector } from '../../src/exchange/sources/connectors/fhir-connector.ts';
import { personOf } from '../support/deliveries.ts';
import {
  createQueryEnvironment,
  type QueryEnvironment,
  runActivity,
  stepOf,
} from '../support/network-query-environment.ts';
import {
  SIMULATOR_CREDENTIALS,
  sample,
  startTestSimulator,
  type TestSimulator,
} from '../support/simulator.ts';

// A source that is a document network by IHE's profiles: PDQm and MHD, no
// clinical resources.

let simulator: TestSimulator;
let environment: QueryEnvironment;
beforeAll(async () => {
  simulator = await startTestSimulator({
    settings: { hie: { documentNetwork: true } },
  });
  environment = await createQueryEnvironment();
});
afterAll(async () => {
  await environment?.close();
  await simulator?.close();
});

async function query() {
  const { accountId } = await environment.addAccount();
  const patientId = uuidv7();
  await environment.store.asAccount(accountId, (tx) =>
    insertPatient(
      tx,
      patientId,
      newContent(personOf(sample()), {}, [uuidv7()]),
      [],
    ),
  );
  const requestId = await environment.addQuery(accountId, patientId, ['hie']);
  const { url } = simulator;
  const connector = createFhirConnector({
    source: 'hie',
    baseUrl: `${url}/hie/fhir`,
    auth: {
      kind: 'client-credentials',
      tokenUrl: `${url}/hie/oauth/token`,
      ...SIMULATOR_CREDENTIALS.hie,
    },
  });
  const { askSource } = environment.activities(connector);
  await runActivity(askSource, stepOf(accountId, requestId, 'hie'));
  const { types, completeness } = await environment.store.asAccount(
    accountId,
    async (tx) => ({
      types: await tx.db
        .selectFrom('patient_resource')
        .select('resource_type')
        .distinct()
        .where('patient_id', '=', patientId)
        .where('converted_from', 'is not', null)
        .execute(),
      completeness: await readRecordCompleteness(tx, patientId),
    }),
  );
  return {
    converted: types.map(({ resource_type }) => resource_type),
    hie: completeness.sources.find(({ source }) => source === 'hie'),
    unread: completeness.unread,
    told: (await environment.timeline(accountId, requestId)).map(
      ({ kind, message }) => `${kind}: ${message}`,
    ),
  };
}

test('gives a whole record from its documents, and the record says what came', async () => {
  const { converted, hie, unread, told } = await query();
  expect(converted).toEqual(
    expect.arrayContaining([
      'Condition',
      'Encounter',
      'Immunization',
      'MedicationStatement',
      'Observation',
    ]),
  );
  expect(hie).toMatchObject({ state: 'completed', omissions: [] });
  expect(hie?.documents).toBeGreaterThan(0);
  expect(hie?.resources).toBeGreaterThan(100);
  expect(unread).toEqual([]);
  expect(told.join('\n')).not.toMatch(/incomplete|failed|notice/);
});

test('of which a document cannot be fetched says so in the record, and why', async () => {
  await simulator.admin.setRules([
    {
      source: 'hie',
      operation: 'binary',
      fault: { type: 'status', status: 404 },
    },
  ]);
  const { converted, hie } = await query();
  expect(converted).toEqual([]);
  expect(hie).toMatchObject({
    state: 'completed',
    omissions: [
      '1 document could not be fetched (hie answered 404 (exception) to a document)',
    ],
  });
});
