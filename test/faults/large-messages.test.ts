import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { v7 as uuidv7 } from 'uuid';
import { describe, expect } from 'vitest';
import {
  buildRegistryResponse,
  type DocumentSubmission,
  type Envelope,
  newMessageId,
  plainMessage,
  readEnvelope,
  readSubmission,
  SUBMISSION_ACTIONS,
  submittedContentFaults,
  writeEnvelope,
} from '#ihe';
import { SUBMISSION_CODES } from '../../src/exchange/messaging/messages/xdr/codes.ts';
import { settingsOf } from '../../src/exchange/sources/connections/connection-options.ts';
import { insertConnection } from '../../src/exchange/sources/connections/connection-store.ts';
import { sealCredentials } from '../../src/exchange/sources/connections/settings.ts';
import { parseKeyRing } from '../../src/lib/key-ring.ts';
import { newPerson } from '../support/gateway.ts';
import { THEIR_HOME } from '../support/network-members.ts';
import {
  callGateway,
  type StackAccount,
  type TestStack,
} from '../support/stack.ts';
import { FAULT_TEST } from './fault-stack.ts';
import { killPart } from './kill/kill-part.ts';
import {
  addPatient,
  eventsOf,
  killWorkers,
  type Site,
  test,
} from './network-site.ts';

const FACILITY = '2.16.840.1.113883.3.9621.5.1';
/** The most that the attachments of a message may have. */
const LARGE = randomBytes(20_000_000);
const WAIT = { timeout: 600_000, interval: 500 };

type Person = ReturnType<typeof newPerson>;

const newOid = () => `2.25.${BigInt(`0x${randomUUID().replaceAll('-', '')}`)}`;

function submissionOf(person: Person) {
  const patientId = `p1^^^&${THEIR_HOME}&ISO`;
  return {
    submission: {
      entryUuid: newMessageId(),
      uniqueId: newOid(),
      sourceId: THEIR_HOME,
      patientId,
      submittedAt: new Date(),
      title: 'Twenty megabytes',
      contentType: SUBMISSION_CODES.contentType,
      intendedRecipients: [`Clinic^^^^^^^^^${FACILITY}`],
      documents: [
        {
          metadata: {
            entryUuid: newMessageId(),
            uniqueId: newOid(),
            patientId,
            sourcePatientInfo: [
              `PID-5|${person.lastName}^${person.firstName}`,
              `PID-7|${person.dob.replaceAll('-', '')}`,
              'PID-8|F',
              `PID-11|^^^^${person.address[0]?.zip}`,
            ],
            mimeType: 'application/octet-stream',
            creationTime: '20260301120000',
            size: LARGE.length,
            hash: sha1(LARGE),
            classCode: SUBMISSION_CODES.class,
            typeCode: SUBMISSION_CODES.type,
            formatCode: SUBMISSION_CODES.format,
          },
          content: { contentId: 'large@their.test' },
        },
      ],
    },
    attachments: [
      {
        contentId: 'large@their.test',
        contentType: 'application/octet-stream',
        bytes: LARGE,
      },
    ],
  };
}

const sha1 = (bytes: Uint8Array) =>
  createHash('sha1').update(bytes).digest('hex');
const sha256 = (bytes: Uint8Array) =>
  createHash('sha256').update(bytes).digest('hex');

/** What is stored of the account's inbound messages, blobs checked. */
const inboundOf = (stack: TestStack, { accountId }: StackAccount) =>
  stack.rows<{ id: string; documents: { id: string; sha256: string }[] }>(
    `select message.id, (select json_agg(json_build_object('id', document.id, 'sha256', encode(document.sha256, 'hex')))
       from document where document.message_id = message.id) as documents
     from message where account_id = $1 and direction = 'inbound'`,
    [accountId],
  );

/** Where a test interferes with a recipient: once each. */
interface Moments {
  /** When a part of a message has come. */
  midway?: (() => Promise<void>) | undefined;
  /** When it has been taken, before that is answered. */
  taken?: (() => Promise<void>) | undefined;
}

