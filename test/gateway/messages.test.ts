import { v7 as uuidv7 } from 'uuid';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
  vi,
} from 'vitest';
import { createMessageActivities } from '../../src/activities/exchange/messages.ts';
import { webhookEventSchema } from '../../src/contract/events.ts';
import { MESSAGE_ATTACHMENT_BYTES_MAX } from '../../src/contract/messages.ts';
import { MESSAGE_END_REASONS } from '../../src/contract/messages-workflow.ts';
import { transmissionRows } from '../../src/exchange/messaging/messages/message-store.ts';
import {
  createMessagePartner,
  sendTimeoutMs,
} from '../../src/exchange/messaging/messages/partner.ts';
import { createTransmission } from '../../src/exchange/messaging/messages/transmission.ts';
import { setDestination } from '../../src/exchange/messaging/webhooks/settings-store.ts';
import { generateWebhookKey } from '../../src/exchange/platform/outbox/webhook-key.ts';
import { reportSources } from '../../src/exchange/sources/health/report.ts';
import { createSourceHealth } from '../../src/exchange/sources/health/source-health.ts';
import { freePort } from '../../src/lib/free-port.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
  withSsn,
} from '../support/gateway.ts';
import { runActivity } from '../support/network-query-environment.ts';
import {
  startTestSimulator,
  type TestSimulator,
} from '../support/simulator.ts';
import { sealedWebhookKey } from '../support/test-keys.ts';

const SECRET = generateWebhookKey();
const OID = '2.16.840.1.113883.3.9621.7.42';
const NPI = '1234567893';
const DIRECT_HERE = 'records@direct.clinic.example.org';

let simulator: TestSimulator;
let gateway: TestGateway;
let account: TestAccount;
let activities: ReturnType<typeof createMessageActivities>;
const launched: string[] = [];
const receipts: string[] = [];

beforeAll(async () => {
  const port = await freePort();
  simulator = await startTestSimulator({
    partnerSecrets: { messages: SECRET },
    exchangeUrl: `http://127.0.0.1:${port}`,
  });
  gateway = await createTestGateway({
    messages: {
      launch: (_accountId, id) => void launched.push(id),
      receiptArrived: (id) => void receipts.push(id),
    },
    messageSecret: SECRET,
  });
  await gateway.app.listen({ host: '127.0.0.1', port });
  account = await addAccount({ messages: { directAddresses: [DIRECT_HERE] } });
  const partner = createMessagePartner({
    baseUrl: `${simulator.url}/messages`,
    secret: SECRET,
  });
  activities = createMessageActivities({
    transmission: createTransmission({
      ...gateway,
      partner,
      sourceHealth: createSourceHealth(gateway.store),
    }),
  });
});
afterAll(async () => {
  await gateway.close();
  await simulator.close();
});
beforeEach(() =>
  simulator.admin.changePartners({
    messages: {
      delivers: 'at-once',
      outcome: 'delivered',
      downTimes: 0,
      delayMs: 0,
    },
  }),
);

async function addAccount(settings: object = {}): Promise<TestAccount> {
  const added = await gateway.addAccount({ settings });
  await gateway.store.asAccount(added.accountId, (tx) =>
    setDestination(tx, {
      id: uuidv7(),
      url: 'https://receiver.example.org/',
      key: sealedWebhookKey(),
    }),
  );
  return added;
}

async function addPatient(of = account, person = newPerson()): Promise<string> {
  return (
    await of.call('POST', `patient?facilityId=${of.facilityId}`, person)
  ).json().id;
}

/** A document of the patient that some query brought. */
async function addDocument(
  patientId: string,
  sizeBytes?: number,
  of = account,
): Promise<string> {
  const { requestId } = (
    await of.call('POST', `network/query?patientId=${patientId}`, {
      sources: ['hie'],
    })
  ).json();
  const blob = await gateway.blobs.put(
    'document',
    Buffer.from('what is attached'),
    'text/plain',
  );
  const id = uuidv7();
  await gateway.store.asAccount(of.accountId, (tx) =>
    tx.db
      .insertInto('document')
      .values({
        id,
        account_id: of.accountId,
        patient_id: patientId,
        query_id: requestId,
        source: 'hie',
        kind: 'attachment',
        source_document_id: null,
        file_name: `${id}.txt`,
        content_type: blob.contentType,
        size_bytes: sizeBytes ?? blob.sizeBytes,
        sha256: Buffer.from(blob.sha256, 'hex'),
        blob_ref: blob.ref,
      })
      .execute(),
  );
  return id;
}

