import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  type DirectIdentity,
  openMail,
  protectMail,
  readMail,
  speaksFor,
  writeDisposition,
  writeMail,
} from '#direct';
import {
  certRecord,
  startDnsServer,
  type TestDnsServer,
} from '../../packages/direct/test/support/dns-server.ts';
import { testAuthority } from '../../packages/direct/test/support/identities.ts';
import { createDirectTransports } from '../../src/exchange/messaging/messages/direct/direct-transports.ts';
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

const OURS = 'records@direct.ours.example';
/** The simulator says nothing for it: all notifications are the tests' own. */
const THEIRS = 'silent@direct.clinic.example';

const authority = testAuthority();
const ours = authority.identity('ours', 'DNS:direct.ours.example');
const theirs = authority.identity('theirs', 'DNS:direct.clinic.example');
/** Trusted as the others are, but of another domain. */
const neighbour = authority.identity('neighbour', 'DNS:direct.other.example');
/** Of the right name, by nobody whom we trust. */
const stranger = testAuthority().identity(
  'theirs',
  'DNS:direct.clinic.example',
);

/** Publishes its certificate, and is in no file of ours. */
const published = authority.identity(
  'published',
  'DNS:direct.published.example',
);

let mails: MailSystem;
let dns: TestDnsServer;
let gateway: TestGateway;
let account: TestAccount;
let transmission: Transmission;

beforeAll(async () => {
  mails = await startMailSystem({ login: MAIL_LOGIN });
  dns = await startDnsServer();
  gateway = await createTestGateway();
  account = await gateway.addAccount({
    settings: { messages: { directAddresses: [OURS] } },
  });
  transmission = createTransmission({
    ...gateway,
    directTransports: createDirectTransports(
      gateway.store,
      testKeyRing(),
      directTrust(gateway, [dns.server]),
    ),
  });
  const file = (name: string) =>
    readFileSync(join(authority.folder, name), 'utf8');
  await giveMailbox(
    gateway.store,
    account.accountId,
    mails,
    {},
    {
      ...MAIL_LOGIN,
      smime: {
        certificate: file('ours.pem'),
        privateKey: file('ours.key'),
        anchors: file('anchor.pem'),
        recipients: file('theirs.pem'),
      },
    },
  );
});
afterAll(async () => {
  await gateway.close();
  await mails.close();
  await dns[Symbol.asyncDispose]();
});
beforeEach(() => {
  mails.taken.length = 0;
  mails.inbox.empty();
  dns.records.clear();
  dns.fault = undefined;
});

const of = (messageId: string) => ({ accountId: account.accountId, messageId });

async function send(destination: string): Promise<string> {
  const created = await account.call(
    'POST',
    `patient?facilityId=${account.facilityId}`,
    newPerson(),
  );
  const sent = await account.call(
    'POST',
    `message?patientId=${created.json().id}`,
    { destination, subject: 'About the biopsy', body: 'Please see.' },
  );
  return sent.json().id;
}

const statusOf = async (id: string) =>
  (await account.call('GET', `message/${id}`)).json();

const readNew = () =>
  createMailboxReader({
    ...gateway,
    keyRing: testKeyRing(),
    idHmacKey: TEST_ID_HMAC_KEY,
    directTrust: directTrust(gateway),
    arrivals: { tell: () => undefined },
    messages: { receiptArrived: () => undefined },
  }).read(account.accountId);

async function deliver(
  mail: Buffer,
  by: DirectIdentity,
  from = THEIRS,
): Promise<void> {
  const head = {
    messageId: `${uuidv7()}@direct.clinic.example`,
    from,
    to: [OURS],
    sentAt: new Date(),
  };
  mails.inbox.deliver(await protectMail(mail, by, [ours.certificate], head));
}

const notification = (id: string, disposition: 'processed' | 'failed') =>
  writeDisposition({
    messageId: `${uuidv7()}@direct.clinic.example`,
    from: THEIRS,
    to: OURS,
    sentAt: new Date(),
    about: `${id}@direct.ours.example`,
    disposition,
    reportingAgent: 'direct.clinic.example',
  });

const letter = () =>
  writeMail({
    messageId: `${uuidv7()}@direct.clinic.example`,
    from: THEIRS,
    to: [OURS],
    sentAt: new Date(),
    subject: 'Discharge',
    text: 'Please read.',
  });

