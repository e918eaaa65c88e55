import { v7 as uuidv7 } from 'uuid';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
} from 'vitest';
import {
  type AttachmentToWrite,
  fileOfXdm,
  type MailToWrite,
  readXdm,
  writeMail,
} from '#direct';
import { readMediaMetadata, readXml, submittedContentFaults } from '#ihe';
import { createDirectTransports } from '../../src/exchange/messaging/messages/direct/direct-transports.ts';
import { createMailboxReader } from '../../src/exchange/messaging/messages/direct/read-account-mailbox.ts';
import { createTransmission } from '../../src/exchange/messaging/messages/transmission.ts';
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
import {
  pidOf,
  type TestDocument,
  xdmFile,
  xdmMetadata,
} from '../support/xdm.ts';

const CLINIC = 'direct.clinic.example';
const SENDER = `dr.jones@${CLINIC}`;
const RECEIVES = 'inbox@direct.ours.example';

let mails: MailSystem;
let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  mails = await startMailSystem({ login: MAIL_LOGIN });
  gateway = await createTestGateway();
  account = await gateway.addAccount({
    settings: { messages: { directAddresses: [RECEIVES] } },
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

async function addPatient(person = newPerson()): Promise<string> {
  const created = await account.call(
    'POST',
    `patient?facilityId=${account.facilityId}`,
    person,
  );
  expect(created.statusCode, created.body).toBe(201);
  return created.json().id;
}

async function arrive(
  attachments: AttachmentToWrite[],
  change: Partial<MailToWrite> = {},
) {
  mails.inbox.deliver(
    await writeMail({
      messageId: `${uuidv7()}@${CLINIC}`,
      from: SENDER,
      to: [RECEIVES],
      sentAt: new Date(),
      subject: 'XDM/1.0/DDM+Discharge',
      text: 'Please read.',
      attachments,
      ...change,
    }),
  );
  return createMailboxReader({
    ...gateway,
    keyRing: testKeyRing(),
    directTrust: directTrust(gateway),
    idHmacKey: TEST_ID_HMAC_KEY,
    arrivals: { tell: () => undefined },
    messages: { receiptArrived: () => undefined },
  }).read(account.accountId);
}

const received = async () =>
  (await account.call('GET', 'message?direction=inbound')).json().messages;

const documentsOf = (ids: readonly string[]) =>
  gateway.store.asAccount(account.accountId, async (tx) => {
    const rows = await tx.db
      .selectFrom('document')
      .select(['id', 'content_type', 'blob_ref', 'patient_id'])
      .where('id', 'in', [...ids])
      .execute();
    return Promise.all(
      ids.map(async (id) => {
        const row = rows.find((each) => each.id === id);
        return {
          contentType: row?.content_type,
          patientId: row?.patient_id,
          content: await gateway.blobs.read(row?.blob_ref ?? ''),
        };
      }),
    );
  });

/** How many rows and blobs there are of what messages bring. */
const stored = () =>
  gateway.store.asAccount(account.accountId, async (tx) => {
    const count = async (table: 'message' | 'document' | 'event') =>
      (await tx.db.selectFrom(table).select('id').execute()).length;
    return [
      await count('message'),
      await count('document'),
      await count('event'),
    ];
  });

const notified = () => mails.taken.map(({ mail }) => mail);

const summary: TestDocument = {
  name: 'DOC00001.XML',
  title: 'Summary of care',
  content: Buffer.from('<ClinicalDocument/>'),
};
const scan: TestDocument = {
  name: 'SCANS/PAGE 1.PDF',
  mimeType: 'application/pdf',
  content: Buffer.from('%PDF-1.7'),
};

describe('a mail with a package of documents (XDM)', () => {
  test('is a message with these documents, of whom their metadata describe', async () => {
    const person = newPerson();
    const patientId = await addPatient(person);
    const sourcePatientInfo = pidOf(person);
    const file = await xdmFile([
      { ...summary, sourcePatientInfo },
      { ...scan, sourcePatientInfo },
    ]);

    expect(await arrive([file])).toMatchObject({ received: 1 });

    const [message] = await received();
    expect(message).toMatchObject({
      patientId,
      subject: 'Discharge',
      body: expect.stringContaining('Please read.'),
      transportMethod: 'direct',
      attachments: [expect.any(String), expect.any(String)],
    });
    expect(await documentsOf(message.attachments)).toEqual([
      { contentType: 'text/xml', content: summary.content, patientId },
      { contentType: 'application/pdf', content: scan.content, patientId },
    ]);
    expect(notified()).toMatchObject([
      { report: { disposition: 'processed' } },
    ]);
  });

  test('keeps what no metadata describe, and files beside it, but not how to show it', async () => {
    const xdm = await xdmFile([summary], {
      beside: [
        { name: 'CDA.XSL', content: Buffer.from('<xsl:stylesheet/>') },
        { name: 'LOST.PDF', content: Buffer.from('%PDF') },
      ],
    });
    const note: AttachmentToWrite = {
      fileName: 'note.txt',
      contentType: 'text/plain',
      content: Buffer.from('beside'),
    };

    await arrive([xdm, note], { subject: 'XDM/1.0/DDM', text: '' });

    const [message] = await received();
    expect(message.subject).toBe('Transition of care');
    const documents = await documentsOf(message.attachments);
    expect(documents.map(({ content }) => content.toString())).toEqual([
      summary.content.toString(),
      '%PDF',
      'beside',
    ]);
  });

  test.each([
    ['the metadata of two documents', 'documents'],
    ['its metadata and its context', 'context'],
  ])('belongs to nobody if %s lead to two patients', async (_, by) => {
    const one = newPerson();
    const other = newPerson();
    await addPatient(one);
    await addPatient(other);
    const file = await xdmFile([
      { ...summary, sourcePatientInfo: pidOf(one) },
      {
        ...scan,
        sourcePatientInfo: pidOf(by === 'documents' ? other : one),
      },
    ]);
    const context = {
      id: 'c1',
      patient: {
        givenName: other.firstName,
        surname: other.lastName,
        dateOfBirth: other.dob,
        gender: other.genderAtBirth,
        postalCode: other.address[0]?.zip ?? '',
      },
    };

    await arrive([file], by === 'context' ? { context } : {});

    const [message] = await received();
    expect(message).not.toHaveProperty('patientId');
    expect(message.attachments).toHaveLength(2);
  });

  const twoSets = () => {
    const text = xdmMetadata([summary]);
    const [set = ''] =
      /<rim:RegistryPackage.*<\/rim:RegistryPackage>/s.exec(text) ?? [];
    return text.replace(set, set + set.replaceAll('2.999.1"', '2.999.2"'));
  };
  const refusals: [string, RegExp, () => Promise<AttachmentToWrite[]>][] = [
    [
      'a document has another hash than announced',
      /another hash than its metadata say/,
      async () => [await xdmFile([{ ...summary, hash: '0'.repeat(40) }])],
    ],
    [
      'a document has another size than announced',
      /another size than its metadata say/,
      async () => [await xdmFile([{ ...summary, size: 7 }])],
    ],
    [
      'a document is not there',
      /not there/,
      async () => [
        await xdmFile([summary], { metadata: xdmMetadata([summary, scan]) }),
      ],
    ],
    [
      'a document is named outside of it',
      /not there/,
      async () => [
        await xdmFile([summary], {
          metadata: xdmMetadata([{ ...summary, name: '../../README.TXT' }]),
        }),
      ],
    ],
    [
      'it has two submission sets',
      /exactly one submission set, this one has 2/,
      async () => [await xdmFile([summary], { metadata: twoSets() })],
    ],
    [
      'there are two of it',
      /at most one package/,
      async () => [await xdmFile([summary]), await xdmFile([scan])],
    ],
    [
      'its metadata are no XML',
      /metadata of the package .* cannot be read/,
      async () => [await xdmFile([summary], { metadata: 'hello' })],
    ],
    [
      'its metadata have a DOCTYPE',
      /metadata of the package .* cannot be read/,
      async () => [
        await xdmFile([summary], {
          metadata: `<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>`,
        }),
      ],
    ],
    [
      'its metadata are no submission',
      /exactly one submission set, this one has 0/,
      async () => [await xdmFile([summary], { metadata: '<a/>' })],
    ],
    [
      'it is damaged',
      /is damaged/,
      async () => {
        const file = await xdmFile([summary]);
        return [{ ...file, content: file.content.subarray(0, -20) }];
      },
    ],
    [
      'it has more documents than a message may have',
      /At most 50 documents/,
      async () => [
        await xdmFile(
          Array.from({ length: 51 }, (_, at) => ({
            name: `${at}.TXT`,
            content: Buffer.from('x'),
          })),
        ),
      ],
    ],
  ];

  test.each(refusals)(
    'is not taken if %s: its sender is told why, nothing is stored, and it holds no other',
    async (_, reason, files) => {
      const before = await stored();

      expect(await arrive(await files())).toMatchObject({ returned: 1 });

      expect(await stored()).toEqual(before);
      const [told] = notified();
      expect(told).toMatchObject({
        to: [SENDER],
        report: { disposition: 'failed', finalRecipient: RECEIVES },
        text: expect.stringMatching(reason),
      });
      mails.inbox.empty();
      expect(await arrive([], {})).toMatchObject({ received: 1 });
    },
  );

  test('is told from an ordinary archive, which stays the file that it is', async () => {
    const { content } = await xdmFile([summary]);
    const ordinary = Buffer.from(
      content.toString('latin1').replaceAll('IHE_XDM', 'FOLDERS'),
      'latin1',
    );
    await arrive([
      {
        fileName: 'scans.zip',
        contentType: 'application/zip',
        content: ordinary,
      },
    ]);

    const [message] = await received();
    expect(await documentsOf(message.attachments)).toMatchObject([
      { contentType: 'application/zip', content: ordinary },
    ]);
  });
});

describe('a message to a Direct address', () => {
  async function sent(destination: string): Promise<MailToWrite['messageId']> {
    const patientId = await addPatient();
    const query = await account.call(
      'POST',
      `network/query?patientId=${patientId}`,
      { sources: ['hie'] },
    );
    const blob = await gateway.blobs.put(
      'document',
      summary.content,
      'text/xml',
    );
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
    const answer = await account.call(
      'POST',
      `message?patientId=${patientId}`,
      {
        destination,
        subject: 'Referral',
        body: 'Please see.',
        attachments: [id],
      },
    );
    expect(answer.statusCode, answer.body).toBe(200);
    await createTransmission({
      ...gateway,
      directTransports: createDirectTransports(
        gateway.store,
        testKeyRing(),
        directTrust(gateway),
      ),
    }).transmit({
      accountId: account.accountId,
      messageId: answer.json().id,
    });
    return patientId;
  }

  test.each([`dr.smith@${CLINIC}`, 'Desk@direct.hospital.example'])(
    'that is sent packages (%s) has its attachments in one, with full metadata',
    async (destination) => {
      await giveMailbox(gateway.store, account.accountId, mails, {
        xdmTo: [CLINIC, 'desk@direct.hospital.example'],
      });
      const patientId = await sent(destination);

      const [mail] = notified();
      expect(mail).toMatchObject({
        subject: 'XDM/1.0/DDM+Referral',
        text: expect.stringContaining('Please see.'),
        attachments: [{ fileName: 'xdm.zip', contentType: 'application/zip' }],
      });
      const xdm = await readXdm(
        mail?.attachments[0]?.content ?? Buffer.alloc(0),
      );
      if (xdm === undefined) throw new Error('no package was sent');
      const { submissionSets, documents, faults } = readMediaMetadata(
        readXml(xdm.metadata),
      );
      expect(faults).toEqual([]);
      expect(submissionSets).toMatchObject([
        {
          title: 'Referral',
          intendedRecipients: [`||^^Internet^${destination}`],
        },
      ]);
      const [{ entry, content } = nothing()] = documents;
      expect(entry).toMatchObject({
        mimeType: 'text/xml',
        patient: { id: patientId },
        sourcePatientInfo: expect.arrayContaining([
          expect.stringMatching(/^PID-5\|/),
        ]),
      });
      const uri = content.in === 'attachment' ? content.reference : '';
      const bytes = fileOfXdm(xdm, uri)?.content ?? Buffer.alloc(0);
      expect(bytes.equals(summary.content)).toBe(true);
      expect(submittedContentFaults(entry, bytes)).toEqual([]);
    },
  );

  test('of anybody else has its files one by one', async () => {
    await giveMailbox(gateway.store, account.accountId, mails, {
      xdmTo: [CLINIC],
    });
    await sent('desk@direct.elsewhere.example');

    expect(notified()).toMatchObject([
      { subject: 'Referral', attachments: [{ contentType: 'text/xml' }] },
    ]);
  });
});

function nothing(): never {
  throw new Error('the package has no document');
}
