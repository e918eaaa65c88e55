import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type MailServer,
  readMail,
  readMailbox,
  submitMail,
  writeDisposition,
  writeMail,
} from '#direct';
import { createDirectTransports } from '../../src/exchange/messaging/messages/direct/direct-transports.ts';
import { createMailboxReader } from '../../src/exchange/messaging/messages/direct/read-account-mailbox.ts';
import {
  createTransmission,
  type Transmission,
} from '../../src/exchange/messaging/messages/transmission.ts';
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
import {
  type GreenMailServer,
  greenMailMissing,
  startGreenMail,
} from './greenmail-server.ts';

const missing = greenMailMissing();
if (missing !== undefined)
  process.stdout.write(`GreenMail is not tested against: ${missing}.\n`);

const OURS = 'records@direct.ours.example';
const DOCTOR = 'dr.jones@direct.clinic.example';
const LARGE_BYTES = 19_500_000;

describe.skipIf(missing !== undefined)('a mail server of others', () => {
  let server: GreenMailServer;
  let gateway: TestGateway;
  let account: TestAccount;
  let transmission: Transmission;
  let patientId: string;

  beforeAll(async () => {
    server = await startGreenMail();
    gateway = await createTestGateway();
    account = await gateway.addAccount({
      settings: { messages: { directAddresses: [OURS] } },
    });
    await giveMailbox(gateway.store, account.accountId, server);
    transmission = createTransmission({
      ...gateway,
      directTransports: createDirectTransports(
        gateway.store,
        testKeyRing(),
        directTrust(gateway),
      ),
    });
    const created = await account.call(
      'POST',
      `patient?facilityId=${account.facilityId}`,
      newPerson(),
    );
    patientId = created.json().id;
  });
  afterAll(async () => {
    await gateway?.close();
    await server?.[Symbol.asyncDispose]();
  });

  const serverOf = (
    port: number,
    user: string,
    password: string,
  ): MailServer => ({
    host: '127.0.0.1',
    port,
    security: 'none',
    login: { user, password },
  });

  async function ofDoctor() {
    const found = [];
    const mailbox = serverOf(server.imapPort, 'jones', 'of the doctor');
    for await (const { bytes } of readMailbox(mailbox, {
      folder: 'INBOX',
      since: undefined,
      bytesMax: 45_000_000,
    }))
      found.push(await readMail(bytes));
    return found;
  }

  const fromDoctor = (bytes: Buffer) =>
    submitMail(serverOf(server.smtpPort, 'jones', 'of the doctor'), {
      from: DOCTOR,
      to: OURS,
      bytes,
    });

  const readNew = () =>
    createMailboxReader({
      ...gateway,
      keyRing: testKeyRing(),
      idHmacKey: TEST_ID_HMAC_KEY,
      directTrust: directTrust(gateway),
      arrivals: { tell: () => undefined },
      messages: { receiptArrived: () => undefined },
    }).read(account.accountId);

  const head = () => ({
    messageId: `${uuidv7()}@direct.clinic.example`,
    from: DOCTOR,
    sentAt: new Date(),
  });

  test('takes a message of 20 MB as it is, and its recipient’s notification ends it', async () => {
    const content = Buffer.alloc(LARGE_BYTES);
    for (let index = 0; index < content.length; index += 991)
      content[index] = index % 256;
    const blob = await gateway.blobs.put(
      'document',
      content,
      'application/pdf',
    );
    const query = await account.call(
      'POST',
      `network/query?patientId=${patientId}`,
      { sources: ['hie'] },
    );
    const document = uuidv7();
    await gateway.store.asAccount(account.accountId, (tx) =>
      tx.db
        .insertInto('document')
        .values({
          id: document,
          account_id: account.accountId,
          patient_id: patientId,
          query_id: query.json().requestId,
          source: 'hie',
          kind: 'attachment',
          source_document_id: null,
          file_name: 'scan.pdf',
          content_type: blob.contentType,
          size_bytes: blob.sizeBytes,
          sha256: Buffer.from(blob.sha256, 'hex'),
          blob_ref: blob.ref,
        })
        .execute(),
    );
    const sent = await account.call('POST', `message?patientId=${patientId}`, {
      destination: DOCTOR,
      subject: 'Größe',
      body: 'Please see.',
      attachments: [document],
    });
    expect(sent.statusCode, sent.body).toBe(200);
    const of = { accountId: account.accountId, messageId: sent.json().id };

    await expect(transmission.transmit(of)).resolves.toEqual({
      state: 'waiting',
    });

    const [mail] = await ofDoctor();
    expect(mail).toMatchObject({ from: OURS, subject: 'Größe' });
    expect(mail?.attachments[0]?.content.equals(content)).toBe(true);

    await fromDoctor(
      await writeDisposition({
        ...head(),
        to: OURS,
        about: mail?.messageId ?? '',
        disposition: 'processed',
        reportingAgent: 'GreenMail',
      }),
    );
    expect(await readNew()).toMatchObject({ receipts: 1 });
    await expect(transmission.check(of)).resolves.toEqual({
      state: 'completed',
    });
  });

  test('holds messages for us, large ones too, which are taken in once', async () => {
    const content = Buffer.alloc(LARGE_BYTES, 'abc');
    const bytes = await writeMail({
      ...head(),
      to: [OURS],
      subject: 'Films',
      text: 'Please read.',
      attachments: [
        { fileName: 'films.bin', contentType: 'application/dicom', content },
      ],
    });
    expect(await fromDoctor(bytes)).toBe('accepted');
    expect(await fromDoctor(bytes)).toBe('accepted');

    expect(await readNew()).toMatchObject({ received: 1, known: 1 });
    expect(await readNew()).toMatchObject({ received: 0, known: 0 });

    const { messages } = (
      await account.call('GET', 'message?direction=inbound')
    ).json();
    expect(messages).toMatchObject([{ subject: 'Films' }]);
    const notified = (await ofDoctor()).filter(({ report }) => report);
    expect(notified[0]?.report).toMatchObject({
      disposition: 'processed',
      finalRecipient: OURS,
    });
  });

  test('sends and is read over TLS by the private authority that the account names, and by no other', async () => {
    const { tls } = server;
    const useMailbox = (ca?: string) =>
      giveMailbox(
        gateway.store,
        account.accountId,
        tls,
        {
          smtp: `smtps://127.0.0.1:${tls.smtpPort}`,
          imap: `imaps://127.0.0.1:${tls.imapPort}`,
        },
        { ...MAIL_LOGIN, ca },
      );
    const sent = await account.call('POST', `message?patientId=${patientId}`, {
      destination: DOCTOR,
      subject: 'Encrypted',
      body: 'Please see.',
    });
    const of = { accountId: account.accountId, messageId: sent.json().id };
    const refused = 'no authority that is trusted for it vouches';

    await useMailbox();
    await expect(transmission.transmit(of)).rejects.toThrow(refused);
    await expect(readNew()).rejects.toThrow(refused);

    await useMailbox(tls.ca);
    await expect(transmission.transmit(of)).resolves.toEqual({
      state: 'waiting',
    });
    const arrived = (await ofDoctor()).map(({ subject }) => subject);
    expect(arrived.filter((subject) => subject === 'Encrypted')).toHaveLength(
      1,
    );
    await fromDoctor(
      await writeMail({
        ...head(),
        to: [OURS],
        subject: 'Reply',
        text: 'Seen.',
      }),
    );
    expect(await readNew()).toMatchObject({ received: 1 });
  });

  test('refuses a wrong login, in words without it', async () => {
    const { store } = gateway;
    await giveMailbox(
      store,
      account.accountId,
      server,
      {},
      {
        ...MAIL_LOGIN,
        password: 'another',
      },
    );

    await expect(readNew()).rejects.toThrow('login refused');
  });
});
