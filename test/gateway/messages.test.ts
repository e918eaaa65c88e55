import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMessageActivities } from '../../src/activities/exchange/messages.ts';
import { webhookEventSchema } from '../../src/contract/events.ts';
import { MESSAGE_END_REASONS } from '../../src/contract/messages-workflow.ts';
import { transmissionRows } from '../../src/exchange/messaging/messages/message-store.ts';
import {
  type ArrivedMessage,
  recipientAt,
} from '../../src/exchange/messaging/messages/take-message.ts';
import { createTransmission } from '../../src/exchange/messaging/messages/transmission.ts';
import { setDestination } from '../../src/exchange/messaging/webhooks/settings-store.ts';
import { bringMessage } from '../support/bring-message.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
  withSsn,
} from '../support/gateway.ts';
import { giveMailbox } from '../support/mail-system.ts';
import { runActivity } from '../support/network-query-environment.ts';
import { connectForSubmissions } from '../support/submission-connection.ts';
import { sealedWebhookKey } from '../support/test-keys.ts';

const OID = '2.16.840.1.113883.3.9621.7.42';
const NPI = '1234567893';
const DIRECT_HERE = 'records@direct.clinic.example.org';

let gateway: TestGateway;
let account: TestAccount;
let activities: ReturnType<typeof createMessageActivities>;
const launched: string[] = [];

beforeAll(async () => {
  gateway = await createTestGateway({
    messages: { launch: (_accountId, id) => void launched.push(id) },
  });
  account = await addAccount({ messages: { directAddresses: [DIRECT_HERE] } });
  activities = createMessageActivities({
    transmission: createTransmission(gateway),
  });
});
afterAll(() => gateway.close());

/** An account with a way out for messages of both kinds. */
async function addAccount(settings: object = {}): Promise<TestAccount> {
  const added = await gateway.addAccount({ settings });
  await gateway.store.asAccount(added.accountId, (tx) =>
    setDestination(tx, {
      id: uuidv7(),
      url: 'https://receiver.example.org/',
      key: sealedWebhookKey(),
    }),
  );
  await giveWaysOut(added.accountId);
  return added;
}

async function giveWaysOut(accountId: string): Promise<void> {
  const { store } = gateway;
  await connectForSubmissions(store, accountId, {
    submissionUrl: 'https://gateway.example/xdr',
  });
  await giveMailbox(store, accountId, { smtpPort: 1, imapPort: 1 });
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
      await runActivity(activities.failTransmission, {
        ...stepOf(id),
        reason: MESSAGE_END_REASONS.byOperator,
      });
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
    const limited = await addAccount({ limits: { messagesPerMinute: 2 } });
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

  test('a message whose way out was taken away meanwhile waits for another', async () => {
    const { id } = await sent();
    await gateway.store.asSystem((tx) =>
      tx.db
        .updateTable('network_connection')
        .set({ enabled: false })
        .where('account_id', '=', account.accountId)
        .execute(),
    );
    await expect(
      runActivity(activities.transmitMessage, stepOf(id)),
    ).rejects.toThrow('has no connection any more');
    await gateway.store.asSystem((tx) =>
      tx.db
        .updateTable('network_connection')
        .set({ enabled: true })
        .where('account_id', '=', account.accountId)
        .execute(),
    );
    expect(await read(id)).toMatchObject({ status: 'processing' });
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
  const bring = (changes: Partial<ArrivedMessage> = {}, of = account) =>
    bringMessage(gateway, of.accountId, {
      destination: DIRECT_HERE,
      ...changes,
    });
  const described = (person: ReturnType<typeof newPerson>) => ({
    resourceType: 'Patient',
    name: [{ given: [person.firstName], family: person.lastName }],
    birthDate: person.dob,
    gender: 'female',
    address: [{ postalCode: '02108' }],
  });
  const announced = async (subject: string, of = account) =>
    (await eventsOf('message.received', of)).filter(
      ({ payload }) => payload.subject === subject,
    );

  test('are announced, and belong to a known patient', async () => {
    const person = newPerson({ externalId: 'chart-32' });
    const patientId = await addPatient(account, person);
    const patient = described({
      ...person,
      lastName: person.lastName.toUpperCase(),
    });
    const subject = 'Of somebody known';
    expect(await bring({ patients: [patient], subject })).toMatchObject({
      patientId,
      isNew: true,
    });
    expect(await announced(subject)).toMatchObject([
      {
        payload: {
          direction: 'inbound',
          status: 'completed',
          transportMethod: 'direct',
          externalId: 'chart-32',
        },
      },
    ]);
    const stranger = { ...patient, birthDate: '1911-01-01' };
    await bring({ patients: [stranger], subject: 'Of somebody unknown' });
    const [unmatched] = await announced('Of somebody unknown');
    expect(unmatched?.payload).not.toHaveProperty('patientId');
    expect(unmatched?.payload).not.toHaveProperty('externalId');
  });

  test('belong to nobody if two patients are described alike, also if another SSN keeps them apart', async () => {
    const person = newPerson();
    for (const value of ['512345671', '623456782'])
      await addPatient(account, withSsn(person, value));
    expect(await bring({ patients: [described(person)] })).toMatchObject({
      patientId: null,
    });
  });

  test('go to the account with the Direct address or the facility’s OID, which must be one account’s alone', async () => {
    const { store } = gateway;
    expect(await recipientAt(store, DIRECT_HERE.toUpperCase())).toEqual({
      accountId: account.accountId,
    });
    expect(await recipientAt(store, 'nobody@direct.example.org')).toBe(
      'nobody',
    );
    // Every test account's facility has this one.
    await gateway.addAccount();
    expect(await recipientAt(store, '2.16.840.1.113883.3.9621.5.1')).toBe(
      'several',
    );
    const alone = await addAccount();
    const oid = '2.16.840.1.113883.3.9621.5.77';
    await store.asAccount(alone.accountId, (tx) =>
      tx.db
        .updateTable('facility')
        .set({ oid })
        .where('id', '=', alone.facilityId)
        .execute(),
    );
    expect(await recipientAt(store, oid)).toEqual({
      accountId: alone.accountId,
    });
  });

  test('are announced once, however often they come, also side by side', async () => {
    const message = { subject: 'Only once', senderId: uuidv7() };
    const taken = await Promise.all([bring(message), bring(message)]);
    taken.push(await bring(message));

    expect(taken.filter(({ isNew }) => isNew)).toHaveLength(1);
    expect(new Set(taken.map(({ id }) => id)).size).toBe(1);
    expect(await announced('Only once')).toHaveLength(1);
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
    await runActivity(activities.failTransmission, {
      ...stepOf(ids[0] ?? '', own),
      reason: MESSAGE_END_REASONS.byOperator,
    });
    await bringMessage(gateway, own.accountId, {
      destination: 'list@direct.example.org',
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
    expect(await found('?status=completed')).toBe(1);
    expect(await found('?status=failed')).toBe(1);
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

test('without a way out nothing can be sent, and lists still answer', async () => {
  const own = await gateway.addAccount();
  const id = await addPatient(own);
  for (const destination of [OID, 'dr@direct.example.org'])
    expect((await send(id, { ...note, destination }, own)).statusCode).toBe(
      503,
    );
  expect((await own.call('GET', 'message')).statusCode).toBe(200);
});
