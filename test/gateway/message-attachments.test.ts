import { randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMessageActivities } from '../../src/activities/exchange/messages.ts';
import type { Message } from '../../src/contract/messages.ts';
import { createDirectTransports } from '../../src/exchange/messaging/messages/direct/direct-transports.ts';
import { ATTACHMENTS } from '../../src/exchange/messaging/messages/feature.ts';
import type { ArrivedMessage } from '../../src/exchange/messaging/messages/take-message.ts';
import { createTransmission } from '../../src/exchange/messaging/messages/transmission.ts';
import { setDestination } from '../../src/exchange/messaging/webhooks/settings-store.ts';
import {
  createStartGuard,
  ProcessEndedTooOften,
  STARTS_MAX,
} from '../../src/exchange/platform/recovery/start-guard.ts';
import { noteIncomplete } from '../../src/exchange/queries/network-query/timeline-store.ts';
import { createCcdaConverter } from '../../src/exchange/records/conversion/ccda-converter.ts';
import { documentsToRead } from '../../src/exchange/records/documents-to-read.ts';
import {
  createRecordKeeper,
  type RecordKeeper,
} from '../../src/exchange/records/record-keeper.ts';
import {
  loadSamplePatients,
  type SamplePatient,
} from '../../src/local-stack/sample-patients.ts';
import {
  type MailSystem,
  startMailSystem,
} from '../../tools/simulator/mail/mail-system.ts';
import { loadCcda } from '../../tools/simulator/samples.ts';
import { bringMessage } from '../support/bring-message.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import {
  directTrust,
  giveMailbox,
  MAIL_LOGIN,
} from '../support/mail-system.ts';
import { runActivity } from '../support/network-query-environment.ts';
import { takeUp } from '../support/take-up.ts';
import { sealedWebhookKey, testKeyRing } from '../support/test-keys.ts';

const HERE = 'records@direct.clinic.example.org';

let gateway: TestGateway;
let account: TestAccount;
let mails: MailSystem;

beforeAll(async () => {
  mails = await startMailSystem({ login: MAIL_LOGIN });
  gateway = await createTestGateway();
  account = await gateway.addAccount({
    settings: { messages: { directAddresses: [HERE] } },
  });
  const { store } = gateway;
  await giveMailbox(store, account.accountId, mails);
  await store.asAccount(account.accountId, (tx) =>
    setDestination(tx, {
      id: uuidv7(),
      url: 'https://receiver.example.org/',
      key: sealedWebhookKey(),
    }),
  );
});
afterAll(async () => {
  await gateway.close();
  await mails.close();
});

const text = Buffer.from('A letter about somebody.');
const letter = {
  title: 'letter.txt',
  contentType: 'text/plain',
  content: text,
};
const sample = loadSamplePatients()[0] as SamplePatient;
const ccda = loadCcda(sample);
const summary = {
  title: 'summary.xml',
  contentType: 'application/xml',
  content: ccda,
};
const { firstName, lastName, dob, genderAtBirth, address } = sample.createBody;
const person = {
  resourceType: 'Patient',
  name: [{ given: [firstName], family: lastName }],
  birthDate: dob,
  gender: genderAtBirth === 'F' ? 'female' : 'male',
  address: [{ postalCode: address[0]?.zip ?? '' }],
};

const addPatient = async (body: object): Promise<string> =>
  (
    await account.call('POST', `patient?facilityId=${account.facilityId}`, body)
  ).json().id;
const announcedAs = (subject: string): Promise<Message[]> =>
  gateway.store.asAccount(account.accountId, async (tx) => {
    const rows = await tx.db
      .selectFrom('event')
      .select('body')
      .where('type', '=', 'message.received')
      .execute();
    return rows
      .map(({ body }) => (body as unknown as { payload: Message }).payload)
      .filter((payload) => payload.subject === subject);
  });
