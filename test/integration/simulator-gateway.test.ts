import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
} from 'vitest';
import {
  accountForRetrieval,
  buildFindDocuments,
  buildPatientDiscovery,
  buildRetrieve,
  CROSS_GATEWAY_ACTIONS,
  DISCOVERY_ACTIONS,
  type DiscoveryCriteria,
  type DocumentReferenceIds,
  mtomMessage,
  newMessageId,
  plainMessage,
  readEnvelope,
  readFindDocumentsResponse,
  readPatientDiscoveryResponse,
  readRetrieveResponse,
  writeEnvelope,
  writeHl7Date,
  type XmlFragment,
} from '#ihe';
import type { GatewayTrouble } from '../../src/local-stack/simulator/faults.ts';
import { SIMULATED_GATEWAY } from '../../src/local-stack/simulator/protocol.ts';
import {
  sample,
  startTestSimulator,
  type TestSimulator,
} from '../support/simulator.ts';

let simulator: TestSimulator;

beforeAll(async () => {
  simulator = await startTestSimulator({
    settings: { hie: { jobLatencyMs: { min: 0, max: 0 } } },
  });
});

beforeEach(() => simulator.admin.clearRules());

afterAll(() => simulator.close());

const OURS = { deviceId: '2.999.1', homeCommunity: '2.999.1' };
const { homeCommunity, secondCommunity } = SIMULATED_GATEWAY;

const trouble = (name: GatewayTrouble, times?: number) =>
  simulator.admin.setRules([
    { source: 'hie', times, fault: { type: 'gateway', trouble: name } },
  ]);

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}

async function send(
  transaction: 'discovery' | 'query' | 'retrieve',
  action: string,
  body: XmlFragment,
  replyTo?: string,
) {
  const to = `${simulator.url}${SIMULATED_GATEWAY[transaction]}`;
  const messageId = newMessageId();
  const envelope = writeEnvelope({ action, messageId, to, body, replyTo });
  const message =
    transaction === 'retrieve'
      ? mtomMessage(envelope, action)
      : plainMessage(envelope, action);
  const response = await fetch(to, {
    method: 'POST',
    headers: { 'content-type': message.contentType },
    body: await bytesOf(message.body),
  });
  return {
    messageId,
    status: response.status,
    contentType: response.headers.get('content-type') ?? undefined,
    bytes: Buffer.from(await response.arrayBuffer()),
  };
}

async function exchange(...sent: Parameters<typeof send>) {
  const { messageId, status, bytes, contentType } = await send(...sent);
  const envelope = await readEnvelope(bytes, contentType);
  expect(envelope.relatesTo).toBe(messageId);
  if (envelope.payload === undefined) throw new Error('an empty body');
  return { status, envelope, payload: envelope.payload };
}

const question = (
  criteria: Partial<DiscoveryCriteria> = {},
  respondTo?: string,
) => {
  const { createBody } = sample();
  return buildPatientDiscovery({
    messageId: { root: '2.999.1', extension: 'm1' },
    queryId: { root: '2.999.1', extension: 'q1' },
    sentAt: new Date(),
    processing: 'T',
    sender: OURS,
    receiver: { deviceId: homeCommunity, homeCommunity },
    respondTo,
    criteria: {
      genders: [createBody.genderAtBirth],
      birthTimes: [writeHl7Date(createBody.dob)],
      birthPlaceAddresses: [],
      birthPlaceNames: [],
      ids: [],
      names: [
        {
          family: [createBody.lastName],
          given: createBody.firstName.split(' '),
          prefix: [],
          suffix: [],
        },
      ],
      mothersMaidenNames: [],
      addresses: [],
      telecoms: [],
      principalCareProviderIds: [],
      ...criteria,
    },
  });
};

const nobody = { family: ['Nobody'], given: ['N'], prefix: [], suffix: [] };

async function discover(criteria?: Partial<DiscoveryCriteria>) {
  const { payload } = await exchange(
    'discovery',
    DISCOVERY_ACTIONS.question,
    question(criteria),
  );
  return readPatientDiscoveryResponse(payload);
}

