import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  buildSubmission,
  type OutgoingAttachment,
  readSubmissionResponse,
  SUBMISSION_ACTIONS,
  type SubmissionToBuild,
  XmlFragment,
  xml,
} from '#ihe';
import type { Message } from '../../src/contract/messages.ts';
import { SUBMISSION_CODES } from '../../src/exchange/messaging/messages/xdr/codes.ts';
import { insertFacility } from '../../src/exchange/people/facilities/facility-store.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import {
  askerAt,
  criteriaFor,
  joinNetwork,
  makeNetworkOf,
  openTestRespondingGateway,
  type TestAsker,
  THEIR_HOME,
} from '../support/network-members.ts';

const NPI = '1234567893';

type Person = ReturnType<typeof newPerson>;
type Port = Awaited<ReturnType<typeof openTestRespondingGateway>>;
type Network = Awaited<ReturnType<typeof makeNetworkOf<'ours' | 'theirs'>>>;

let gateway: TestGateway;
let account: TestAccount;
let facility: string;
let network: Network;
let port: Port;
let membership: string;
let asker: TestAsker;
/** Set, the next blob cannot be stored. */
let isDiskFull = false;
/** Blobs are stored when it has resolved. */
let storing: Promise<void> | undefined;
let waitingBlobs = 0;

beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount();
  facility = await facilityOf(account);
  network = await makeNetworkOf('ours', 'theirs');
  membership = await joinNetwork(gateway, account.accountId, network.authority);
  const { blobs, store } = gateway;
  port = await openTestRespondingGateway(
    {
      store,
      blobs: {
        ...blobs,
        read: (...of) => blobs.read(...of),
        delete: (...of) => blobs.delete(...of),
        put: async (...of) => {
          waitingBlobs += 1;
          await storing;
          waitingBlobs -= 1;
          if (isDiskFull) throw new Error('The disk is full');
          return blobs.put(...of);
        },
      } as TestGateway['blobs'],
    },
    network.members.ours,
  );
  asker = askerAt(
    port.addressOf(membership),
    network.members.theirs,
    network.authority,
  );
});
afterAll(async () => {
  await asker.client.close();
  await port.close();
  await gateway.close();
});

const facilityOf = ({ accountId }: TestAccount): Promise<string> =>
  gateway.store.asAccount(accountId, async (tx) => {
    const { oid } = await tx.db
      .selectFrom('facility')
      .select('oid')
      .executeTakeFirstOrThrow();
    return oid;
  });

const addFacility = ({ accountId }: TestAccount, oid: string) =>
  gateway.store.asAccount(accountId, (tx) =>
    insertFacility(tx, {
      id: randomUUID(),
      oid,
      name: `Clinic ${oid}`,
      npi: '1679576722',
      tin: null,
      address: {
        addressLine1: '2 Main St',
        city: 'Boston',
        state: 'MA',
        zip: '02108',
        country: 'USA',
      },
    }),
  );

interface File {
  text: string;
  title?: string;
  mimeType?: string;
  changes?: object;
}

interface Sent {
  submission: SubmissionToBuild;
  attachments: OutgoingAttachment[];
}

const uuidUrn = () => `urn:uuid:${randomUUID()}`;
const newOid = () => `2.25.${BigInt(`0x${randomUUID().replaceAll('-', '')}`)}`;