/** A gateway that takes messages, and knows those that come again by their ids. */
async function startRecipient(moments: Moments) {
  const taken = new Map<string, Buffer>();
  let attempts = 0;
  const server = createServer(async (request, response) => {
    attempts += 1;
    try {
      const envelope = await readEnvelope(
        midway(request, moments),
        request.headers['content-type'],
      );
      const { uniqueId, bytes } = contentOf(envelope);
      const isKnown = taken.has(uniqueId);
      taken.set(uniqueId, bytes);
      const { taken: pause } = moments;
      moments.taken = undefined;
      await pause?.();
      const message = plainMessage(
        writeEnvelope({
          action: SUBMISSION_ACTIONS.submitResponse,
          messageId: newMessageId(),
          relatesTo: envelope.messageId ?? '',
          body: isKnown
            ? buildRegistryResponse('Failure', [
                { code: 'XDSDuplicateUniqueIdInRegistry', context: '' },
              ])
            : buildRegistryResponse('Success'),
        }),
        SUBMISSION_ACTIONS.submitResponse,
      );
      response.setHeader('content-type', message.contentType);
      for await (const chunk of message.body) response.write(chunk);
      response.end();
    } catch {
      response.destroy();
    }
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/xdr`,
    taken,
    attempts: () => attempts,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function* midway(
  bytes: AsyncIterable<Uint8Array>,
  moments: Moments,
): AsyncGenerator<Uint8Array> {
  let length = 0;
  for await (const chunk of bytes) {
    yield chunk;
    length += chunk.byteLength;
    const { midway: pause } = moments;
    if (length < LARGE.length / 2 || pause === undefined) continue;
    moments.midway = undefined;
    await pause();
  }
}

function contentOf(envelope: Envelope): { uniqueId: string; bytes: Buffer } {
  if (envelope.payload === undefined) throw new Error('an empty message');
  const submission: DocumentSubmission = readSubmission(envelope.payload);
  const [set] = submission.submissionSets;
  const [document] = submission.documents;
  if (document?.content.in !== 'attachment') throw new Error('no document');
  const bytes = envelope.attachment(document.content.reference)?.stored;
  if (bytes === undefined || set?.uniqueId === undefined)
    throw new Error('no bytes');
  if (submittedContentFaults(document.entry, bytes).length > 0)
    throw new Error('other bytes');
  return { uniqueId: set.uniqueId, bytes };
}

/** Sends to the account as another member of its network. */
const sendTo = (
  { asker }: Site,
  { submission, attachments }: ReturnType<typeof submissionOf>,
): Promise<string> =>
  asker.submit(submission, attachments).then(
    ({ outcome }) => outcome,
    () => 'no answer',
  );

describe('a message of 20 MB', FAULT_TEST, () => {
  test('by XDR in is there once, whole, however often the gateway was killed in it', async ({
    stack,
    site,
  }) => {
    const { account } = site;
    const person = newPerson();
    const patientId = await addPatient(stack, account, person);
    const message = submissionOf(person);
    const outcomes: string[] = [];
    // From the handshake to the answer it takes a second or so.
    for (const afterMs of [150, 400, 800, 1_600]) {
      const sending = sendTo(site, message);
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      await killPart(stack, 'gateway');
      outcomes.push(await sending);
    }
    await expect
      .poll(async () => {
        outcomes.push(await sendTo(site, message));
        return outcomes.at(-1);
      }, WAIT)
      .toBe('accepted');

    expect(outcomes).toContain('no answer');
    const inbound = await inboundOf(stack, account);
    expect(inbound.map(({ documents }) => documents.length)).toEqual([1]);
    expect(inbound[0]?.documents[0]?.sha256).toBe(sha256(LARGE));
    expect(await eventsOf(stack, account, 'message.received')).toHaveLength(1);
    const about = await stack.rows<{ patient_id: string }>(
      'select patient_id from message where account_id = $1',
      [account.accountId],
    );
    expect(about).toEqual([{ patient_id: patientId }]);
  });

  test('by XDR out is taken once, whole, and completed, when the workers were killed in it and after it', async ({
    stack,
    site,
  }) => {
    const { account } = site;
    const person = newPerson();
    const patientId = await addPatient(stack, account, person);
    await expect
      .poll(() => sendTo(site, submissionOf(person)), WAIT)
      .toBe('accepted');
    const [inbound] = await inboundOf(stack, account);
    const recipient = await startRecipient({
      midway: () => killWorkers(stack),
      taken: () => killWorkers(stack),
    });
    await connect(stack, site, recipient.url);

    const sent = await callGateway(
      stack.connection,
      account,
      'POST',
      `message?patientId=${patientId}`,
      {
        body: {
          destination: '2.999.2.77',
          subject: 'Twenty megabytes',
          attachments: inbound?.documents.map(({ id }) => id),
        },
      },
    );
    const statusOf = async () => {
      const [row] = await stack.rows<{ status: string }>(
        'select status from message where id = $1',
        [sent.body.id],
      );
      return row?.status;
    };
    await expect.poll(statusOf, WAIT).toBe('completed');

    expect(recipient.attempts()).toBe(3);
    expect([...recipient.taken.values()].map(sha256)).toEqual([sha256(LARGE)]);
    expect(await eventsOf(stack, account, 'message.status')).toHaveLength(1);
    recipient.close();
  });
});

async function connect(
  stack: TestStack,
  { account, store }: Site,
  submissionUrl: string,
): Promise<void> {
  const id = uuidv7();
  const keyRing = parseKeyRing(stack.secrets.dataKeys);
  await store.asSystem((tx) =>
    insertConnection(tx, {
      id,
      accountId: account.accountId,
      source: 'hie',
      name: 'Network',
      baseUrl: 'https://gateway.example/discovery',
      settings: settingsOf({
        protocol: 'ihe',
        queryUrl: 'https://gateway.example/query',
        retrieveUrl: 'https://gateway.example/retrieve',
        submissionUrl,
        homeCommunity: THEIR_HOME,
        ownHomeCommunity: '2.999.1',
      }),
      authKind: 'none',
      credentials: sealCredentials(keyRing, id, {
        auth: { kind: 'none' },
        tls: {},
      }),
      namespace: `${id.slice(-6)}~`,
      enabled: true,
    }),
  );
}