async function findDocuments(home: string = homeCommunity) {
  const { patients } = await discover();
  const { root = '', extension = '' } = patients[0]?.patientId ?? {};
  const { payload } = await exchange(
    'query',
    CROSS_GATEWAY_ACTIONS.query,
    buildFindDocuments({
      patient: { id: extension, authority: root },
      homeCommunity: home,
    }),
  );
  return readFindDocumentsResponse(payload);
}

async function documentIds(): Promise<DocumentReferenceIds[]> {
  const { entries } = await findDocuments();
  return entries.map((entry) => ({
    uniqueId: entry.uniqueId ?? '',
    repository: entry.repository ?? '',
    homeCommunity: entry.homeCommunity,
  }));
}

async function retrieve(asked: readonly DocumentReferenceIds[]) {
  const { envelope, payload } = await exchange(
    'retrieve',
    CROSS_GATEWAY_ACTIONS.retrieve,
    buildRetrieve(asked),
  );
  return { envelope, answer: readRetrieveResponse(payload) };
}

describe('the gateway of the simulator', () => {
  test('knows the sample patient, lists documents and hands them out', async () => {
    const { patients, outcome } = await discover();
    expect(outcome).toBe('found');
    expect(patients).toMatchObject([
      {
        homeCommunity,
        person: { names: [{ family: [sample().createBody.lastName] }] },
      },
    ]);

    const { entries } = await findDocuments();
    expect(entries).toHaveLength(11);
    expect(entries[0]).toMatchObject({ mimeType: 'text/xml', remarks: [] });

    const { envelope, answer } = await retrieve(await documentIds());
    expect(answer).toMatchObject({ outcome: 'complete', status: 'Success' });
    for (const [at, { content }] of answer.documents.entries()) {
      const reference = content.in === 'attachment' ? content.reference : '';
      expect(envelope.attachment(reference)).toMatchObject({
        isComplete: true,
        length: entries[at]?.size,
      });
    }
  });

  test('says that nobody is known, and who asked wrongly', async () => {
    expect(await discover({ names: [nobody], genders: [] })).toMatchObject({
      outcome: 'nobody',
    });
    expect((await discover({ birthTimes: [] })).outcome).toBe('failed');
    expect(await findDocuments('2.999.55')).toMatchObject({
      outcome: 'failed',
      meaning: 'our-fault',
    });
    const { answer } = await retrieve([
      { uniqueId: '1', repository: '2.999.7.2', homeCommunity },
    ]);
    expect(answer).toMatchObject({
      outcome: 'failed',
      meaning: 'document-missing',
    });
  });

  test('refuses an action of another address, and what is no message', async () => {
    const { status, envelope } = await exchange(
      'query',
      DISCOVERY_ACTIONS.question,
      question(),
    );
    expect(status).toBe(400);
    expect(envelope.fault?.kind).toBe('action');

    const page = await fetch(`${simulator.url}${SIMULATED_GATEWAY.query}`, {
      method: 'POST',
      headers: { 'content-type': 'text/xml' },
      body: '<html/>',
    });
    expect(page.status).toBe(400);
  });

  test.each([
    ['busy', { outcome: 'failed', meaning: 'again-later' }],
    ['query-error', { outcome: 'failed', queryResponse: 'QE' }],
    ['more-attributes', { outcome: 'more-attributes-wanted' }],
  ] as const)('is made to answer a discovery with %s', async (name, answer) => {
    await trouble(name);
    expect(await discover()).toMatchObject(answer);
  });

  test.each([
    ['candidates', [homeCommunity, homeCommunity]],
    ['communities', [homeCommunity, secondCommunity]],
  ] as const)('is made to find %s', async (name, communities) => {
    await trouble(name);
    const { patients } = await discover();
    expect(patients.map((patient) => patient.homeCommunity)).toEqual(
      communities,
    );
  });

  test.each([
    ['busy', { outcome: 'failed', meaning: 'again-later' }],
    ['partial', { outcome: 'incomplete', status: 'PartialSuccess' }],
  ] as const)('is made to answer a query with %s', async (name, answer) => {
    await discover();
    await simulator.admin.setRules([
      {
        operation: 'document',
        fault: { type: 'gateway', trouble: name },
      },
    ]);
    expect(await findDocuments()).toMatchObject(answer);
  });

  test('is made to list documents of another community', async () => {
    await trouble('wrong-home');
    const { entries } = await findDocuments();
    expect(entries[0]?.homeCommunity).toBe('urn:oid:2.999.99');
  });

  test.each([
    ['one-of-ten', 'complete', 1, 10, 0],
    ['partial', 'incomplete', 10, 1, 0],
    ['stranger', 'complete', 11, 0, 1],
    ['busy', 'failed', 0, 11, 0],
  ] as const)('is made to hand out %s', async (name, outcome, ...counts) => {
    const asked = await documentIds();
    await trouble(name);
    const { answer } = await retrieve(asked);
    const account = accountForRetrieval(asked, answer.documents);
    expect(answer.outcome).toBe(outcome);
    expect([
      account.received.length,
      account.missing.length,
      account.unasked.length,
    ]).toEqual(counts);
  });

  test.each([
    ['html', 'html'],
    ['empty', 'empty'],
    ['cut', 'xml.not-well-formed'],
  ] as const)('is made to answer with %s instead', async (name, code) => {
    await trouble(name);
    const { status, bytes, contentType } = await send(
      'discovery',
      DISCOVERY_ACTIONS.question,
      question(),
    );
    expect(status).toBe(200);
    await expect(readEnvelope(bytes, contentType)).rejects.toMatchObject({
      code,
    });
  });

  test('is made to answer with a fault, and to cut off a document', async () => {
    const asked = await documentIds();
    await trouble('fault', 1);
    const { status, envelope } = await exchange(
      'discovery',
      DISCOVERY_ACTIONS.question,
      question(),
    );
    expect([status, envelope.fault?.kind]).toEqual([500, 'receiver']);

    await trouble('cut');
    const { envelope: broken } = await retrieve(asked.slice(0, 1));
    expect(broken.isComplete).toBe(false);
  });
});

