import { createHash, randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeMail } from '#direct';
import { type SubmissionToBuild, type XmlFragment, xml } from '#ihe';
import { createMailboxReader } from '../../src/exchange/messaging/messages/direct/read-account-mailbox.ts';
import { SUBMISSION_CODES } from '../../src/exchange/messaging/messages/xdr/codes.ts';
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
import {
  askerAt,
  joinNetwork,
  makeNetworkOf,
  OUR_HOME,
  openTestRespondingGateway,
  type TestAsker,
  THEIR_HOME,
} from '../support/network-members.ts';
import { TEST_ID_HMAC_KEY, testKeyRing } from '../support/test-keys.ts';
import { pidOf, xdmFile } from '../support/xdm.ts';

// Two accounts share a gateway and a mail server. Whoever may send to the one
// must neither reach the other, nor learn whom either has as a patient.

const SECRET = 'Zebrawood';
const OURS = 'inbox@direct.ours.example';
const THEIRS = 'inbox@direct.victim.example';
const THEIR_OID = '2.999.5.77';
const SENDER = 'mallory@direct.elsewhere.example';

let gateway: TestGateway;
let account: TestAccount;
let victim: TestAccount;
let mails: MailSystem;
let port: Awaited<ReturnType<typeof openTestRespondingGateway>>;
let asker: TestAsker;
/** A patient of the other account, and a message that it has sent. */
let theirPatient: string;
let theirMessage: string;
let ourOid: string;
let attempts = 0;

const ourPerson = newPerson();
const theirPerson = { ...newPerson(), lastName: SECRET };

beforeAll(async () => {
  gateway = await createTestGateway();
  mails = await startMailSystem({ login: MAIL_LOGIN });
  account = await gateway.addAccount({
    settings: { messages: { directAddresses: [OURS] } },
  });
  victim = await gateway.addAccount({
    settings: { messages: { directAddresses: [THEIRS] } },
  });
  await giveMailbox(gateway.store, account.accountId, mails);
  await giveMailbox(gateway.store, victim.accountId, mails, {
    address: 'records@direct.victim.example',
  });
  await addPatient(account, ourPerson);
  theirPatient = await addPatient(victim, theirPerson);
  const sent = await victim.call('POST', `message?patientId=${theirPatient}`, {
    destination: 'silent@direct.elsewhere.example',
    subject: 'Referral',
    body: 'Please see.',
  });
  theirMessage = sent.json().id;
  await gateway.store.asAccount(victim.accountId, (tx) =>
    tx.db.updateTable('facility').set({ oid: THEIR_OID }).execute(),
  );
  ourOid = (await account.call('GET', `facility/${account.facilityId}`)).json()
    .oid;

  const { authority, members } = await makeNetworkOf('ours', 'theirs');
  const membership = await joinNetwork(gateway, account.accountId, authority);
  port = await openTestRespondingGateway(gateway, members.ours);
  asker = askerAt(port.addressOf(membership), members.theirs, authority);
});
afterAll(async () => {
  await asker.client.close();
  await port.close();
  await mails.close();
  await gateway.close();
});

async function addPatient(
  of: TestAccount,
  person: ReturnType<typeof newPerson>,
): Promise<string> {
  const created = await of.call(
    'POST',
    `patient?facilityId=${of.facilityId}`,
    person,
  );
  expect(created.statusCode, created.body).toBe(201);
  return created.json().id;
}

const messagesOf = async (of: TestAccount) =>
  (await of.call('GET', 'message?count=500')).json().messages;

/** Runs attempts, after which all that the other account has is as before. */
async function withoutReachingTheirs(
  number: number,
  attempt: () => Promise<unknown>,
): Promise<void> {
  attempts += number;
  const before = await messagesOf(victim);
  expect(before).toMatchObject([{ id: theirMessage, status: 'processing' }]);
  await attempt();

  expect(await messagesOf(victim)).toEqual(before);
  for (const message of await messagesOf(account))
    expect([OURS, ourOid]).toContain(message.destination);
  expect(port.logLines.join('\n')).not.toContain(SECRET);
  // Our notifications have sentences of ours, and ids of the sender's.
  const said = mails.taken.map(({ mail }) => mail?.text).join('\n');
  expect(said).not.toContain(SECRET);
}

async function read(...letters: Buffer[]) {
  for (const letter of letters) mails.inbox.deliver(letter);
  const found = await createMailboxReader({
    ...gateway,
    keyRing: testKeyRing(),
    directTrust: directTrust(gateway),
    idHmacKey: TEST_ID_HMAC_KEY,
    arrivals: { tell: () => undefined },
    messages: { receiptArrived: () => undefined },
  }).read(account.accountId);
  return found;
}

