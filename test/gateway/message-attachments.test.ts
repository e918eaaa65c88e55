import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  type ClientRequest,
  type IncomingMessage,
  request as openRequest,
} from 'node:http';
import { Webhook } from 'standardwebhooks';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMessageActivities } from '../../src/activities/exchange/messages.ts';
import type { Message } from '../../src/contract/messages.ts';
import { ATTACHMENTS } from '../../src/exchange/messaging/messages/feature.ts';
import { createMessagePartner } from '../../src/exchange/messaging/messages/partner.ts';
import { createTransmission } from '../../src/exchange/messaging/messages/transmission.ts';
import { setDestination } from '../../src/exchange/messaging/webhooks/settings-store.ts';
import { generateWebhookKey } from '../../src/exchange/platform/outbox/webhook-key.ts';
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
import { createSourceHealth } from '../../src/exchange/sources/health/source-health.ts';
import { freePort } from '../../src/lib/free-port.ts';
import {
  loadSamplePatients,
  type SamplePatient,
} from '../../src/local-stack/sample-patients.ts';
import { loadCcda } from '../../tools/simulator/samples.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { runActivity } from '../support/network-query-environment.ts';
import {
  startTestSimulator,
  type TestSimulator,
} from '../support/simulator.ts';
import { takeUp } from '../support/take-up.ts';
import { sealedWebhookKey } from '../support/test-keys.ts';

const SECRET = generateWebhookKey();
const HERE = 'records@direct.clinic.example.org';

let simulator: TestSimulator;
let gateway: TestGateway;
let account: TestAccount;
let port: number;

beforeAll(async () => {
  port = await freePort();
  simulator = await startTestSimulator({
    partnerSecrets: { messages: SECRET },
    exchangeUrl: `http://127.0.0.1:${port}`,
  });
  gateway = await createTestGateway({
    messages: { launch: () => undefined, receiptArrived: () => undefined },
    messageSecret: SECRET,
    trustedProxies: ['loopback'],
  });
  await gateway.app.listen({ host: '127.0.0.1', port });
  account = await gateway.addAccount({
    settings: { messages: { directAddresses: [HERE] } },
  });
  await gateway.store.asAccount(account.accountId, (tx) =>
    setDestination(tx, {
      id: uuidv7(),
      url: 'https://receiver.example.org/',
      key: sealedWebhookKey(),
    }),
  );
  await simulator.admin.changePartners({ messages: { delivers: 'at-once' } });
});
afterAll(async () => {
  await gateway.close();
  await simulator.close();
});

const text = Buffer.from('A letter about somebody.');
const letter = {
  fileName: 'letter.txt',
  contentType: 'text/plain',
  content: text.toString('base64'),
};
const sample = loadSamplePatients()[0] as SamplePatient;
const ccda = loadCcda(sample);
const summary = {
  fileName: 'summary.xml',
  contentType: 'application/xml',
  content: ccda.toString('base64'),
};
const person = {
  firstNames: [sample.createBody.firstName],
  lastNames: [sample.createBody.lastName],
  dob: sample.createBody.dob,
  gender: sample.createBody.genderAtBirth,
  zip: sample.createBody.address[0]?.zip,
};

const addPatient = async (body: object): Promise<string> =>
  (
    await account.call('POST', `patient?facilityId=${account.facilityId}`, body)
  ).json().id;
const toldOf = (subject: string): Promise<Message[]> =>
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
/**
 * Has the partner bring a message; answers how that was answered, and the
 * message as it was told by webhook.
 */