test('what it sends is signed by it and encrypted for the recipient, subject and all', async () => {
  const id = await send(THEIRS);
  await expect(transmission.transmit(of(id))).resolves.toEqual({
    state: 'waiting',
  });

  const [{ bytes } = nothing()] = mails.taken;
  expect(bytes.toString()).not.toContain('biopsy');
  const opened = await openMail(bytes, [theirs]);
  expect(opened.signers.some((each) => speaksFor(each, OURS))).toBe(true);
  expect(await readMail(opened.mail)).toMatchObject({
    messageId: `${id}@direct.ours.example`,
    subject: 'About the biopsy',
  });
});

test('what it sends to somebody without a certificate has failed, and is not sent', async () => {
  const id = await send('dr.smith@direct.elsewhere.example');

  await expect(transmission.transmit(of(id))).resolves.toMatchObject({
    state: 'failed',
    reason: expect.stringMatching(/certificate/),
  });
  expect(mails.taken).toEqual([]);
});

test('a recipient without a file is looked up, and an operator’s file comes before what a domain publishes', async () => {
  const publish = (domain: string) =>
    dns.records.set(domain, [certRecord(published.certificate)]);
  publish('direct.published.example');
  publish('direct.clinic.example');
  const elsewhere = await send('dr.jones@direct.published.example');
  const filed = await send(THEIRS);

  await transmission.transmit(of(elsewhere));
  await transmission.transmit(of(filed));
  const [first = nothing(), second = nothing()] = mails.taken;
  await expect(openMail(first.bytes, [published])).resolves.toBeDefined();
  await expect(openMail(second.bytes, [theirs])).resolves.toBeDefined();
  expect(dns.asked.join()).not.toContain('clinic');
});

test('while nobody can say which certificates there are, a message waits', async () => {
  dns.fault = 'SERVFAIL';
  const id = await send('dr.jones@direct.published.example');

  await expect(transmission.transmit(of(id))).rejects.toThrow(
    'The certificate of the recipient cannot be looked up',
  );
  expect(await statusOf(id)).toMatchObject({ status: 'processing' });
  expect(mails.taken).toEqual([]);
});

test('a certificate that leads to nobody whom we trust, or is another’s, is not used', async () => {
  dns.records.set('direct.elsewhere.example', [
    certRecord(published.certificate),
    certRecord(
      testAuthority().identity('x', 'DNS:direct.elsewhere.example').certificate,
    ),
  ]);
  const id = await send('dr.smith@direct.elsewhere.example');

  await expect(transmission.transmit(of(id))).resolves.toMatchObject({
    state: 'failed',
    reason: expect.stringMatching(/certificate/),
  });
});

test('only a notification that the recipient has signed ends a message', async () => {
  const id = await send(THEIRS);
  await transmission.transmit(of(id));
  mails.inbox.empty();

  mails.inbox.deliver(await notification(id, 'failed'));
  await deliver(await notification(id, 'failed'), stranger);
  await deliver(await notification(id, 'failed'), neighbour);
  expect(await readNew()).toMatchObject({ receipts: 0, ignored: 3 });
  expect(await statusOf(id)).toMatchObject({ status: 'processing' });

  await deliver(await notification(id, 'processed'), theirs);
  expect(await readNew()).toMatchObject({ receipts: 1 });
  await transmission.check(of(id));
  expect(await statusOf(id)).toMatchObject({ status: 'completed' });
});

test('a message is taken from whom it trusts only, and answered under encryption', async () => {
  mails.inbox.deliver(await letter());
  await deliver(await letter(), stranger);
  await deliver(await letter(), neighbour);
  expect(await readNew()).toMatchObject({ received: 0, ignored: 3 });
  expect(mails.taken).toEqual([]);

  await deliver(await letter(), theirs);
  expect(await readNew()).toMatchObject({ received: 1 });
  const [{ bytes } = nothing()] = mails.taken;
  const answer = await readMail((await openMail(bytes, [theirs])).mail);
  expect(answer.report).toMatchObject({
    disposition: 'processed',
    finalRecipient: OURS,
  });
});

function nothing(): never {
  throw new Error('nothing was taken');
}