const rawMail = (headers: readonly string[], body = 'Hello'): Buffer =>
  Buffer.from(
    [
      `From: ${SENDER}`,
      `Message-ID: <${uuidv7()}@direct.elsewhere.example>`,
      'Subject: Hello',
      ...headers,
      '',
      body,
      '',
    ].join('\r\n'),
  );

const notificationAbout = (headers: readonly string[], fields: string[]) => {
  const boundary = randomUUID();
  const type = fields.some((field) => field.startsWith('Action'))
    ? ['delivery-status', 'message/delivery-status']
    : ['disposition-notification', 'message/disposition-notification'];

  return rawMail(
    [
      `To: records@direct.ours.example`,
      'MIME-Version: 1.0',
      `Content-Type: multipart/report; report-type=${type[0]}; boundary="${boundary}"`,
      ...headers,
    ],
    [
      `--${boundary}`,
      `Content-Type: ${type[1]}`,
      '',
      ...fields,
      '',
      `--${boundary}--`,
    ].join('\r\n'),
  );
};

test('mail that names an address of another account, in every header and spelling, reaches nobody of it', async () => {
  const headers = [
    'To',
    'Cc',
    'Bcc',
    'Delivered-To',
    'Resent-To',
    'X-Original-To',
    'Envelope-To',
    'Apparently-To',
  ];
  const spellings = [
    THEIRS,
    THEIRS.toUpperCase(),
    `"${OURS}" <${THEIRS}>`,
    `${OURS}, ${THEIRS}`,
    `Everybody: ${THEIRS};`,
    `=?utf-8?Q?inbox?= <${THEIRS}>`,
    `inbox%direct.victim.example@direct.ours.example`,
    `<@direct.ours.example:${THEIRS}>`,
    `${THEIRS}\0`,
  ];
  const letters = headers.flatMap((header) =>
    spellings.map((spelling) => rawMail([`${header}: ${spelling}`])),
  );
  expect(letters).toHaveLength(72);

  await withoutReachingTheirs(letters.length, () => read(...letters));
});

test('a notification about a message of another account changes nothing of it, however it names it', async () => {
  const ids = ['ours', 'victim', 'elsewhere'].map(
    (domain) => `<${theirMessage}@direct.${domain}.example>`,
  );
  const outcomes = ['processed', 'dispatched', 'failed', 'denied'];
  const recipient = 'Final-Recipient: rfc822;silent@direct.elsewhere.example';
  const letters = ids.flatMap((id) => [
    ...outcomes.flatMap((outcome) => {
      const disposition = `Disposition: automatic-action/MDN-sent-automatically;${outcome}`;
      return [
        notificationAbout(
          [],
          [recipient, `Original-Message-ID: ${id}`, disposition],
        ),
        notificationAbout([`In-Reply-To: ${id}`], [recipient, disposition]),
        notificationAbout(
          [],
          [recipient, `X-Original-Message-ID: ${id}`, disposition],
        ),
      ];
    }),
    notificationAbout(
      [`In-Reply-To: ${id}`],
      [
        `Reporting-MTA: dns; direct.elsewhere.example`,
        '',
        recipient,
        'Action: failed',
        'Status: 5.1.1',
      ],
    ),
  ]);
  expect(letters).toHaveLength(39);

  await withoutReachingTheirs(letters.length, async () => {
    expect(await read(...letters)).toMatchObject({ receipts: 0 });
  });
});

test('by Direct, a patient of ours, one of another account and nobody are told apart by no notification', async () => {
  const stranger = newPerson();
  const told: unknown[] = [];
  await withoutReachingTheirs(6, async () => {
    for (const person of [ourPerson, theirPerson, stranger])
      for (const by of ['context', 'package']) {
        mails.taken.length = 0;
        const messageId = `${uuidv7()}@direct.elsewhere.example`;
        await read(await letterAbout(person, by, messageId));
        told.push(
          mails.taken.map(({ to, mail }) => [
            to,
            mail?.subject,
            mail?.text,
            mail?.report?.kind === 'mdn' && {
              ...mail.report,
              about: mail.report.about === messageId,
            },
          ]),
        );
      }
  });

  expect(told).toHaveLength(6);
  expect(told[0]).toHaveLength(1);
  for (const each of told) expect(each).toEqual(told[0]);
  const about = (await messagesOf(account)).map(
    ({ patientId }: { patientId?: string }) => patientId,
  );
  expect(about).not.toContain(theirPatient);
});

