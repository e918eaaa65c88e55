import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
} from 'vitest';
import { type MailToWrite, writeDisposition, writeMail } from '#direct';
import { createDirectTransports } from '../../src/exchange/messaging/messages/direct/direct-transports.ts';
import { findMailbox } from '../../src/exchange/messaging/messages/direct/mailbox-store.ts';
import { createMailboxReader } from '../../src/exchange/messaging/messages/direct/read-account-mailbox.ts';
import {
  createTransmission,
  type Transmission,
} from '../../src/exchange/messaging/messages/transmission.ts';
import {
  type MailSystem,
  startMailSystem,
} from '../../tools/simulator/mail/mail-system.ts';
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
import { TEST_ID_HMAC_KEY, testKeyRing } from '../support/test-keys.ts';

const CLINIC = 'direct.clinic.example';

let mails: MailSystem;
let gateway: TestGateway;
let account: TestAccount;
let transmission: Transmission;

beforeAll(async () => {
  mails = await startMailSystem({ login: MAIL_LOGIN });
  gateway = await createTestGateway();
  account = await gateway.addAccount({
    settings: { messages: { directAddresses: [RECEIVES] } },
  });
  transmission = createTransmission({
    ...gateway,
    directTransports: createDirectTransports(
      gateway.store,
      testKeyRing(),
      directTrust(gateway),
    ),
  });
});
afterAll(async () => {
  await gateway.close();
  await mails.close();
});
beforeEach(async () => {
  mails.taken.length = 0;
  mails.inbox.empty();
  await giveMailbox(gateway.store, account.accountId, mails);
});

async function addPatient(): Promise<string> {
  const created = await account.call(
    'POST',
    `patient?facilityId=${account.facilityId}`,
    {
      ...newPerson(),
      firstName: 'Zoë',
      lastName: 'O=Brien; gender=M',
      dob: '1985-12-10',
      genderAtBirth: 'F',
    },
  );
  return created.json().id;
}

async function addDocument(
  patientId: string,
  content: Buffer,
): Promise<string> {
  const query = await account.call(
    'POST',
    `network/query?patientId=${patientId}`,
    { sources: ['hie'] },
  );
  const blob = await gateway.blobs.put('document', content, 'application/xml');
  const id = uuidv7();
  await gateway.store.asAccount(account.accountId, (tx) =>
    tx.db
      .insertInto('document')
      .values({
        id,
        account_id: account.accountId,
        patient_id: patientId,
        query_id: query.json().requestId,
        source: 'hie',
        kind: 'attachment',
        source_document_id: null,
        file_name: `${id}.xml`,
        content_type: blob.contentType,
        size_bytes: blob.sizeBytes,
        sha256: Buffer.from(blob.sha256, 'hex'),
        blob_ref: blob.ref,
      })
      .execute(),
  );
  return id;
}

const to = (name: string) => ({
  destination: `${name}@${CLINIC}`,
  subject: 'Referral',
  body: 'Please see.',
});

async function send(body: object, patientId?: string): Promise<string> {
  const answer = await account.call(
    'POST',
    `message?patientId=${patientId ?? (await addPatient())}`,
    body,
  );
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json().id;
}

const transmit = (messageId: string) =>
  transmission.transmit({ accountId: account.accountId, messageId });

const read = async (id: string) =>
  (await account.call('GET', `message/${id}`)).json();