/** Has a message come in; and returns it as it was announced. */
async function bring(
  message: Partial<ArrivedMessage>,
  subject = uuidv7(),
): Promise<Message[]> {
  await bringMessage(gateway, account.accountId, {
    senderId: subject,
    destination: HERE,
    subject,
    ...message,
  });
  return announcedAs(subject);
}
const rowsOf = (ids: readonly string[]) =>
  gateway.store.asAccount(account.accountId, (tx) =>
    tx.db
      .selectFrom('document')
      .select(['id', 'patient_id'])
      .where('id', 'in', [...ids])
      .execute(),
  );
async function download(fileName: string, more = '') {
  const link = await account.call(
    'GET',
    `document/download-url?fileName=${fileName}${more}`,
  );
  expect(link.statusCode, link.body).toBe(200);
  return gateway.app.inject({
    method: 'GET',
    url: new URL(link.json().url).pathname,
  });
}
/** The reading of a worker of its own. */
const readingWith = (records: Pick<RecordKeeper, 'merge'>) =>
  documentsToRead(
    {
      store: gateway.store,
      records,
      startGuard: createStartGuard(gateway.store, randomUUID()),
    },
    ATTACHMENTS,
  );

test('become documents of a known patient: listed, downloaded, converted, in the record, and sent on as they came', async () => {
  const patientId = await addPatient(sample.createBody);
  const [received] = await bring(
    { patients: [person], attachments: [letter, summary] },
    'Discharge',
  );
  const [letterId = '', summaryId = ''] = received?.attachments ?? [];
  expect(received).toMatchObject({
    patientId,
    attachments: [letterId, summaryId],
  });
  expect(
    (await account.call('GET', `message/${received?.id}`)).json().attachments,
  ).toEqual([letterId, summaryId]);

  const { documents } = (
    await account.call('GET', `document?patientId=${patientId}&output=dto`)
  ).json();
  expect(documents).toHaveLength(2);
  const note = documents.find(({ id }: { id: string }) => id === letterId);
  expect(note).toMatchObject({
    source: 'message',
    size: text.length,
    mimeType: 'text/plain',
    description: 'Discharge: letter.txt',
  });
  expect((await download(note.fileName)).rawPayload).toEqual(text);
  const html = await download(summaryId, '&conversionType=html');
  expect([html.statusCode, html.headers['content-type']]).toEqual([
    200,
    'text/html; charset=utf-8',
  ]);

  // What a worker does in a round of reconcile.
  const records = createRecordKeeper({
    ...gateway,
    converter: createCcdaConverter(),
    noteIncomplete,
  });
  const reading = readingWith(records);
  expect([await takeUp(reading, 500), await takeUp(reading, 500)]).toEqual([
    1, 0,
  ]);
  const bundle = (
    await account.call('GET', `patient/${patientId}/consolidated`)
  ).json();
  const resources: {
    resourceType: string;
    content?: { attachment: { url?: string } }[];
  }[] = bundle.entry.map(({ resource }: { resource: unknown }) => resource);
  const types = resources.map(({ resourceType }) => resourceType);
  // The files themselves; a note within a document is a DocumentReference too,
  // with its words and no file.
  const files = resources.filter(({ content }) =>
    content?.some(({ attachment }) => attachment.url),
  );
  expect(files.map(({ resourceType }) => resourceType)).toEqual([
    'DocumentReference',
    'DocumentReference',
  ]);
  expect(types).toEqual(
    expect.arrayContaining(['Condition', 'Observation', 'Provenance']),
  );

  const forwarded = await account.call(
    'POST',
    `message?patientId=${patientId}`,
    {
      destination: 'dr@direct.example.org',
      subject: 'Forwarded',
      attachments: [summaryId, letterId],
    },
  );
  const transmission = createTransmission({
    ...gateway,
    directTransports: createDirectTransports(
      gateway.store,
      testKeyRing(),
      directTrust(gateway),
    ),
  });
  const step = { accountId: account.accountId, messageId: forwarded.json().id };
  const { transmitMessage } = createMessageActivities({ transmission });
  expect(await runActivity(transmitMessage, step)).toEqual({
    state: 'waiting',
  });
  const sent = mails.taken[0]?.mail?.attachments.map(({ content }) => content);
  expect(sent).toHaveLength(2);
  expect([sent?.[0]?.equals(ccda), sent?.[1]?.equals(text)]).toEqual([
    true,
    true,
  ]);

  await account.call('DELETE', `patient/${patientId}`);
  await gateway.erasures.drain();
  expect(
    (await account.call('GET', `message/${received?.id}`)).statusCode,
  ).toBe(404);
  expect(await rowsOf([letterId, summaryId])).toEqual([]);
  expect(await gateway.blobCount()).toBe(0);
});