const note = {
  destination: OID,
  subject: 'Referral',
  body: 'Please see the attached.',
};
const send = (patientId: string, body: object, of = account) =>
  of.call('POST', `message?patientId=${patientId}`, body);
const read = async (id: string, of = account) =>
  (await of.call('GET', `message/${id}`)).json();
const stepOf = (messageId: string, of = account) => ({
  accountId: of.accountId,
  messageId,
});

const eventsOf = (type: string, of = account) =>
  gateway.store.asAccount(of.accountId, async (tx) => {
    const rows = await tx.db
      .selectFrom('event')
      .select('body')
      .where('type', '=', type)
      .execute();
    return rows.map(
      ({ body }) =>
        webhookEventSchema.parse(body) as { payload: Record<string, unknown> },
    );
  });

describe('sending', () => {
  test('an OID is reached by XDR over a network, a Direct address by Direct', async () => {
    const patientId = await addPatient();
    const attachments = [await addDocument(patientId)];
    const byXdr = await send(patientId, {
      ...note,
      attachments,
      intendedRecipientNpi: [NPI],
    });
    expect(byXdr.statusCode, byXdr.body).toBe(200);
    expect(byXdr.json()).toMatchObject({
      ...note,
      patientId,
      attachments,
      direction: 'outbound',
      status: 'processing',
      transportMethod: 'xdr',
      network: 'CAREQUALITY',
      intendedRecipientNpi: [NPI],
    });
    const named = await send(patientId, {
      ...note,
      destination: `urn:oid:${OID}`,
      network: 'EHEX',
    });
    expect(named.json()).toMatchObject({ destination: OID, network: 'EHEX' });
    const byDirect = await send(patientId, {
      ...note,
      destination: 'dr@direct.example.org',
    });
    expect(byDirect.json()).toMatchObject({ transportMethod: 'direct' });
    expect(byDirect.json()).not.toHaveProperty('network');
    expect(launched).toContain(byXdr.json().id);
    expect(await read(byXdr.json().id)).toEqual(byXdr.json());
  });

  test.each([
    ['destination', { destination: 'the clinic' }],
    ['destination', { destination: '1.02.3' }],
    ['network', { destination: 'dr@direct.example.org', network: 'EHEX' }],
    ['subject', { subject: ' ' }],
    ['body', { body: ' ' }],
    ['intendedRecipientNpi[0]', { intendedRecipientNpi: ['1234567890'] }],
    ['attachments[0]', { attachments: [uuidv7()] }],
  ])('a wrong %s is refused, and nothing is sent', async (path, changes) => {
    const before = launched.length;
    const answer = await send(await addPatient(), { ...note, ...changes });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().errors).toMatchObject([{ path }]);
    expect(launched).toHaveLength(before);
  });

  test('attachments are documents of this very patient, 20 MB together at most', async () => {
    const patientId = await addPatient();
    const other = await addPatient();
    const own = await addDocument(patientId);
    const theirs = await addDocument(other);
    const mixed = await send(patientId, {
      ...note,
      attachments: [own, theirs],
    });
    expect(mixed.json().errors).toMatchObject([{ path: 'attachments[1]' }]);
    const large = [
      await addDocument(patientId, 15_000_000),
      await addDocument(patientId, 15_000_000),
    ];
    expect(
      (await send(patientId, { ...note, attachments: large })).statusCode,
    ).toBe(400);
  });

  test('every answer and the webhook carry the caller’s own id of the patient, if it has one', async () => {
    const named = await addPatient(
      account,
      newPerson({ externalId: 'chart-31' }),
    );
    const unnamed = await addPatient();
    const sent = (await send(named, note)).json();
    const other = (await send(unnamed, note)).json();
    const listed = async (of: string) =>
      (await account.call('GET', `message?patientId=${of}`)).json().messages;
    for (const message of [sent, await read(sent.id), ...(await listed(named))])
      expect(message).toMatchObject({
        id: sent.id,
        patientId: named,
        externalId: 'chart-31',
      });
    for (const message of [
      other,
      await read(other.id),
      ...(await listed(unnamed)),
    ])
      expect(message).not.toHaveProperty('externalId');
    for (const { id } of [sent, other])
      await runActivity(activities.transmitMessage, stepOf(id));
    const payloads = (await eventsOf('message.status')).map(
      ({ payload }) => payload,
    );
    expect(payloads.find(({ id }) => id === sent.id)).toMatchObject({
      externalId: 'chart-31',
    });
    expect(payloads.find(({ id }) => id === other.id)).not.toHaveProperty(
      'externalId',
    );
  });

  test('another account’s patient and message are unknown', async () => {
    const stranger = await gateway.addAccount();
    const patientId = await addPatient();
    expect((await send(patientId, note, stranger)).statusCode).toBe(404);
    const { id } = (await send(patientId, note)).json();
    expect((await stranger.call('GET', `message/${id}`)).statusCode).toBe(404);
    expect((await stranger.call('GET', 'message')).json().messages).toEqual([]);
  });

  test('an account sends as many messages in a minute as its limit says', async () => {
    const limited = await gateway.addAccount({
      settings: { limits: { messagesPerMinute: 2 } },
    });
    const patientId = await addPatient(limited);
    const statuses = [];
    for (let sent = 0; sent < 5; sent++)
      statuses.push((await send(patientId, note, limited)).statusCode);
    // A minute may begin meanwhile.
    expect(
      statuses.filter((status) => status === 200).length,
    ).toBeLessThanOrEqual(4);
    expect(statuses).toContain(429);
  });
});