describe('a message to a Direct address', () => {
  test('is handed over whole, with its attachments and whom it is about, and waits for its notification', async () => {
    const patientId = await addPatient();
    // Lines of every length, a lone dot, and bytes that are no text.
    const content = Buffer.from('.\r\n\n\0\xff<ClinicalDocument/>'.repeat(999));
    const document = await addDocument(patientId, content);
    const id = await send(
      { ...to('silent'), attachments: [document] },
      patientId,
    );

    await expect(transmit(id)).resolves.toEqual({ state: 'waiting' });

    const [{ mail, from } = nothing()] = mails.taken;
    expect(from).toBe('records@direct.ours.example');
    expect(mail).toMatchObject({
      messageId: `${id}@direct.ours.example`,
      from: 'records@direct.ours.example',
      to: [`silent@${CLINIC}`],
      subject: 'Referral',
      context: {
        purpose: 'treatment',
        patient: {
          givenName: 'Zoë',
          surname: 'O Brien  gender M',
          dateOfBirth: '1985-12-10',
          gender: 'F',
        },
      },
    });
    expect(mail?.text?.trim()).toBe('Please see.');
    expect(mail?.attachments).toMatchObject([
      { fileName: `${document}.xml`, contentType: 'application/xml' },
    ]);
    expect(mail?.attachments[0]?.content.equals(content)).toBe(true);
    expect(await read(id)).toMatchObject({ status: 'processing' });
  });

  test('is not sent again when its hand-over is recorded, however often the step runs', async () => {
    const id = await send(to('silent'));
    await transmit(id);
    await expect(transmit(id)).resolves.toEqual({ state: 'waiting' });

    expect(mails.taken).toHaveLength(1);
  });

  test('that the server takes later is tried again, under the same id', async () => {
    const id = await send(to('greylisted'));
    await expect(transmit(id)).rejects.toThrow(
      'The mail server did not take the message (EENVELOPE 451 4.7.1)',
    );
    expect(await read(id)).toMatchObject({ status: 'processing' });

    await expect(transmit(id)).resolves.toEqual({ state: 'waiting' });
    expect(mails.taken[0]?.mail?.messageId).toBe(`${id}@direct.ours.example`);
  });

  test.each([
    ['unknown', /does not know the recipient/],
    ['full', /size; send fewer attachments/],
  ])(
    'to %s has failed at once, in our words, and holds no other',
    async (name, reason) => {
      const id = await send(to(name));
      const other = await send(to('dr.jones'));

      await expect(transmit(id)).resolves.toMatchObject({ state: 'failed' });
      await expect(transmit(other)).resolves.toEqual({ state: 'waiting' });

      const message = await read(id);
      expect(message).toMatchObject({
        status: 'failed',
        reason: expect.stringMatching(reason),
      });
      expect(JSON.stringify(message)).not.toContain('Lovelace');
    },
  );

  test('waits while the login is refused, or nobody listens', async () => {
    const { store } = gateway;
    const id = await send(to('dr.jones'));

    await giveMailbox(
      store,
      account.accountId,
      mails,
      {},
      {
        ...MAIL_LOGIN,
        password: 'another',
      },
    );
    await expect(transmit(id)).rejects.toThrow('EAUTH 535');

    await giveMailbox(store, account.accountId, mails, {
      smtp: 'smtp://127.0.0.1:1',
    });
    await expect(transmit(id)).rejects.toThrow('did not take the message');

    expect(await read(id)).toMatchObject({ status: 'processing' });
  });

  test('is not sent over a connection that is not encrypted, but on this machine', async () => {
    await giveMailbox(gateway.store, account.accountId, mails, {
      smtp: `smtp://0.0.0.0:${mails.smtpPort}`,
    });
    const id = await send(to('dr.jones'));

    await expect(transmit(id)).rejects.toThrow('ETLS');
    expect(mails.taken).toEqual([]);
  });

  test('is refused at once by an account without a mailbox', async () => {
    const other = await gateway.addAccount();
    const created = await other.call(
      'POST',
      `patient?facilityId=${other.facilityId}`,
      newPerson(),
    );
    const answer = await other.call(
      'POST',
      `message?patientId=${created.json().id}`,
      to('dr.jones'),
    );

    expect(answer.statusCode).toBe(503);
    expect(answer.json().detail).toContain('has no Direct mailbox');
  });
});

/** Reads the mailbox, and looks at the messages that it reports about. */
async function readMail() {
  const signalled: string[] = [];
  const read = await createMailboxReader({
    ...gateway,
    keyRing: testKeyRing(),
    idHmacKey: TEST_ID_HMAC_KEY,

    directTrust: directTrust(gateway),
    arrivals: { tell: () => undefined },
    messages: { receiptArrived: (id) => void signalled.push(id) },
  }).read(account.accountId);
  for (const messageId of signalled)
    await transmission.check({ accountId: account.accountId, messageId });
  return read;
}

const eventsOf = async (id: string) => {
  const { rows } = await gateway.store.asAccount(account.accountId, (tx) =>
    sql<{
      status: string;
    }>`select body -> 'payload' ->> 'status' as status from event
      where request_id = ${id} order by occurred_at, id`.execute(tx.db),
  );
  return rows.map(({ status }) => status);
};

