import { readFile } from 'node:fs/promises';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeMail } from '#direct';
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
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
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
import { makeTestFolder } from '../support/test-folder.ts';
import { TEST_ID_HMAC_KEY, testKeyRing } from '../support/test-keys.ts';

const RECEIVES = 'inbox@direct.ours.example';
/** This machine, by an address at which STARTTLS is asked for. */
const HOST = '0.0.0.0';

let gateway: TestGateway;
let account: TestAccount;
let transmission: Transmission;
let named: string;
let other: string;
let ofHost: { cert: string; key: string };
let ofAnotherHost: { cert: string; key: string };

beforeAll(async () => {
  const folder = await makeTestFolder();
  const authority = await makeAuthority(folder, 'hisp-authority');
  const certificate = async (name: string, names: string[]) => {
    const files = await makeCertificate(folder, name, { authority, names });
    return {
      cert: await readFile(files.certFile, 'utf8'),
      key: await readFile(files.keyFile, 'utf8'),
    };
  };
  ofHost = await certificate('hisp', [`IP:${HOST}`]);
  ofAnotherHost = await certificate('elsewhere', ['DNS:elsewhere.example']);
  named = await readFile(authority.certFile, 'utf8');
  const another = await makeAuthority(folder, 'another-authority');
  other = await readFile(another.certFile, 'utf8');

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
afterAll(() => gateway.close());

async function sendMessage() {
  const created = await account.call(
    'POST',
    `patient?facilityId=${account.facilityId}`,
    newPerson(),
  );
  const sent = await account.call(
    'POST',
    `message?patientId=${created.json().id}`,
    {
      destination: 'dr.jones@direct.clinic.example',
      subject: 'Referral',
      body: 'Please see.',
    },
  );
  expect(sent.statusCode, sent.body).toBe(200);
  const { id: messageId } = sent.json();
  return { accountId: account.accountId, messageId };
}

const readNew = () =>
  createMailboxReader({
    ...gateway,
    keyRing: testKeyRing(),
    idHmacKey: TEST_ID_HMAC_KEY,
    directTrust: directTrust(gateway),
    arrivals: { tell: () => undefined },
    messages: { receiptArrived: () => undefined },
  }).read(account.accountId);

const letter = () =>
  writeMail({
    messageId: `${uuidv7()}@direct.clinic.example`,
    from: 'dr.jones@direct.clinic.example',
    to: [RECEIVES],
    sentAt: new Date(),
    subject: 'Discharge',
    text: 'Please read.',
  });

const faultOfMailbox = async () =>
  (
    await gateway.store.asAccount(account.accountId, (tx) =>
      findMailbox(tx, account.accountId),
    )
  )?.fault;

describe.each([
  { from: 'the first byte', schemes: ['smtps', 'imaps'], fromFirstByte: true },
  { from: 'STARTTLS', schemes: ['smtp', 'imap'], fromFirstByte: false },
])('a mailbox with TLS from $from on', ({ schemes, fromFirstByte }) => {
  const [smtp, imap] = schemes;

  async function withMails(
    { certificate = ofHost, ca }: { certificate?: typeof ofHost; ca?: string },
    work: (mails: MailSystem) => Promise<void>,
  ) {
    const mails = await startMailSystem({
      login: MAIL_LOGIN,
      tls: { ...certificate, fromFirstByte },
    });
    await giveMailbox(
      gateway.store,
      account.accountId,
      mails,
      {
        smtp: `${smtp}://${HOST}:${mails.smtpPort}`,
        imap: `${imap}://${HOST}:${mails.imapPort}`,
      },
      { ...MAIL_LOGIN, ca },
    );
    try {
      await work(mails);
    } finally {
      await mails.close();
    }
  }

  test('sends and reads where the account names the authority of the servers', () =>
    withMails({ ca: named }, async (mails) => {
      const of = await sendMessage();
      await expect(transmission.transmit(of)).resolves.toEqual({
        state: 'waiting',
      });
      expect(mails.taken).toHaveLength(1);

      mails.inbox.deliver(await letter());
      expect(await readNew()).toMatchObject({ receipts: 1, received: 1 });
      expect(await faultOfMailbox()).toBeNull();
    }));

  test.each([
    ['that the account does not name', () => ({})],
    ['other than the one that the account names', () => ({ ca: other })],
  ])(
    'is not used with a certificate of an authority %s, and says so',
    (_, options) =>
      withMails(options(), async (mails) => {
        const reason = /no authority that is trusted for it vouches/;
        mails.inbox.deliver(await letter());
        const of = await sendMessage();

        await expect(transmission.transmit(of)).rejects.toThrow(reason);
        await expect(readNew()).rejects.toThrow(reason);

        expect(await faultOfMailbox()).toMatch(reason);
        expect(mails.taken).toEqual([]);
      }),
  );

  test('is not used with a certificate of another server, and says so', () =>
    withMails({ certificate: ofAnotherHost, ca: named }, async (mails) => {
      const of = await sendMessage();

      await expect(transmission.transmit(of)).rejects.toThrow(
        'of another server',
      );
      await expect(readNew()).rejects.toThrow('of another server');

      expect(mails.taken).toEqual([]);
    }));
});

test('a mailbox is not read where its server does not encrypt', async () => {
  const mails = await startMailSystem({ login: MAIL_LOGIN });
  await giveMailbox(gateway.store, account.accountId, mails, {
    imap: `imap://${HOST}:${mails.imapPort}`,
  });

  await expect(readNew()).rejects.toThrow('no TLS');
  await mails.close();
});