describe('transmission', () => {
  const sent = async (changes: object = {}) =>
    (await send(await addPatient(), { ...note, ...changes })).json();

  test('a message that is delivered at once is completed and announced, with its attachments', async () => {
    const patientId = await addPatient();
    const attachments = [await addDocument(patientId)];
    const { id } = (await send(patientId, { ...note, attachments })).json();
    expect(await runActivity(activities.transmitMessage, stepOf(id))).toEqual({
      state: 'completed',
    });
    expect(await read(id)).toMatchObject({ status: 'completed' });
    const told = (await eventsOf('message.status')).filter(
      ({ payload }) => payload.id === id,
    );
    expect(told).toMatchObject([
      { payload: { id, status: 'completed', patientId } },
    ]);
    // Twins of the step find it ended.
    expect(await runActivity(activities.transmitMessage, stepOf(id))).toEqual({
      state: 'completed',
    });
  });

  test('a message that is taken waits, and its receipt is passed on as a hint', async () => {
    await simulator.admin.changePartners({ messages: { delivers: 'later' } });
    const { id } = await sent();
    expect(await runActivity(activities.transmitMessage, stepOf(id))).toEqual({
      state: 'waiting',
    });
    await expect.poll(() => receipts, { timeout: 240_000 }).toContain(id);
    expect(await runActivity(activities.checkTransmission, stepOf(id))).toEqual(
      { state: 'completed' },
    );
  });

  test('what fails for good says why, in words of ours', async () => {
    await simulator.admin.changePartners({ messages: { outcome: 'failed' } });
    const { id } = await sent();
    const reason = MESSAGE_END_REASONS.undelivered;
    expect(await runActivity(activities.transmitMessage, stepOf(id))).toEqual({
      state: 'failed',
      reason,
    });
    expect(await read(id)).toMatchObject({ status: 'failed', reason });
    await simulator.admin.changePartners({ messages: { outcome: 'refused' } });
    const refused = await sent();
    expect(
      await runActivity(activities.transmitMessage, stepOf(refused.id)),
    ).toMatchObject({
      reason: MESSAGE_END_REASONS.refused,
    });
  });

  test('a partner that is away leaves the message under way, and is tried again', async () => {
    await simulator.admin.changePartners({ messages: { downTimes: 1 } });
    const { id } = await sent();
    await expect(
      runActivity(activities.transmitMessage, stepOf(id)),
    ).rejects.toMatchObject({
      message: 'The transport partner responded 503 to POST messages',
    });
    expect(await read(id)).toMatchObject({ status: 'processing' });
    expect(await runActivity(activities.transmitMessage, stepOf(id))).toEqual({
      state: 'completed',
    });
  });

  test('a partner that fails five messages is not asked to carry the next ones, until it answers again', async () => {
    await simulator.admin.changePartners({ messages: { downTimes: 5 } });
    const ids: string[] = [];
    for (let each = 0; each < 6; each++) ids.push((await sent()).id);
    const [sixth = ''] = ids.splice(5);
    for (const id of ids)
      await expect(
        runActivity(activities.transmitMessage, stepOf(id)),
      ).rejects.toThrow('responded 503');
    await expect(
      runActivity(activities.transmitMessage, stepOf(sixth)),
    ).rejects.toMatchObject({
      message:
        'The transport partner is not called now: The transport partner responded 503 to POST messages',
      type: 'Partner',
      nextRetryDelay: expect.any(Number),
    });
    await gateway.store.asSystem((tx) =>
      tx.db
        .updateTable('source_connection')
        .set({ next_probe_at: new Date() })
        .execute(),
    );
    await vi.waitFor(
      async () =>
        expect(
          await runActivity(activities.transmitMessage, stepOf(sixth)),
        ).toEqual({ state: 'completed' }),
      { timeout: 240_000, interval: 200 },
    );
    expect(await gateway.store.asSystem(reportSources)).toContainEqual(
      expect.objectContaining({ source: 'transport-partner', state: 'ok' }),
    );
  });

  test('the time for a message grows with what is attached', () => {
    expect(sendTimeoutMs(0)).toBeLessThanOrEqual(20_000);
    expect(sendTimeoutMs(MESSAGE_ATTACHMENT_BYTES_MAX)).toBeGreaterThan(
      3 * 60_000,
    );
    expect(sendTimeoutMs(MESSAGE_ATTACHMENT_BYTES_MAX)).toBeLessThan(
      5 * 60_000,
    );
  });

  test('given up it is failed, unless it has ended', async () => {
    const { id } = await sent();
    const given = { ...stepOf(id), reason: MESSAGE_END_REASONS.noReceipt };
    expect(await runActivity(activities.failTransmission, given)).toMatchObject(
      { state: 'failed' },
    );
    expect(
      await runActivity(activities.transmitMessage, stepOf(id)),
    ).toMatchObject({ state: 'failed' });
    expect(
      await runActivity(activities.failTransmission, stepOfGone()),
    ).toEqual({ state: 'gone' });
  });
  const stepOfGone = () => ({ ...stepOf(uuidv7()), reason: 'none' });

  test('a message whose workflow was not started is left for reconcile', async () => {
    const { id } = await sent();
    const open = await gateway.store.asSystem((tx) =>
      transmissionRows.toEnsure(tx, {
        recheckBefore: new Date(Date.now() - 15 * 60_000),
        olderThanMs: 0,
        limit: 500,
      }),
    );
    expect(open).toContainEqual(
      expect.objectContaining({ ...stepOf(id), isStarted: false }),
    );
  });
});