describe('a message that was handed over', () => {
  test('is delivered when its recipient has confirmed it', async () => {
    const id = await send(to('dr.jones'));
    await transmit(id);

    expect(await readMail()).toMatchObject({ receipts: 1, isGone: false });

    expect(await read(id)).toMatchObject({ status: 'completed' });
    expect(await eventsOf(id)).toEqual(['completed']);
  });

  test.each([
    ['failing', 1],
    ['denying', 1],
    ['bouncing', 1],
  ])(
    'has failed when its recipient is %s, whatever a subject says',
    async (name, receipts) => {
      const id = await send(to(name));
      await transmit(id);

      expect(await readMail()).toMatchObject({ receipts });

      expect(await read(id)).toMatchObject({
        status: 'failed',
        reason: 'The network could not deliver the message',
      });
    },
  );

  test('is not failed by what a stranger says', async () => {
    const id = await send(to('forged'));
    await transmit(id);

    expect(await readMail()).toMatchObject({ receipts: 1, ignored: 1 });

    expect(await read(id)).toMatchObject({ status: 'completed' });
  });

  test('that is confirmed twice is delivered once, with one event', async () => {
    const id = await send(to('repeating'));
    await transmit(id);

    expect(await readMail()).toMatchObject({ receipts: 2 });
    expect(await readMail()).toMatchObject({ receipts: 0 });

    expect(await eventsOf(id)).toEqual(['completed']);
  });

  test('fails after all when that is reported later, with an event of its own; nothing turns it back', async () => {
    const id = await send(to('changing'));
    await transmit(id);
    await readMail();
    expect(await read(id)).toMatchObject({ status: 'completed' });

    await expect
      .poll(async () => (await readMail()).receipts, { timeout: 240_000 })
      .toBe(1);

    expect(await read(id)).toMatchObject({ status: 'failed' });
    expect(await eventsOf(id)).toEqual(['completed', 'failed']);
    await deliver(notificationOf(id, 'changing', 'dispatched'));
    await readMail();
    expect(await read(id)).toMatchObject({ status: 'failed' });
    expect(await eventsOf(id)).toEqual(['completed', 'failed']);
  });

  test('fails when an hour of its mailbox brought no word, and not while the mailbox cannot be read', async () => {
    const { store } = gateway;
    const id = await send(to('silent'));
    await transmit(id);
    await readMail();
    await store.asAccount(account.accountId, (tx) =>
      tx.db
        .updateTable('direct_delivery')
        .set({ handed_over_at: sql`now() - interval '61 minutes'` })
        .where('message_id', '=', id)
        .execute(),
    );
    await store.asAccount(account.accountId, (tx) =>
      tx.db
        .updateTable('direct_mailbox')
        .set({ read_through: sql`now() - interval '10 minutes'` })
        .execute(),
    );
    await expect(check(id)).resolves.toEqual({ state: 'waiting' });

    await readMail();
    await expect(check(id)).resolves.toMatchObject({ state: 'failed' });
    expect(await read(id)).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/within an hour; it may have arrived/),
    });
  });

  test('waits for the final destination when that was asked for', async () => {
    await giveMailbox(gateway.store, account.accountId, mails, {
      asksForDispatched: true,
    });
    const id = await send(to('dr.jones'));
    await transmit(id);
    const [{ mail } = nothing()] = mails.taken;
    expect(mail?.header('disposition-notification-options')).toEqual([
      'X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true',
    ]);
    await readMail();
    expect(await read(id)).toMatchObject({ status: 'processing' });

    await deliver(notificationOf(id, 'dr.jones', 'dispatched'));
    await readMail();
    expect(await read(id)).toMatchObject({ status: 'completed' });
  });

  test('of another account is not touched by what comes into this mailbox', async () => {
    const other = await gateway.addAccount();
    await giveMailbox(gateway.store, other.accountId, mails);
    const created = await other.call(
      'POST',
      `patient?facilityId=${other.facilityId}`,
      newPerson(),
    );
    const sent = await other.call(
      'POST',
      `message?patientId=${created.json().id}`,
      to('silent'),
    );
    const { id } = sent.json();
    await transmission.transmit({ accountId: other.accountId, messageId: id });

    await deliver(notificationOf(id, 'silent', 'failed'));

    expect(await readMail()).toMatchObject({ receipts: 0, ignored: 1 });
  });
});

