import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertPatient } from '../../src/exchange/people/patients/patient-store.ts';
import { newContent } from '../../src/exchange/people/patients/rules/patient-content.ts';
import { readRecordCompleteness } from '../../src/exchange/records/reading/completeness.ts';
import type {
  SourceConnector,
  SourcePage,
} from '../../src/exchange/sources/connectors/connector.ts';
import { createIheConnector } from '../../src/exchange/sources/connectors/ihe/ihe-connector.ts';
import { iheSettingsSchema } from '../../src/exchange/sources/connectors/ihe/ihe-settings.ts';
import { loadCcda } from '../../tools/simulator/samples.ts';
import { personOf } from '../support/deliveries.ts';
import {
  createQueryEnvironment,
  type QueryEnvironment,
  runActivity,
  stepOf,
} from '../support/network-query-environment.ts';
import {
  GATEWAY_COMMUNITY,
  type GatewayDocument,
  holding,
  matchFor,
  OUR_COMMUNITY,
  type RespondingGateway,
  startRespondingGateway,
} from '../support/responding-gateway.ts';
import { sample } from '../support/simulator.ts';

// A source that is a gateway by IHE's XCPD and XCA: its documents become record.

const { createBody } = sample();
const [address] = createBody.address;
const MATCH = matchFor({
  firstName: createBody.firstName,
  lastName: createBody.lastName,
  dob: createBody.dob,
  gender: createBody.genderAtBirth,
  line: address?.addressLine1 ?? '',
  city: address?.city ?? '',
  state: address?.state ?? '',
  zip: address?.zip ?? '',
});
const SUMMARY: GatewayDocument = {
  uniqueId: '1.2.3.1',
  bytes: loadCcda(sample()),
};
/** Another person's document, under our patient's id. */
const MISFILED: GatewayDocument = {
  uniqueId: '1.2.3.2',
  bytes: loadCcda(sample('adan-fuentes')),
};
const notes = Array.from({ length: 7 }, (_, index) => ({
  uniqueId: `1.2.4.${index}`,
  bytes: Buffer.from(`note ${index}`),
  mimeType: 'text/plain',
}));

let gateway: RespondingGateway;
let environment: QueryEnvironment;
beforeAll(async () => {
  gateway = await startRespondingGateway({
    discover: () => ({ patients: [MATCH] }),
    ...holding([SUMMARY]),
  });
  environment = await createQueryEnvironment();
});
afterAll(async () => {
  await environment?.close();
  await gateway?.close();
});

const connector = (documentsPerRetrieval = 5): SourceConnector =>
  createIheConnector(
    {
      source: 'hie',
      baseUrl: `${gateway.url}/discovery`,
      auth: { kind: 'none' },
    },
    iheSettingsSchema.parse({
      queryUrl: `${gateway.url}/query`,
      retrieveUrl: `${gateway.url}/retrieve`,
      homeCommunity: GATEWAY_COMMUNITY,
      ownHomeCommunity: OUR_COMMUNITY,
      documentsPerRetrieval,
    }),
  );

async function addPatient() {
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
  return { accountId, patientId };
}

async function stateOf(accountId: string, patientId: string) {
  return environment.store.asAccount(accountId, async (tx) => ({
    converted: (
      await tx.db
        .selectFrom('patient_resource')
        .select('resource_type')
        .distinct()
        .where('patient_id', '=', patientId)
        .where('converted_from', 'is not', null)
        .execute()
    ).map(({ resource_type }) => resource_type),
    files: (
      await tx.db
        .selectFrom('document')
        .select('sha256')
        .where('patient_id', '=', patientId)
        .where('kind', '=', 'attachment')
        .execute()
    ).map(({ sha256 }) => sha256.toString('hex')),
    completeness: await readRecordCompleteness(tx, patientId),
  }));
}

test("a gateway's documents become record, without those that are another person's", async () => {
  gateway.behave(holding([SUMMARY, MISFILED]));
  const { accountId, patientId } = await addPatient();
  const requestId = await environment.addQuery(accountId, patientId, ['hie']);
  const { askSource } = environment.activities(connector());
  await runActivity(askSource, stepOf(accountId, requestId, 'hie'));
  const { converted, files, completeness } = await stateOf(
    accountId,
    patientId,
  );
  expect(converted).toEqual(
    expect.arrayContaining(['Condition', 'Encounter', 'Observation']),
  );
  expect(files).toHaveLength(2);
  expect(
    completeness.sources.find(({ source }) => source === 'hie'),
  ).toMatchObject({ state: 'completed' });
  const told = (await environment.timeline(accountId, requestId))
    .map(({ message }) => message)
    .join('\n');
  expect(told).toContain('it names another person');

  // Nothing changed: nothing is retrieved anew.
  const before = gateway.asked.retrievals.length;
  const again = await environment.addQuery(accountId, patientId, ['hie']);
  await runActivity(askSource, stepOf(accountId, again, 'hie'));
  expect(gateway.asked.retrievals).toHaveLength(before);
  expect((await stateOf(accountId, patientId)).converted).toEqual(converted);
});

test('a query that is killed after any of its pages retrieves each document once', async () => {
  gateway.behave(holding(notes));
  const { accountId, patientId } = await addPatient();
  const requestId = await environment.addQuery(accountId, patientId, ['hie']);
  const step = stepOf(accountId, requestId, 'hie');
  const before = gateway.asked.retrievals.length;
  const whole = connector(2);
  let pagesLeft = 0;
  /** Ends like a process that is killed before it stores the next page. */
  async function* dying(pages: AsyncIterable<SourcePage>) {
    for await (const page of pages) {
      if (pagesLeft === 0) throw new Error('killed');
      pagesLeft -= 1;
      yield page;
    }
  }
  const mortal: SourceConnector = {
    ...whole,
    begin: async (...args) => {
      const begun = await whole.begin(...args);
      return begun.kind === 'ready'
        ? { ...begun, pages: dying(begun.pages) }
        : begun;
    },
    resume: (...args) => dying(whole.resume(...args)),
  };
  const { askSource } = environment.activities(mortal);
  let isDone = false;
  for (let kills = 0; kills < 10 && !isDone; kills += 1) {
    pagesLeft = 1;
    isDone = await runActivity(askSource, step).then(
      ({ state }) => state === 'completed',
      () => false,
    );
  }
  expect(isDone).toBe(true);
  const { files } = await stateOf(accountId, patientId);
  expect(new Set(files).size).toBe(notes.length);
  expect(files).toHaveLength(notes.length);
  // What was received and not stored is asked for again, and nothing else.
  const asked = gateway.asked.retrievals.slice(before);
  const stored = new Set(asked.map((batch) => JSON.stringify(batch)));
  expect(stored.size).toBe(4);
});