/** A submission about a person, to our facility. */
function submissionOf(
  person: Person,
  files: readonly File[],
  changes: Partial<SubmissionToBuild> = {},
): Sent {
  const patientId = `p1^^^&${THEIR_HOME}&ISO`;
  const documents = files.map(({ text, title, mimeType, changes: more }) => {
    const bytes = Buffer.from(text);
    const entryUuid = uuidUrn();
    return {
      bytes,
      metadata: {
        entryUuid,
        uniqueId: newOid(),
        patientId,
        sourcePatientId: patientId,
        sourcePatientInfo: sourceOf(person),
        mimeType: mimeType ?? 'text/plain',
        creationTime: '20260301120000',
        title: title ?? 'Letter',
        size: bytes.length,
        hash: createHash('sha1').update(bytes).digest('hex'),
        classCode: SUBMISSION_CODES.class,
        typeCode: SUBMISSION_CODES.type,
        formatCode: SUBMISSION_CODES.format,
        facilityType: SUBMISSION_CODES.facility,
        practiceSetting: SUBMISSION_CODES.practice,
        confidentiality: [SUBMISSION_CODES.confidentiality],
        ...more,
      },
    };
  });
  const contentIdOf = (at: number) => `d${at}@their.test`;
  return {
    submission: {
      entryUuid: uuidUrn(),
      uniqueId: newOid(),
      sourceId: THEIR_HOME,
      patientId,
      submittedAt: new Date('2026-03-01T12:00:00Z'),
      title: `Referral ${randomUUID()}`,
      contentType: SUBMISSION_CODES.contentType,
      intendedRecipients: [recipient(facility)],
      documents: documents.map(({ metadata }, at) => ({
        metadata,
        content: { contentId: contentIdOf(at) },
      })),
      ...changes,
    },
    attachments: documents.map(({ bytes, metadata }, at) => ({
      contentId: contentIdOf(at),
      contentType: metadata.mimeType,
      bytes,
    })),
  };
}

const recipient = (oid: string, npi = NPI) =>
  `Clinic^^^^^^^^^${oid}|${npi}^Jones^Ann^^^^^^&2.16.840.1.113883.4.6&ISO|^^Internet^jones@direct.example`;

const sourceOf = ({ firstName, lastName, dob, address }: Person) => [
  `PID-3|p1^^^&${THEIR_HOME}&ISO`,
  `PID-5|${lastName}^${firstName}`,
  `PID-7|${dob.replaceAll('-', '')}`,
  'PID-8|F',
  `PID-11|12 Beacon Street^^Boston^MA^${address[0]?.zip}^USA`,
];

const submit = ({ submission, attachments }: Sent, ...headers: XmlFragment[]) =>
  asker.submit(submission, attachments, headers);

/** With the XML of the message changed by hand. */
async function submitChanged(
  { submission, attachments }: Sent,
  change: (written: string) => string,
) {
  const body = new XmlFragment(change(String(buildSubmission(submission))));
  const { payload } = await asker.send(SUBMISSION_ACTIONS.submit, body, {
    mtom: attachments,
  });
  if (payload === undefined) throw new Error('an empty answer');
  return readSubmissionResponse(payload);
}

const outcomeOf = ({
  outcome,
  problems,
}: Awaited<ReturnType<typeof submit>>) => [
  outcome,
  ...problems.map(({ code }) => code),
];

async function addPatient(person: Person): Promise<string> {
  const created = await account.call(
    'POST',
    `patient?facilityId=${account.facilityId}`,
    person,
  );
  expect(created.statusCode, created.body).toBe(201);
  return created.json().id;
}

/** The messages with this subject, as `message.received` announced them. */
const announced = (subject = ''): Promise<Message[]> =>
  gateway.store.asSystem(async (tx) => {
    const rows = await tx.db
      .selectFrom('event')
      .select('body')
      .where('type', '=', 'message.received')
      .execute();
    return rows
      .map(({ body }) => (body as unknown as { payload: Message }).payload)
      .filter((payload) => payload.subject === subject);
  });