describe('a mail for the account', () => {
  const letter = async (change: Partial<MailToWrite> = {}) =>
    writeMail({
      messageId: `${uuidv7()}@${CLINIC}`,
      from: `dr.jones@${CLINIC}`,
      to: [RECEIVES],
      sentAt: new Date(),
      subject: 'Discharge',
      text: 'Please read.',
      attachments: [
        {
          fileName: 'summary.xml',
          contentType: 'application/xml',
          content: Buffer.from('<ClinicalDocument/>'),
        },
      ],
      ...change,
    });
  const received = async () =>
    (await account.call('GET', 'message?direction=inbound')).json().messages;

  test('is a message of whom its context says, once, and its sender is notified', async () => {
    const person = newPerson();
    const [home = noAddress()] = person.address;
    const created = await account.call(
      'POST',
      `patient?facilityId=${account.facilityId}`,
      person,
    );
    const before = (await received()).length;
    const bytes = await letter({
      context: {
        id: 'c1',
        patient: {
          givenName: person.firstName,
          surname: person.lastName,
          dateOfBirth: person.dob.replaceAll('-', ''),
          gender: person.genderAtBirth,
          streetAddress: home.addressLine1,
          localityName: home.city,
          stateOrProvinceName: home.state,
          postalCode: home.zip,
        },
      },
    });
    await deliver(bytes, bytes);

    expect(await readMail()).toMatchObject({ received: 1, known: 1 });
    expect(await readMail()).toMatchObject({ received: 0, known: 0 });

    const messages = await received();
    expect(messages).toHaveLength(before + 1);
    expect(messages[0]).toMatchObject({
      patientId: created.json().id,
      direction: 'inbound',
      transportMethod: 'direct',
      destination: RECEIVES,
      subject: 'Discharge',
      body: expect.stringContaining('Please read.'),
      attachments: [expect.any(String)],
    });
    const notified = mails.taken.map(({ to: sender, mail }) => [
      sender,
      mail?.report?.kind === 'mdn' && mail.report.disposition,
      mail?.report?.kind === 'mdn' && mail.report.finalRecipient,
    ]);
    expect(notified).toEqual([
      [`dr.jones@${CLINIC}`, 'processed', RECEIVES],
      [`dr.jones@${CLINIC}`, 'processed', RECEIVES],
    ]);
  });

  test('to an address that no account has is reported as failed; one to somebody else is ignored', async () => {
    await deliver(
      await letter({ to: ['nobody@direct.ours.example'] }),
      await letter({ to: ['somebody@direct.elsewhere.example'] }),
    );

    expect(await readMail()).toMatchObject({ returned: 1, ignored: 1 });

    expect(mails.taken.map(({ mail }) => mail?.report)).toMatchObject([
      { disposition: 'failed', finalRecipient: 'nobody@direct.ours.example' },
    ]);
  });

  test('whose sender cannot be notified now is read again, and then notified', async () => {
    await deliver(await letter({ from: `greylisted@${CLINIC}.example` }));

    await expect(readMail()).rejects.toThrow('451');
    expect(await readMail()).toMatchObject({ known: 1 });

    expect(mails.taken).toHaveLength(1);
  });

  test('with more attached than a message may have is reported as failed, and holds no other', async () => {
    const many = Array.from({ length: 51 }, (_, index) => ({
      fileName: `${index}.txt`,
      contentType: 'text/plain',
      content: Buffer.from('x'),
    }));
    await deliver(await letter({ attachments: many }), await letter());

    expect(await readMail()).toMatchObject({ returned: 1, received: 1 });
  });

  test('that is no mail at all holds no other', async () => {
    await deliver(
      Buffer.from('\0\xff'),
      Buffer.alloc(0),
      Buffer.from('From: x\r\n\r\n'),
      await letter(),
    );

    expect(await readMail()).toMatchObject({ received: 1, ignored: 3 });
  });

  test('a mailbox that cannot be read says why, and goes on where it was', async () => {
    await giveMailbox(
      gateway.store,
      account.accountId,
      mails,
      {},
      {
        ...MAIL_LOGIN,
        password: 'another',
      },
    );

    await expect(readMail()).rejects.toThrow('login refused');
    const fault = await gateway.store.asAccount(account.accountId, (tx) =>
      findMailbox(tx, account.accountId),
    );
    expect(fault?.fault).toBe('The mailbox cannot be read (login refused)');
  });
});

const RECEIVES = 'inbox@direct.ours.example';

const check = (messageId: string) =>
  transmission.check({ accountId: account.accountId, messageId });

async function deliver(
  ...mailsToDeliver: (Buffer | Promise<Buffer>)[]
): Promise<void> {
  for (const each of mailsToDeliver) mails.inbox.deliver(await each);
}

const notificationOf = (
  id: string,
  name: string,
  disposition: 'dispatched' | 'failed',
) =>
  writeDisposition({
    messageId: `${uuidv7()}@${CLINIC}`,
    from: `${name}@${CLINIC}`,
    to: 'records@direct.ours.example',
    sentAt: new Date(),
    about: `${id}@direct.ours.example`,
    disposition,
    reportingAgent: CLINIC,
  });

function noAddress(): never {
  throw new Error('a person without an address');
}

function nothing(): never {
  throw new Error('nothing was taken');
}
