import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
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
  buildRegistryResponse,
  type DocumentSubmission,
  descendantsNamed,
  type Envelope,
  newMessageId,
  plainMessage,
  readEnvelope,
  readSubmission,
  SUBMISSION_ACTIONS,
  submittedContentFaults,
  writeEnvelope,
  xmlText,
} from '#ihe';
import {
  createTransmission,
  type Transmission,
} from '../../src/exchange/messaging/messages/transmission.ts';
import { ownConnections } from '../../src/exchange/sources/connections/connection-store.ts';
import { createSourceConnections } from '../../src/exchange/sources/connections/connections.ts';
import {
  connectionForMessages,
  createSubmissions,
} from '../../src/exchange/sources/connections/submissions.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { connectForSubmissions } from '../support/submission-connection.ts';
import { testKeyRing } from '../support/test-keys.ts';

const OURS = '2.16.840.1.113883.3.9999.2';
const THEIR_GATEWAY = '2.16.840.1.113883.3.9999.1';
const CLINIC = '2.16.840.1.113883.3.9999.1.77';
const NPI = '1234567893';

interface Received {
  envelope: Envelope;
  submission: DocumentSubmission;
}

/** A gateway that takes submissions, and what it took. */
async function startRecipient() {
  const received: Received[] = [];
  let codes: readonly string[] = [];
  const server = createServer(async (request, response) => {
    const envelope = await readEnvelope(
      request,
      request.headers['content-type'],
    );
    if (envelope.payload === undefined) throw new Error('an empty message');
    received.push({ envelope, submission: readSubmission(envelope.payload) });
    const message = plainMessage(
      writeEnvelope({
        action: SUBMISSION_ACTIONS.submitResponse,
        messageId: newMessageId(),
        relatesTo: envelope.messageId ?? '',
        body: buildRegistryResponse(
          codes.length === 0 ? 'Success' : 'Failure',
          codes.map((code) => ({ code, context: 'Ada Lovelace' })),
        ),
      }),
      SUBMISSION_ACTIONS.submitResponse,
    );
    response.setHeader('content-type', message.contentType);
    for await (const chunk of message.body) response.write(chunk);
    response.end();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/xdr`,
    received,
    /** The errors with which it answers from now on; none: it takes all. */
    refuseWith(...errors: string[]) {
      codes = errors;
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

let recipient: Awaited<ReturnType<typeof startRecipient>>;
let gateway: TestGateway;
let account: TestAccount;
let transmission: Transmission;

beforeAll(async () => {
  recipient = await startRecipient();
  gateway = await createTestGateway();
  account = await gateway.addAccount();
  await connectForSubmissions(gateway.store, account.accountId, {
    submissionUrl: recipient.url,
    submissionNetwork: 'CAREQUALITY',
    homeCommunity: THEIR_GATEWAY,
    ownHomeCommunity: OURS,
  });
  transmission = createTransmission({
    ...gateway,
    submissions: createSubmissions(
      { store: gateway.store, keyRing: testKeyRing() },
      {},
    ),
  });
});
afterAll(async () => {
  await gateway.close();
  await recipient.close();
});
beforeEach(() => {
  recipient.received.length = 0;
  recipient.refuseWith();
});

async function addPatient(): Promise<string> {
  const created = await account.call(
    'POST',
    `patient?facilityId=${account.facilityId}`,
    {
      ...newPerson(),
      firstName: 'Zoë',
      lastName: 'O^Brien & Sons',
      dob: '1985-12-10',
      genderAtBirth: 'F',
    },
  );
  return created.json().id;
}

async function addDocument(patientId: string, text: string): Promise<string> {
  const query = await account.call(
    'POST',
    `network/query?patientId=${patientId}`,
    { sources: ['hie'] },
  );
  const blob = await gateway.blobs.put(
    'document',
    Buffer.from(text),
    'application/xml',
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
  return id;
}

const note = { destination: CLINIC, subject: 'Referral', body: 'Please see.' };

async function send(body: object = note, patientId?: string): Promise<string> {
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

describe('a message to an OID', () => {
  test('arrives with its text and attachments as documents, whole and with full metadata', async () => {
    const patientId = await addPatient();
    const document = await addDocument(patientId, '<ClinicalDocument/>');
    const id = await send(
      { ...note, attachments: [document], intendedRecipientNpi: [NPI] },
      patientId,
    );

    await expect(transmit(id)).resolves.toEqual({ state: 'completed' });

    const [{ envelope, submission } = nothing()] = recipient.received;
    expect(submission.faults).toEqual([]);
    expect(submission.submissionSets).toMatchObject([
      {
        title: 'Referral',
        sourceId: OURS,
        patientId: `${patientId}^^^&${OURS}&ISO`,
        intendedRecipients: [
          `${CLINIC}^^^^^^^^^${CLINIC}|${NPI}^^^^^^^^&2.16.840.1.113883.4.6&ISO`,
        ],
      },
    ]);
    const contents = submission.documents.map(({ entry, content }) => {
      const bytes = bytesOf(envelope, content);
      expect(submittedContentFaults(entry, bytes)).toEqual([]);
      return [entry.mimeType, bytes.toString()];
    });
    expect(contents).toEqual([
      ['text/plain', 'Please see.'],
      ['application/xml', '<ClinicalDocument/>'],
    ]);
    expect(submission.documents[0]?.entry.sourcePatientInfo).toEqual(
      expect.arrayContaining([
        `PID-3|${patientId}^^^&${OURS}&ISO`,
        'PID-5|O\\S\\Brien \\T\\ Sons^Zoë',
        'PID-7|19851210',
        'PID-8|F',
      ]),
    );
    expect(await read(id)).toMatchObject({ status: 'completed' });
  });

  test('says for which organization behind the gateway it is', async () => {
    await transmit(await send());

    expect(homeCommunitiesOf(recipient.received)).toEqual([
      `urn:oid:${CLINIC}`,
    ]);

    await transmit(await send({ ...note, destination: THEIR_GATEWAY }));
    expect(homeCommunitiesOf(recipient.received)).toEqual([
      `urn:oid:${CLINIC}`,
    ]);
  });

  test('is the same submission when its answer was lost, and has arrived when they know it', async () => {
    recipient.refuseWith('XDSRepositoryBusy');
    const id = await send();
    await expect(transmit(id)).rejects.toThrow('XDSRepositoryBusy');
    expect(await read(id)).toMatchObject({ status: 'processing' });

    recipient.refuseWith('XDSDuplicateUniqueIdInRegistry');
    await expect(transmit(id)).resolves.toEqual({ state: 'completed' });

    const [first, second] = recipient.received.map(({ submission }) => [
      submission.submissionSets[0]?.uniqueId,
      ...submission.documents.map(({ entry }) => entry.uniqueId),
    ]);
    expect(second).toEqual(first);
  });

  test.each([
    ['XDSRepositoryMetadataError', /check the destination/],
    ['XDSUnknownCommunity', /does not know the recipient/],
  ])(
    'that they refuse with %s has failed, in our words',
    async (code, reason) => {
      recipient.refuseWith(code);
      const id = await send();

      await expect(transmit(id)).resolves.toMatchObject({ state: 'failed' });

      const message = await read(id);
      expect(message).toMatchObject({
        status: 'failed',
        reason: expect.stringMatching(reason),
      });
      expect(JSON.stringify(message)).not.toContain('Lovelace');
    },
  );

  test('whose patient is gone has failed for that reason', async () => {
    const id = await send();
    await gateway.store.asAccount(account.accountId, (tx) =>
      tx.db
        .updateTable('message')
        .set({ patient_id: null })
        .where('id', '=', id)
        .execute(),
    );

    await expect(transmit(id)).resolves.toEqual({
      state: 'failed',
      reason: 'The patient no longer exists',
    });
    expect(recipient.received).toEqual([]);
  });

  test('is refused at once where no connection takes messages for its network, and nothing else carries them', async () => {
    const patientId = await addPatient();
    for (const change of [
      { network: 'EHEX' },
      { destination: 'dr@direct.example.org' },
    ]) {
      const answer = await account.call(
        'POST',
        `message?patientId=${patientId}`,
        { ...note, ...change },
      );
      expect(answer.statusCode).toBe(503);
      expect(answer.json().detail).toMatch(/cannot be sent/);
    }
  });
});

function nothing(): never {
  throw new Error('nothing was received');
}

function bytesOf(
  envelope: Envelope,
  content: DocumentSubmission['documents'][number]['content'],
): Buffer {
  if (content.in !== 'attachment') throw new Error(`in ${content.in}`);
  return envelope.attachment(content.reference)?.stored ?? nothing();
}

function homeCommunitiesOf(received: readonly Received[]): string[] {
  return received.flatMap(({ envelope }) =>
    descendantsNamed(envelope.header, XDR, 'homeCommunityId').map(
      (element) => xmlText(element) ?? '',
    ),
  );
}

const XDR = 'urn:ihe:iti:xdr:2014';

test('a connection for messages only takes them, and no source is asked by it', async () => {
  const own = await gateway.addAccount();
  await connectForSubmissions(gateway.store, own.accountId, {
    submissionUrl: recipient.url,
    messagesOnly: 'true',
  });
  const connections = createSourceConnections(
    { store: gateway.store, keyRing: testKeyRing() },
    {},
  );
  const [takes, asked, held] = await gateway.store.asAccount(
    own.accountId,
    async (tx) => [
      await connectionForMessages(tx, 'CAREQUALITY'),
      await connections.toAsk(tx, 'hie', []),
      await ownConnections(tx),
    ],
  );
  expect(takes?.settings.ihe?.submissionUrl).toBe(recipient.url);
  // As for an account without a connection of its own.
  expect(asked).toBeUndefined();
  expect(held).toEqual(new Map());
});