describe('an answer that comes later', () => {
  let received: Promise<{ body: Buffer; contentType: string | undefined }>;
  let url: string;
  const server = createServer();

  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/door`;
  });

  beforeEach(() => {
    received = new Promise((resolve) => {
      server.once('request', async (request, response) => {
        const body = await bytesOf(request);
        response.end();
        resolve({ body, contentType: request.headers['content-type'] });
      });
    });
  });

  afterAll(() => void server.close());

  test('is acknowledged, and told by RelatesTo and the id of the query', async () => {
    const sent = await exchange(
      'discovery',
      DISCOVERY_ACTIONS.deferredQuestion,
      question({}, url),
    );
    expect(readPatientDiscoveryResponse(sent.payload).outcome).toBe(
      'acknowledged',
    );

    const { body, contentType } = await received;
    const { action, relatesTo, payload } = await readEnvelope(
      body,
      contentType,
    );
    expect(action).toBe(DISCOVERY_ACTIONS.deferredAnswer);
    expect(relatesTo).toBe(sent.envelope.relatesTo);
    if (payload === undefined) throw new Error('an empty body');
    expect(readPatientDiscoveryResponse(payload)).toMatchObject({
      outcome: 'found',
      queryId: { root: '2.999.1', extension: 'q1' },
    });
  });

  test('goes to the ReplyTo of a message, which gets a 202', async () => {
    const { status, messageId } = await send(
      'discovery',
      DISCOVERY_ACTIONS.question,
      question(),
      url,
    );
    expect(status).toBe(202);

    const { body, contentType } = await received;
    const { relatesTo, action } = await readEnvelope(body, contentType);
    expect([relatesTo, action]).toEqual([messageId, DISCOVERY_ACTIONS.answer]);
  });
});
