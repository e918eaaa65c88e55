import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SSN_ROOT } from '#ihe';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
  withSsn,
} from '../support/gateway.ts';
import {
  askerAt,
  criteriaFor,
  joinNetwork,
  makeNetworkOf,
  OUR_HOME,
  openTestRespondingGateway,
  type TestAsker,
  THEIR_HOME,
} from '../support/network-members.ts';

type Person = ReturnType<typeof newPerson>;
type Port = Awaited<ReturnType<typeof openTestRespondingGateway>>;
type Network = Awaited<ReturnType<typeof makeNetworkOf<'ours' | 'theirs'>>>;

let gateway: TestGateway;
let account: TestAccount;
let network: Network;
let port: Port;
let asker: TestAsker;
beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount();
  network = await makeNetworkOf('ours', 'theirs');
  const { authority, members } = network;
  const membership = await joinNetwork(gateway, account.accountId, authority);
  port = await openTestRespondingGateway(gateway, members.ours);
  asker = askerAt(port.addressOf(membership), members.theirs, authority);
});
afterAll(async () => {
  await asker.client.close();
  await port.close();
  await gateway.close();
});

async function newPatient(person: Person = newPerson()): Promise<string> {
  const response = await account.call(
    'POST',
    `patient?facilityId=${account.facilityId}`,
    person,
  );
  expect(response.statusCode, response.body).toBe(201);
  return response.json().id;
}

/** Contributes a letter with this text. */
async function contributeLetter(
  patientId: string,
  text: string,
  changes: object = {},
): Promise<void> {
  const resource = {
    resourceType: 'DocumentReference',
    id: createHash('sha1').update(text).digest('hex'),
    status: 'current',
    subject: { reference: `Patient/${patientId}` },
    description: 'Letter to the family doctor',
    type: {
      coding: [
        { system: 'http://loinc.org', code: '51855-5', display: 'Note' },
      ],
    },
    content: [
      {
        attachment: {
          contentType: 'text/plain',
          data: Buffer.from(text).toString('base64'),
        },
      },
    ],
    ...changes,
  };
  const response = await account.call(
    'PUT',
    `patient/${patientId}/consolidated`,
    { resourceType: 'Bundle', type: 'collection', entry: [{ resource }] },
  );
  expect(response.statusCode, response.body).toBe(200);
}

const discovered = async (...of: Parameters<typeof criteriaFor>) => {
  const { outcome, patients, wanted } = await asker.discover(
    criteriaFor(...of),
  );
  return {
    outcome,
    ids: patients.map(({ patientId }) => patientId?.extension),
    wanted: wanted.map(({ attribute }) => attribute),
  };
};
const found = (id: string) => ({ outcome: 'found', ids: [id], wanted: [] });
const NOBODY = { outcome: 'nobody', ids: [], wanted: [] };

test('a gateway finds the patient, lists the letter and gets its exact bytes, and the disclosures name who got it and why', async () => {
  const person = newPerson();
  const id = await newPatient(person);
  const text = 'Dear all: ÄÖÜ \u0000 \r\n--boundary';
  await contributeLetter(id, text);

  const answer = await asker.discover(criteriaFor(person));
  expect(answer).toMatchObject({
    outcome: 'found',
    patients: [
      {
        patientId: { root: OUR_HOME, extension: id },
        homeCommunity: OUR_HOME,
        person: {
          names: [{ family: [person.lastName], given: [person.firstName] }],
          birthTime: { date: person.dob },
          gender: 'F',
        },
      },
    ],
  });

  const list = await asker.find(id);
  const sha1 = createHash('sha1').update(text).digest('hex');
  expect(list).toMatchObject({
    outcome: 'complete',
    entries: [
      {
        title: 'Letter to the family doctor',
        homeCommunity: `urn:oid:${OUR_HOME}`,
        repository: OUR_HOME,
        isOnDemand: false,
        availability: 'Approved',
        mimeType: 'text/plain',
        size: Buffer.byteLength(text),
        hash: sha1,
        typeCode: { code: '51855-5', system: '2.16.840.1.113883.6.1' },
        remarks: [],
      },
    ],
  });
  // The second list has the hash from the first.
  expect((await asker.find(id)).entries).toEqual(list.entries);

  const documents = list.entries.map((entry) => ({
    uniqueId: entry.uniqueId ?? '',
    repository: entry.repository ?? '',
    homeCommunity: entry.homeCommunity,
  }));
  const { outcome, bytes } = await asker.retrieve(documents);
  expect([outcome, bytes.map(String)]).toEqual(['complete', [text]]);

  const { rows } = await gateway.store.asSystem((tx) =>
    sql<{ operation: string; actor: string; details: string }>`
      select operation, actor, details from audit_entry where patient_id = ${id} and actor like 'community:%'
      order by audit_entry.id`.execute(tx.db),
  );
  expect(rows.map(({ operation }) => operation)).toEqual([
    'gatewayDiscovery',
    'gatewayDocumentQuery',
    'gatewayDocumentQuery',
    'gatewayDocument',
  ]);
  expect(rows[0]?.actor).toBe(`community:${THEIR_HOME}`);
  expect(JSON.parse(rows[0]?.details ?? '')).toMatchObject({
    organization: 'Their clinic',
    purpose: '2.16.840.1.113883.3.18.7.1|TREATMENT',
  });
});

test('somebody in doubt is nobody, and what is missing is asked for whether or not there is such a patient', async () => {
  const person = newPerson();
  const id = await newPatient(person);
  await contributeLetter(id, `Letter about ${id}`);

  expect(await discovered(person)).toEqual(found(id));
  expect(await discovered(person, { birthTimes: ['19500101'] })).toEqual(
    NOBODY,
  );
  expect(await discovered(person, { genders: ['M'] })).toEqual(NOBODY);
  expect(await discovered(person, { genders: ['F', 'M'] })).toEqual(NOBODY);
  expect(await discovered(person, { names: [] })).toEqual(NOBODY);
  for (const each of [person, newPerson()]) {
    expect(await discovered(each, { addresses: [] })).toEqual({
      outcome: 'more-attributes-wanted',
      ids: [],
      wanted: ['address'],
    });
    expect(await discovered(each, { genders: [] })).toEqual({
      outcome: 'more-attributes-wanted',
      ids: [],
      wanted: ['gender'],
    });
  }
});

test('of two patients who fit, none is given out, and each by the SSN that tells them apart', async () => {
  const person = newPerson();
  const ids: string[] = [];
  for (const ssn of ['534567812', '645678923']) {
    const id = await newPatient(withSsn(person, ssn) as Person);
    await contributeLetter(id, `Letter with ${ssn}`);
    ids.push(id);
  }
  const withId = (extension: string) => ({
    ids: [{ root: SSN_ROOT, extension }],
  });
  expect(await discovered(person)).toEqual(NOBODY);
  expect(await discovered(person, withId('534567812'))).toEqual(
    found(ids[0] ?? ''),
  );
  expect(await discovered(person, withId('756789134'))).toEqual(NOBODY);
});

test('of whom nothing was contributed, a gateway learns nothing', async () => {
  const person = newPerson();
  const id = await newPatient(person);
  expect(await discovered(person)).toEqual(NOBODY);
  expect(await asker.find(id)).toMatchObject({
    outcome: 'failed',
    meaning: 'discover-again',
  });
});