describe('inbound messages', () => {
  let numbers = 0;
  const inbound = (changes: object = {}) => ({
    messageId: `m-${++numbers}`,
    destination: DIRECT_HERE,
    subject: 'Result',
    body: 'It is fine.',
    ...changes,
  });

  test('go to the account with the Direct address or the facility’s OID, are announced, and belong to a known patient', async () => {
    const person = newPerson({ externalId: 'chart-32' });
    const patientId = await addPatient(account, person);
    const patient = {
      firstNames: [person.firstName],
      lastNames: [person.lastName.toUpperCase()],
      dob: person.dob,
      gender: 'F',
      zip: '02108',
    };
    expect(await simulator.admin.deliverMessage(inbound({ patient }))).toBe(
      200,
    );
    const told = (await eventsOf('message.received')).find(
      ({ payload }) => payload.patientId === patientId,
    );
    expect(told).toMatchObject({
      payload: {
        direction: 'inbound',
        status: 'completed',
        transportMethod: 'direct',
        subject: 'Result',
        externalId: 'chart-32',
      },
    });
    const strangers = { ...patient, dob: '1911-01-01' };
    const subject = 'Of somebody unknown';
    expect(
      await simulator.admin.deliverMessage(
        inbound({ patient: strangers, subject }),
      ),
    ).toBe(200);
    const unmatched = (await eventsOf('message.received')).find(
      ({ payload }) => payload.subject === subject,
    );
    expect(unmatched?.payload).not.toHaveProperty('patientId');
    expect(unmatched?.payload).not.toHaveProperty('externalId');
  });

  test('belong to nobody if two patients are described alike, also if another SSN keeps them apart', async () => {
    const person = newPerson();
    for (const value of ['512345671', '623456782'])
      await addPatient(account, withSsn(person, value));
    const { dob, firstName, lastName } = person;
    const patient = {
      firstNames: [firstName],
      lastNames: [lastName],
      dob,
      gender: 'F',
      zip: '02108',
    };
    expect(
      await simulator.admin.deliverMessage(
        inbound({ patient, subject: 'Of one of two' }),
      ),
    ).toBe(200);
    const told = (await eventsOf('message.received')).find(
      ({ payload }) => payload.subject === 'Of one of two',
    );
    expect(told?.payload).not.toHaveProperty('patientId');
  });

  test('by XDR an OID must be one account’s alone', async () => {
    // Every test account's facility has this one.
    const shared = {
      destination: 'urn:oid:2.16.840.1.113883.3.9621.5.1',
      network: 'COMMONWELL',
    };
    await gateway.addAccount();
    expect(await simulator.admin.deliverMessage(inbound(shared))).toBe(409);
    const alone = await addAccount();
    const oid = '2.16.840.1.113883.3.9621.5.77';
    await gateway.store.asAccount(alone.accountId, (tx) =>
      tx.db
        .updateTable('facility')
        .set({ oid })
        .where('id', '=', alone.facilityId)
        .execute(),
    );
    const message = inbound({
      destination: oid,
      network: 'COMMONWELL',
      intendedRecipientNpi: [NPI],
    });
    expect(await simulator.admin.deliverMessage(message)).toBe(200);
    expect(await eventsOf('message.received', alone)).toMatchObject([
      {
        payload: {
          transportMethod: 'xdr',
          network: 'COMMONWELL',
          intendedRecipientNpi: [NPI],
        },
      },
    ]);
  });

  test('are announced once, however often the partner sends them', async () => {
    const message = inbound({ subject: 'Only once' });
    for (let times = 0; times < 3; times++)
      expect(await simulator.admin.deliverMessage(message)).toBe(200);
    const told = (await eventsOf('message.received')).filter(
      ({ payload }) => payload.subject === 'Only once',
    );
    expect(told).toHaveLength(1);
  });

  test('that cannot be taken are refused, so that the partner knows', async () => {
    const cases = [
      [{ destination: 'nobody@direct.example.org' }, 404],
      [{ network: 'EHEX' }, 400],
      [{ subject: '' }, 400],
    ] as const;
    for (const [changes, status] of cases)
      expect(await simulator.admin.deliverMessage(inbound(changes))).toBe(
        status,
      );
    const unsigned = await gateway.app.inject({
      method: 'POST',
      url: '/messages/callback',
      payload: inbound(),
    });
    expect(unsigned.statusCode).toBe(401);
  });
});