describe('a submission by XDR', () => {
  test('becomes a message about the patient whom it describes, with its documents in the record', async () => {
    const person = newPerson();
    const patientId = await addPatient(person);
    const text = 'Dear colleague: ÄÖÜ \u0000\r\n--boundary';
    const sent = submissionOf(person, [
      { text, title: 'Letter\u0007 of Ann' },
      { text: '%PDF-1.4', mimeType: 'application/pdf' },
    ]);

    expect(outcomeOf(await submit(sent))).toEqual(['accepted']);

    const [message, ...others] = await announced(sent.submission.title);
    expect(others).toEqual([]);
    expect(message).toMatchObject({
      patientId,
      direction: 'inbound',
      status: 'completed',
      transportMethod: 'xdr',
      network: 'CAREQUALITY',
      destination: facility,
      intendedRecipientNpi: [NPI],
    });
    const [document = ''] = message?.attachments ?? [];
    const link = await account.call(
      'GET',
      `document/download-url?fileName=${document}`,
    );
    const read = await gateway.app.inject({
      method: 'GET',
      url: new URL(link.json().url).pathname,
    });
    expect(read.body).toBe(text);
    const list = await account.call('GET', `document?patientId=${patientId}`);
    expect(list.json().documents).toHaveLength(2);

    const audited = await gateway.store.asSystem((tx) =>
      tx.db
        .selectFrom('audit_entry')
        .select(['actor', 'outcome', 'target_id'])
        .where('operation', '=', 'gatewaySubmission')
        .where('patient_id', '=', patientId)
        .execute(),
    );
    expect(audited).toEqual([
      {
        actor: `community:${THEIR_HOME}`,
        outcome: '200',
        target_id: message?.id,
      },
    ]);
  });

  test('that is sent again is the same message, and with other bytes another one', async () => {
    const sent = submissionOf(newPerson(), [{ text: 'One' }]);
    const again = submissionOf(newPerson(), [{ text: 'Two' }], {
      uniqueId: sent.submission.uniqueId,
      title: sent.submission.title,
    });

    const answers = await Promise.all([submit(sent), submit(sent)]);
    answers.push(await submit(sent));
    expect(answers.map(outcomeOf)).toEqual([
      ['accepted'],
      ['accepted'],
      ['accepted'],
    ]);
    expect(await announced(sent.submission.title)).toHaveLength(1);

    expect(outcomeOf(await submit(again))).toEqual(['accepted']);
    expect(await announced(sent.submission.title)).toHaveLength(2);
  });

  test('goes to the organization that the header names, whatever the submission set says', async () => {
    const behind = '2.999.5.1';
    await addFacility(account, behind);
    const block = (oid: string) => xml`
      <xdr:homeCommunityBlock xmlns:xdr="urn:ihe:iti:xdr:2014" xmlns:s="http://www.w3.org/2003/05/soap-envelope" s:mustUnderstand="true">
        <xdr:homeCommunityId>urn:oid:${oid}</xdr:homeCommunityId>
      </xdr:homeCommunityBlock>`;

    const sent = submissionOf(newPerson(), [{ text: 'Behind' }]);
    expect(outcomeOf(await submit(sent, block(behind)))).toEqual(['accepted']);
    expect(await announced(sent.submission.title)).toMatchObject([
      { destination: behind },
    ]);

    const unknown = submissionOf(newPerson(), [{ text: 'Nowhere' }]);
    expect(outcomeOf(await submit(unknown, block('2.999.77')))).toEqual([
      'failed',
      'XDSUnknownCommunity',
    ]);
    expect(await announced(unknown.submission.title)).toEqual([]);
  });

  test('with its bytes in the XML is taken as one with attachments', async () => {
    const sent = submissionOf(newPerson(), [{ text: 'Inline' }]);
    const [{ metadata } = { metadata: undefined }] = sent.submission.documents;
    if (metadata === undefined) throw new Error('no document');
    const inline = {
      ...sent.submission,
      documents: [{ metadata, content: { bytes: Buffer.from('Inline') } }],
    };

    const answer = await asker.submit(inline);
    expect(outcomeOf(answer)).toEqual(['accepted']);
    expect(await announced(inline.title)).toHaveLength(1);
  });

  test('is about nobody whom it does not describe beyond doubt', async () => {
    const person = newPerson();
    await addPatient(person);
    const other = newPerson();
    await addPatient(other);
    const described: [string, File[]][] = [
      [
        'another birthday',
        [
          {
            text: 'a',
            changes: {
              sourcePatientInfo: sourceOf({ ...person, dob: '1981-04-05' }),
            },
          },
        ],
      ],
      [
        'no zip',
        [
          {
            text: 'b',
            changes: { sourcePatientInfo: sourceOf(person).slice(0, 4) },
          },
        ],
      ],
      ['nothing', [{ text: 'c', changes: { sourcePatientInfo: [] } }]],
      [
        'two people',
        [
          { text: 'd' },
          { text: 'e', changes: { sourcePatientInfo: sourceOf(other) } },
        ],
      ],
    ];
    for (const [what, files] of described) {
      const sent = submissionOf(person, files);
      expect(outcomeOf(await submit(sent)), what).toEqual(['accepted']);
      const [message] = await announced(sent.submission.title);
      expect(message?.attachments, what).toHaveLength(files.length);
      expect(message?.patientId, what).toBeUndefined();
    }
  });

  test('names a person as HL7 v2 writes one', async () => {
    const person = newPerson({
      firstName: 'Zoë Ann',
      lastName: "O'Hara-Smythe & Sons Jr",
    });
    const patientId = await addPatient(person);
    const sent = submissionOf(person, [
      {
        text: 'Escaped',
        changes: {
          sourcePatientInfo: [
            ...sourceOf(person).filter((line) => !line.startsWith('PID-5')),
            "PID-5|O'Hara-Smythe \\T\\ Sons&O&Hara^Zoë^Ann^Jr^Dr^^L~Other^Name",
          ],
        },
      },
    ]);

    expect(outcomeOf(await submit(sent))).toEqual(['accepted']);
    expect(await announced(sent.submission.title)).toMatchObject([
      { patientId },
    ]);
  });

  test('says what of it was not processed: folders, and what documents replace', async () => {
    const sent = submissionOf(newPerson(), [{ text: 'Replaces' }]);
    const answer = await submitChanged(sent, (written) =>
      written.replace(
        '</rim:RegistryObjectList>',
        `<rim:RegistryPackage id="folder"/>
         <rim:Association id="a" associationType="urn:ihe:iti:2007:AssociationType:RPLC" sourceObject="x" targetObject="y"/>
         </rim:RegistryObjectList>`,
      ),
    );

    expect(outcomeOf(answer)).toEqual([
      'accepted',
      'PartialFolderContentNotProcessed',
      'PartialReplaceContentNotProcessed',
    ]);
    expect(await announced(sent.submission.title)).toHaveLength(1);
  });
});