test('that end the worker each time are given up, and reported once', async () => {
  const patientId = await addPatient(sample.createBody);
  const [received] = await bring(
    { patients: [person], attachments: [summary] },
    'Fatal',
  );
  for (let start = 1; start <= STARTS_MAX; start += 1) {
    // A worker that dies while it reads: its work never ends, and the next
    // worker has a guard of its own.
    await new Promise<void>((begun) => {
      const merge = () => {
        begun();
        return new Promise<never>(() => undefined);
      };
      void takeUp(readingWith({ merge }), 500);
    });
  }
  const merge = async () => expect.unreachable('it was read again');
  const round = {
    limit: 500,
    signal: new AbortController().signal,
    recheckBefore: new Date(),
  };
  const given = await readingWith({ merge }).takeUp(round);
  expect(given.failures).toEqual([new ProcessEndedTooOften()]);
  expect(await takeUp(readingWith({ merge }), 500)).toBe(0);
  expect((await download(received?.attachments?.[0] ?? '')).rawPayload).toEqual(
    ccda,
  );
  await account.call('DELETE', `patient/${patientId}`);
});

test('of a message without a known patient stay with the message and become no patient’s documents', async () => {
  const [received] = await bring({
    attachments: [letter],
    patients: [{ ...person, birthDate: '1911-01-01' }],
  });
  const [id = ''] = received?.attachments ?? [];
  expect(await rowsOf([id])).toEqual([{ id, patient_id: null }]);
  expect((await download(id)).rawPayload).toEqual(text);
  const stranger = await gateway.addAccount();
  expect(
    (await stranger.call('GET', `document/download-url?fileName=${id}`))
      .statusCode,
  ).toBe(404);
  const sent = await account.call(
    'POST',
    `message?patientId=${await addPatient(newPerson())}`,
    {
      destination: 'dr@direct.example.org',
      subject: 'Not theirs',
      attachments: [id],
    },
  );
  expect(sent.json().errors).toMatchObject([{ path: 'attachments[0]' }]);
});

test('are taken whatever characters the sender writes', async () => {
  const attachments = [{ ...letter, title: 'letter.txt' }];
  const patientId = await addPatient(sample.createBody);
  const message = {
    attachments,
    patients: [person],
    subject: 'Od\u0000d\ud800',
    body: 'Te\u0000xt\udc00 😀',
  };
  expect(await bring(message, 'Odd')).toMatchObject([
    { patientId, subject: 'Odd', body: 'Text 😀' },
  ]);
  const { documents } = (
    await account.call('GET', `document?patientId=${patientId}&output=dto`)
  ).json();
  expect(documents).toMatchObject([{ description: 'Odd: letter.txt' }]);
});

test('of a repeat are kept once, however many twins come at the same time', async () => {
  const before = await gateway.blobCount();
  const twins = Array.from({ length: 5 }, () =>
    bring({ attachments: [letter, letter] }, 'Twins'),
  );
  await Promise.all(twins);
  expect(await announcedAs('Twins')).toHaveLength(1);
  expect(await gateway.blobCount()).toBe(before + 2);
});