async function bring(
  message: object,
  subject = uuidv7(),
): Promise<{ status: number; told: Message[] }> {
  const status = await simulator.admin.deliverMessage({
    messageId: subject,
    destination: HERE,
    subject,
    ...message,
  });
  return { status, told: await toldOf(subject) };
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
/**
 * Headers that a stranger can write: fresh and well-formed, but signed by
 * nobody.
 */
const forged = () => ({
  'webhook-id': 'm1',
  'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
  'webhook-signature': `v1,${'A'.repeat(43)}=`,
});
/** The head of a callback with a body of this size, which does not follow. */
function announce(
  sizeBytes: number,
  headers: Record<string, string> = forged(),
): ClientRequest {
  const request = openRequest({
    host: '127.0.0.1',
    port,
    path: '/messages/callback',
    method: 'POST',
    headers: {
      ...headers,
      'content-length': sizeBytes,
      'content-type': 'application/json',
    },
  });
  request.on('error', () => undefined);
  request.flushHeaders();
  return request;
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
const sha256 = (bytes: Buffer) =>
  createHash('sha256').update(bytes).digest('hex');

test('become documents of a known patient: listed, downloaded, converted, in the record, and sent on as they came', async () => {
  const patientId = await addPatient(sample.createBody);
  const { status, told } = await bring(
    { patient: person, attachments: [letter, summary] },
    'Discharge',
  );
  expect(status).toBe(200);
  const [received] = told;
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
  const partner = createMessagePartner({
    baseUrl: `${simulator.url}/messages`,
    secret: SECRET,
  });
  const transmission = createTransmission({
    ...gateway,
    partner,
    sourceHealth: createSourceHealth(gateway.store),
  });
  const step = { accountId: account.accountId, messageId: forwarded.json().id };
  const { transmitMessage } = createMessageActivities({ transmission });
  expect(await runActivity(transmitMessage, step)).toEqual({
    state: 'completed',
  });
  expect(
    (await simulator.admin.carriedMessage(step.messageId)).attachments,
  ).toEqual([
    { id: summaryId, sizeBytes: ccda.length, sha256: sha256(ccda) },
    { id: letterId, sizeBytes: text.length, sha256: sha256(text) },
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
  const [received] = (
    await bring({ patient: person, attachments: [summary] }, 'Fatal')
  ).told;
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
  const { status, told } = await bring({
    attachments: [letter],
    patient: { ...person, dob: '1911-01-01' },
  });
  const [id = ''] = told[0]?.attachments ?? [];
  expect([status, await rowsOf([id])]).toEqual([
    200,
    [{ id, patient_id: null }],
  ]);
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
  const attachments = [{ ...letter, fileName: 'le\u0000tt\ud800er.txt' }];
  const patientId = await addPatient(sample.createBody);
  const message = {
    attachments,
    patient: person,
    subject: 'Od\u0000d\ud800',
    body: 'Te\u0000xt\udc00 😀',
  };
  expect((await bring(message, 'Odd')).told).toMatchObject([
    { patientId, subject: 'Odd', body: 'Text 😀' },
  ]);
  const { documents } = (
    await account.call('GET', `document?patientId=${patientId}&output=dto`)
  ).json();
  expect(documents).toMatchObject([{ description: 'Odd: letter.txt' }]);
});

test('of a repeat are kept once, however many twins come at the same time', async () => {
  const before = await gateway.blobCount();
  const twins = Array.from({ length: 4 }, () =>
    bring({ attachments: [letter, letter] }, 'Twins'),
  );
  expect((await Promise.all(twins)).map(({ status }) => status)).toEqual([
    200, 200, 200, 200,
  ]);
  const { status, told } = await bring(
    { attachments: [letter, letter] },
    'Twins',
  );
  expect([status, told.length]).toEqual([200, 1]);
  expect(await gateway.blobCount()).toBe(before + 2);
});

test.each([
  [
    'that are no base64',
    [{ ...letter, content: 'no base64!' }],
    422,
    'attachments[0].content must be base64',
  ],
  [
    'that are empty',
    [letter, { ...letter, content: '' }],
    422,
    'attachments[1].content must be base64',
  ],
  [
    'without a name',
    [{ ...letter, fileName: ' ' }],
    422,
    'attachments[0].fileName must have 1 to 255',
  ],
  [
    'of a type that is none',
    [{ ...letter, contentType: 'text' }],
    422,
    'attachments[0].contentType must be',
  ],
  ['that are no objects', ['letter'], 422, 'attachments[0] must be an object'],
  [
    'too many',
    Array.from({ length: 51 }, () => letter),
    422,
    '51 attachments; at most 50',
  ],
  [
    'too large',
    [{ ...letter, content: 'A'.repeat(26_800_000) }],
    413,
    '20100000 bytes in total; at most',
  ],
])(
  '%s are refused with the reason, and nothing is kept',
  async (_, attachments, status, reason) => {
    const before = await gateway.blobCount();
    const payload = JSON.stringify({
      type: 'message',
      messageId: uuidv7(),
      destination: HERE,
      subject: 'Refused',
      attachments,
    });
    const now = new Date();
    const answer = await gateway.app.inject({
      method: 'POST',
      url: '/messages/callback',
      payload,
      headers: {
        'content-type': 'application/json',
        'webhook-id': 'msg_1',
        'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
        'webhook-signature': new Webhook(SECRET).sign('msg_1', now, payload),
      },
    });
    expect([answer.statusCode, answer.json().detail]).toEqual([
      status,
      expect.stringContaining(reason),
    ]);
    expect(answer.body).not.toContain('letter.txt');
    expect([await gateway.blobCount(), await toldOf('Refused')]).toEqual([
      before,
      [],
    ]);
  },
);

test('of several MB come in whole; a body beyond the bound is not read', async () => {
  const content = Buffer.alloc(6_000_000, 'x');
  const { status, told } = await bring({
    attachments: [{ ...letter, content: content.toString('base64') }],
  });
  expect(status).toBe(200);
  expect(
    (await download(told[0]?.attachments?.[0] ?? '')).rawPayload.length,
  ).toBe(content.length);
  const answer = once(announce(30_000_000), 'response') as Promise<
    [IncomingMessage]
  >;
  expect((await answer)[0].statusCode).toBe(413);
});

test('an unsigned callback is refused before its body is read, and takes no place', async () => {
  const unsigned: Record<string, string>[] = [
    {},
    { ...forged(), 'webhook-timestamp': '1700000000' },
    { ...forged(), 'webhook-signature': 'v1,short' },
  ];
  const announced = Array.from({ length: 12 }, (_, index) =>
    announce(2_000_000, unsigned[index % 3]),
  );
  const answers = await Promise.all(
    announced.map(
      (request) => once(request, 'response') as Promise<[IncomingMessage]>,
    ),
  );
  expect(new Set(answers.map(([{ statusCode }]) => statusCode))).toEqual(
    new Set([401]),
  );
  // Their bodies are still to come.
  const attachments = [
    { ...letter, content: Buffer.alloc(2_000_000, 'x').toString('base64') },
  ];
  expect((await bring({ attachments })).status).toBe(200);
  for (const request of announced) request.destroy();
});

/** A stranger's message of 2 MB, of which so much is sent. */
function send(address: string, sentBytes: number) {
  const request = announce(2_000_000, {
    ...forged(),
    'x-forwarded-for': address,
  });
  const answer = once(request, 'response').then(
    ([response]) => (response as IncomingMessage).statusCode,
    () => undefined,
  );
  const isSent = new Promise((resolve) =>
    request.write(Buffer.alloc(sentBytes, ' '), resolve),
  );
  return { request, answer, isSent };
}
/** The answer to a whole message of a stranger: 401 if it was read. */
async function readOf(address: string): Promise<number | undefined> {
  const { request, answer } = send(address, 2_000_000);
  const status = await answer;
  request.destroy();
  return status;
}

test('strangers that announce a large body and send little take no place', async () => {
  const idle = Array.from({ length: 8 }, (_, index) =>
    send(`198.51.100.${index}`, 1_000_000),
  );
  await Promise.all(idle.map(({ isSent }) => isSent));
  expect(await readOf('198.51.100.99')).toBe(401);
  for (const { request } of idle) request.destroy();
});

test('strangers that send slowly lose their places to others, and never have those of the partner', async () => {
  const attachments = [
    { ...letter, content: Buffer.alloc(2_000_000, 'x').toString('base64') },
  ];
  // The partner's address is known from its first genuine callback.
  expect((await bring({ attachments })).status).toBe(200);
  const slow = Array.from({ length: 3 }, (_, index) =>
    send(`198.51.100.${index}`, 1_500_000),
  );
  await Promise.all(slow.map(({ isSent }) => isSent));
  const drip = setInterval(
    () => slow.map(({ request }) => request.write(' ')),
    500,
  );
  let gaveWay: number | undefined;
  for (const { answer } of slow)
    void answer.then((status) => (gaveWay ??= status));
  const seen = async () => [await readOf('198.51.100.99'), gaveWay];
  await expect.poll(seen, { timeout: 240_000 }).toEqual([401, 503]);
  const messages = Array.from({ length: 3 }, () => bring({ attachments }));
  expect((await Promise.all(messages)).map(({ status }) => status)).toEqual([
    200, 200, 200,
  ]);
  clearInterval(drip);
  for (const { request } of slow) request.destroy();
});