describe('a submission is refused, and nothing of it is stored,', () => {
  const refused = async (
    sent: Sent,
    answer: Promise<Awaited<ReturnType<typeof submit>>>,
  ) => {
    const { outcome, problems } = await answer;
    expect(outcome).toBe('failed');
    expect(await announced(sent.submission.title)).toEqual([]);
    const words = problems.map((each) => each.confidentialContext()).join();
    expect(words).not.toMatch(/sample|zebra|beacon/i);
    return problems.map(({ code }) => code);
  };
  const one = (file: Partial<File> = {}, changes = {}) =>
    submissionOf(newPerson(), [{ text: 'zebra', ...file }], changes);

  test.each<[string, object, string[]]>([
    [
      'whose hash is another',
      { hash: '0'.repeat(40) },
      ['XDSNonIdenticalHash'],
    ],
    ['whose size is another', { size: 6 }, ['XDSNonIdenticalSize']],
    ['without unique id', { uniqueId: '' }, ['XDSRepositoryMetadataError']],
    [
      'of another patient',
      { patientId: 'p2^^^&2.999.2&ISO' },
      ['XDSPatientIdDoesNotMatch'],
    ],
    ['made on demand', { isOnDemand: true }, ['XDSRepositoryMetadataError']],
  ])('with a document %s', async (_, changes, codes) => {
    const sent = one({ changes });
    expect(await refused(sent, submit(sent))).toEqual(codes);
  });

  test('with two submission sets', async () => {
    const sent = one();
    const answer = submitChanged(sent, (written) =>
      written.replace(
        /<rim:RegistryPackage [\s\S]*?<\/rim:RegistryPackage>/,
        (set) => set + set.replaceAll(sent.submission.uniqueId, newOid()),
      ),
    );
    expect(await refused(sent, answer)).toEqual(['XDSRepositoryMetadataError']);
  });

  test('whose attachment did not come', async () => {
    const sent = one();
    expect(await refused(sent, submit({ ...sent, attachments: [] }))).toEqual([
      'XDSMissingDocument',
    ]);
  });

  test('to an organization of another account, or to nobody', async () => {
    const other = await gateway.addAccount();
    const theirs = '2.999.5.5';
    await addFacility(other, theirs);
    for (const intendedRecipients of [[recipient(theirs)], [], ['|||']]) {
      const sent = one({}, { intendedRecipients });
      expect(await refused(sent, submit(sent))).toEqual([
        'XDSUnknownCommunity',
      ]);
    }
  });

  test('with more than 20 MB of documents', async () => {
    const sent = one({ text: 'x'.repeat(20_000_001) });
    expect(await refused(sent, submit(sent))).toEqual(['XDSRepositoryError']);
  });

  test('without documents', async () => {
    const sent = submissionOf(newPerson(), []);
    expect(await refused(sent, submit(sent))).toEqual([
      'XDSRepositoryMetadataError',
    ]);
  });
});