async function letterAbout(
  person: typeof ourPerson,
  by: string,
  messageId: string,
): Promise<Buffer> {
  const [home] = person.address;
  const content = Buffer.from('<ClinicalDocument/>');
  const file = {
    fileName: 'a.xml',
    contentType: 'text/xml',
    content,
  };
  const inPackage = {
    name: 'A.XML',
    content,
    sourcePatientInfo: [...pidOf(person), `PID-3|${theirPatient}`],
  };
  return writeMail({
    messageId,
    from: SENDER,
    to: [OURS],
    sentAt: new Date(),
    subject: 'About a patient',
    text: 'Hello',
    attachments: [by === 'package' ? await xdmFile([inPackage]) : file],
    ...(by === 'context' && {
      context: {
        id: messageId,
        patientIds: [`${OUR_HOME}:${theirPatient}`],
        patient: {
          givenName: person.firstName,
          surname: person.lastName,
          dateOfBirth: person.dob,
          gender: person.genderAtBirth,
          postalCode: home?.zip ?? '',
        },
      },
    }),
  });
}

const CONTENT = Buffer.from('Hello');

function submissionTo(
  intendedRecipients: readonly string[],
  changes: { patientId?: string; person?: typeof ourPerson } = {},
) {
  const { patientId = `p1^^^&${THEIR_HOME}&ISO`, person = ourPerson } = changes;
  const submission: SubmissionToBuild = {
    entryUuid: `urn:uuid:${randomUUID()}`,
    uniqueId: `2.25.${BigInt(`0x${randomUUID().replaceAll('-', '')}`)}`,
    sourceId: THEIR_HOME,
    patientId,
    submittedAt: new Date(),
    title: 'Hello',
    contentType: SUBMISSION_CODES.contentType,
    intendedRecipients,
    documents: [
      {
        metadata: {
          entryUuid: `urn:uuid:${randomUUID()}`,
          uniqueId: `2.25.${BigInt(`0x${randomUUID().replaceAll('-', '')}`)}`,
          patientId,
          sourcePatientId: patientId,
          sourcePatientInfo: pidOf(person),
          mimeType: 'text/plain',
          creationTime: '20260301120000',
          size: CONTENT.length,
          hash: createHash('sha1').update(CONTENT).digest('hex'),
        },
        content: { bytes: CONTENT },
      },
    ],
  };
  return submission;
}

const homeOf = (oid: string): XmlFragment => xml`
  <xdr:homeCommunityBlock xmlns:xdr="urn:ihe:iti:xdr:2014">
    <xdr:homeCommunityId>urn:oid:${oid}</xdr:homeCommunityId>
  </xdr:homeCommunityBlock>`;

test('a submission to a facility of another account, however it names it, is refused as one to nobody', async () => {
  const spellings = (oid: string) => [
    `Clinic^^^^^^^^^${oid}`,
    `Clinic^^^^^^^^^urn:oid:${oid}`,
    `^^^^^&${oid}&ISO^^^^${oid}`,
    `${oid}`,
    `Clinic^^^^^^^^^ ${oid} `,
    `|1234567893^^^^^^^^&${oid}&ISO`,
    `Clinic^^^^^^^^^${oid}' or '1'='1`,
    `Clinic^^^^^^^^^%`,
  ];
  const named = spellings(THEIR_OID);
  const nobody = spellings('2.999.5.78');
  const outcomes = async (texts: readonly string[]) => {
    const said = [];
    for (const text of texts)
      for (const headers of [[], [homeOf(THEIR_OID)]]) {
        const { outcome, problems } = await asker.submit(
          submissionTo([text]),
          [],
          headers,
        );
        said.push([outcome, problems.map(({ code }) => code)]);
      }
    return said;
  };

  await withoutReachingTheirs(32, async () => {
    const theirs = await outcomes(named);
    expect(theirs).toEqual(await outcomes(nobody));
    for (const [outcome] of theirs) expect(outcome).toBe('failed');
  });
});

test('by XDR, a patient of ours, one of another account and nobody are told apart by no answer, nor by their ids', async () => {
  const stranger = newPerson();
  const ids = [
    undefined,
    `${theirPatient}^^^&${OUR_HOME}&ISO`,
    `${theirPatient}^^^&${THEIR_OID}&ISO`,
  ];
  await withoutReachingTheirs(9, async () => {
    for (const person of [ourPerson, theirPerson, stranger])
      for (const patientId of ids) {
        const answer = await asker.submit(
          submissionTo([`Clinic^^^^^^^^^${ourOid}`], {
            person,
            ...(patientId && { patientId }),
          }),
        );
        expect([answer.outcome, answer.problems]).toEqual(['accepted', []]);
      }
  });

  const about = (await messagesOf(account)).map(
    ({ patientId }: { patientId?: string }) => patientId,
  );
  expect(about).not.toContain(theirPatient);
});

test('there were some 150 attempts', () => {
  expect(attempts).toBeGreaterThanOrEqual(150);
});