describe('list of messages (E12)', () => {
  test('every filter, alone and together, and pages both ways', async () => {
    const own = await addAccount({
      messages: { directAddresses: ['list@direct.example.org'] },
    });
    const one = await addPatient(own);
    const two = await addPatient(own);
    const ids: string[] = [];
    for (const patientId of [one, one, two])
      ids.push((await send(patientId, note, own)).json().id);
    ids.push(
      (
        await send(two, { ...note, destination: 'dr@direct.example.org' }, own)
      ).json().id,
    );
    await runActivity(activities.transmitMessage, stepOf(ids[0] ?? '', own));
    await simulator.admin.deliverMessage({
      messageId: 'list-1',
      destination: 'list@direct.example.org',
      subject: 'In',
    });

    const list = async (query: string) =>
      (await own.call('GET', `message${query}`)).json();
    const found = async (query: string) =>
      (await list(query)).meta.itemsInTotal;
    expect(await found('')).toBe(5);
    expect(await found('?direction=outbound')).toBe(4);
    expect(await found('?direction=inbound')).toBe(1);
    expect(await found(`?patientId=${one}`)).toBe(2);
    expect(await found(`?destination=${OID}`)).toBe(3);
    expect(await found(`?destination=${OID.slice(0, -1)}`)).toBe(0);
    expect(await found('?status=completed')).toBe(2);
    expect(
      await found(
        `?status=processing&direction=outbound&patientId=${two}&destination=${OID}`,
      ),
    ).toBe(1);

    const first = await list('?direction=outbound&count=3');
    expect(first.meta).toMatchObject({ itemsOnPage: 3, itemsInTotal: 4 });
    expect(first.meta).not.toHaveProperty('prevPage');
    const next = new URL(first.meta.nextPage);
    expect(next.searchParams.get('direction')).toBe('outbound');
    const second = await list(next.search);
    const seen = [...first.messages, ...second.messages].map(
      ({ id }: { id: string }) => id,
    );
    expect(seen).toEqual([...ids].reverse());
    const back = await list(new URL(second.meta.prevPage).search);
    expect(back.messages).toEqual(first.messages);
    expect(
      (await own.call('GET', 'message?direction=sideways')).statusCode,
    ).toBe(400);
    expect((await own.call('GET', 'message?count=501')).statusCode).toBe(400);
  });
});

test('without a partner nothing can be sent, and lists still answer', async () => {
  const alone = await createTestGateway({ messageSecret: undefined });
  const own = await alone.addAccount();
  const { id } = (
    await own.call('POST', `patient?facilityId=${own.facilityId}`, newPerson())
  ).json();
  expect((await send(id, note, own)).statusCode).toBe(503);
  expect((await own.call('GET', 'message')).statusCode).toBe(200);
  await alone.close();
});