describe('a message that is not what it should be is answered by a fault, and nothing of it is stored,', () => {
  const faultOf = async (sent: Sent, attachments = sent.attachments) => {
    const answer = submit({ ...sent, attachments });
    await expect(answer).rejects.toMatchObject({ code: 'fault.sender' });
    expect(await announced(sent.submission.title)).toEqual([]);
  };

  test('with more parts than documents may be there', async () => {
    const sent = submissionOf(newPerson(), [{ text: 'One' }]);
    const [one] = sent.attachments;
    if (one === undefined) throw new Error('no attachment');
    const many = Array.from({ length: 60 }, (_, at) => ({
      ...one,
      contentId: `part${at}@their.test`,
    }));
    await faultOf(sent, [...sent.attachments, ...many]);
  });

  test('with 30 MB', async () => {
    await faultOf(
      submissionOf(newPerson(), [{ text: 'x'.repeat(30_000_000) }]),
    );
  });

  test('with more metadata than a message has', async () => {
    const sent = submissionOf(newPerson(), [{ text: 'One' }]);
    sent.submission.title = 'x'.repeat(1_100_000);
    await faultOf(sent);
  });
});

test('a document that points at the message itself has no bytes, and a title is text', async () => {
  const title = '../../etc/passwd <script>alert(1)</script>';
  const sent = submissionOf(newPerson(), [{ text: 'One', title }]);
  const pointing = submissionOf(newPerson(), [{ text: 'One' }]);
  const answer = await submitChanged(pointing, (written) =>
    written.replace(
      'cid:d0@their.test',
      'cid:root.message@medical-data-exchange',
    ),
  );
  expect(outcomeOf(answer)).toEqual(['failed', 'XDSMissingDocument']);

  expect(outcomeOf(await submit(sent))).toEqual(['accepted']);
  const [message] = await announced(sent.submission.title);
  const files = await gateway.store.asAccount(account.accountId, (tx) =>
    tx.db
      .selectFrom('document')
      .select('file_name')
      .where('message_id', '=', message?.id ?? '')
      .execute(),
  );
  expect(files[0]?.file_name).toMatch(/^message-[0-9a-f-]+\.txt$/);
});

test('a second large submission of one certificate is asked to wait while the first is under way, and a question is not', async () => {
  const large = () =>
    submissionOf(newPerson(), [{ text: 'x'.repeat(2_000_000) }]);
  const first = large();
  const second = large();
  const held = Promise.withResolvers<void>();
  storing = held.promise;
  const answer = submit(first);
  await expect.poll(() => waitingBlobs).toBe(1);
  try {
    await expect(submit(second)).rejects.toMatchObject({ status: 503 });
    expect(await asker.discover(criteriaFor(newPerson()))).toMatchObject({
      outcome: 'nobody',
    });
  } finally {
    held.resolve();
    storing = undefined;
  }

  expect(outcomeOf(await answer)).toEqual(['accepted']);
  expect(await announced(second.submission.title)).toEqual([]);
  expect(outcomeOf(await submit(second))).toEqual(['accepted']);
});

test('a submission that could not be stored is a failure of ours, and is taken when it comes again', async () => {
  const person = newPerson();
  const patientId = await addPatient(person);
  const sent = submissionOf(person, [{ text: 'Full' }]);
  isDiskFull = true;
  try {
    await expect(submit(sent)).rejects.toMatchObject({
      code: 'fault.receiver',
    });
  } finally {
    isDiskFull = false;
  }
  expect(await announced(sent.submission.title)).toEqual([]);

  expect(outcomeOf(await submit(sent))).toEqual(['accepted']);
  expect(await announced(sent.submission.title)).toMatchObject([{ patientId }]);
});
