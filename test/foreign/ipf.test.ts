import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  accountForRetrieval,
  attributeOf,
  buildDiscoveryAcknowledgement,
  buildFindDocuments,
  buildFindDocumentsResponse,
  buildPatientDiscovery,
  buildPatientDiscoveryResponse,
  buildRetrieve,
  buildRetrieveResponse,
  CROSS_GATEWAY_ACTIONS,
  DISCOVERY_ACTIONS,
  type Envelope,
  type GatewayAnswer,
  GatewayClient,
  IheError,
  type InstanceId,
  mtomMessage,
  newMessageId,
  type OutgoingAttachment,
  type OutgoingMessage,
  plainMessage,
  readDocumentQuery,
  readEnvelope,
  readFindDocumentsResponse,
  readPatientDiscovery,
  readPatientDiscoveryResponse,
  readRetrieve,
  readRetrieveResponse,
  readXml,
  writeEnvelope,
  type XmlElement,
  type XmlFragment,
  xml,
} from '#ihe';
import { openPackage } from '../../src/exchange/messaging/messages/direct/open-package.ts';
import { packageOfMessage } from '../../src/exchange/messaging/messages/direct/package-of-message.ts';
import type { StoredMessage } from '../../src/exchange/messaging/messages/message-store.ts';
import { submissionOfMessage } from '../../src/exchange/messaging/messages/xdr/submission-of-message.ts';
import type {
  SoughtPerson,
  SourcePage,
} from '../../src/exchange/sources/connectors/connector.ts';
import {
  createIheConnector,
  openGateway,
} from '../../src/exchange/sources/connectors/ihe/ihe-connector.ts';
import { iheSettingsSchema } from '../../src/exchange/sources/connectors/ihe/ihe-settings.ts';
import { submitDocuments } from '../../src/exchange/sources/connectors/ihe/submission/submit-documents.ts';
import type { SourceConfig } from '../../src/exchange/sources/connectors/source-config.ts';
import { type IpfServer, ipfMissing, startIpf } from './ipf-server.ts';

const missing = ipfMissing();
if (missing !== undefined)
  process.stdout.write(`IPF is not tested against: ${missing}.\n`);

/** IPF's patient, and its community, as IpfGateway.java has them. */
const HOME = '2.999.10';
const PATIENT = { id: "ipf^1&2'3", authority: '2.999.10.1' };

const question = (
  family: string,
  deferred: { respondTo?: string; queryId?: InstanceId } = {},
) =>
  buildPatientDiscovery({
    ...newHead(),
    queryId: deferred.queryId ?? { root: '2.999.1.2', extension: randomUUID() },
    respondTo: deferred.respondTo,
    criteria: {
      genders: ['F'],
      birthTimes: ['19851210'],
      birthPlaceAddresses: [],
      birthPlaceNames: [],
      ids: [{ root: '2.16.840.1.113883.4.1', extension: '999-88-6345' }],
      names: [
        { family: [family], given: ['Zoë', 'M'], prefix: [], suffix: [] },
        { family: ['Nunez'], given: ['Zoe'], prefix: [], suffix: [] },
      ],
      mothersMaidenNames: [],
      addresses: [
        {
          lines: ['1 Main St'],
          city: 'Boston',
          state: 'MA',
          zip: '02118',
          country: 'US',
        },
      ],
      telecoms: ['tel:+1-617-555-0100'],
      principalCareProviderIds: [],
    },
  });

const hashOf = (algorithm: string, bytes: Uint8Array) =>
  createHash(algorithm).update(bytes).digest('hex');

describe.skipIf(missing !== undefined)('IPF', () => {
  let ipf: IpfServer;
  const client = new GatewayClient({});
  beforeAll(async () => {
    ipf = await startIpf();
  });
  afterAll(async () => {
    await client.close();
    await ipf?.[Symbol.asyncDispose]();
  });

  const send = async (
    transaction: string,
    action: string,
    body: XmlFragment,
    mtom?: readonly OutgoingAttachment[],
  ): Promise<{ envelope: Envelope; payload: XmlElement }> => {
    const answer = await client.send({
      address: ipf.addressOf(transaction),
      action,
      body,
      mtom,
      timeoutMs: 60_000,
    });
    if (answer.kind !== 'answer' || answer.envelope.payload === undefined)
      throw new Error('There was no answer.');
    return { envelope: answer.envelope, payload: answer.envelope.payload };
  };
  const discover = async (family: string) => {
    const { payload } = await send(
      'iti55',
      DISCOVERY_ACTIONS.question,
      question(family),
    );
    return readPatientDiscoveryResponse(payload);
  };
  const find = async (patient: typeof PATIENT) => {
    const { payload } = await send(
      'iti38',
      CROSS_GATEWAY_ACTIONS.query,
      buildFindDocuments({
        patient,
        homeCommunity: HOME,
        includeOnDemand: true,
        created: { from: new Date('2020-01-01'), to: new Date('2027-01-01') },
      }),
    );
    return readFindDocumentsResponse(payload);
  };

  test('a patient is found, their documents listed, and each fetched with its exact bytes', async () => {
    const found = await discover('Núñez');
    expect(found).toMatchObject({
      outcome: 'found',
      patients: [
        {
          patientId: { root: PATIENT.authority, extension: PATIENT.id },
          homeCommunity: HOME,
          person: { names: [{ family: ['Núñez'], given: ['Zoë'] }] },
        },
      ],
    });

    const list = await find(PATIENT);
    expect(list).toMatchObject({ outcome: 'complete', remarks: [] });
    expect(
      list.entries.map(({ uniqueId, title }) => [uniqueId, title]),
    ).toEqual(
      ['1', '2', '3'].map((each) => [
        `${HOME}.4.${each}`,
        `Befund & „Überweisung“ <${HOME}.4.${each}>`,
      ]),
    );

    const asked = list.entries.map((entry) => ({
      uniqueId: entry.uniqueId ?? '',
      repository: entry.repository ?? '',
      homeCommunity: entry.homeCommunity,
    }));
    const { envelope, payload } = await send(
      'iti39',
      CROSS_GATEWAY_ACTIONS.retrieve,
      buildRetrieve(asked),
      [],
    );
    const answer = readRetrieveResponse(payload);
    expect(answer.outcome).toBe('complete');
    const { received } = accountForRetrieval(asked, answer.documents);
    const contents = received.map(({ document: { content } }) =>
      content.in === 'attachment'
        ? envelope.attachment(content.reference)?.stored
        : undefined,
    );
    expect(
      contents.map((bytes) => bytes && [hashOf('sha1', bytes), bytes.length]),
    ).toEqual(list.entries.map(({ hash, size }) => [hash, size]));
    expect(contents.map((bytes) => bytes?.length)).toContain(2 * 1024 * 1024);
  });

  test('a connection finds the patient and collects each document with its exact bytes', async () => {
    const connector = connectionTo(ipf);
    const signal = new AbortController().signal;
    const begun = await connector.begin(ZOE, {}, signal);
    if (begun.kind !== 'ready') throw new Error(`IPF said ${begun.kind}`);
    const pages: SourcePage[] = [];
    for await (const page of begun.pages) pages.push(page);
    const references = pages.flatMap(({ resources }) => resources);
    expect(references.map(({ resourceType }) => resourceType)).toEqual(
      Array(3).fill('DocumentReference'),
    );
    const files = pages.flatMap(({ attachments }) => attachments);
    expect(files.map(({ sourceDocumentId }) => sourceDocumentId)).toEqual(
      references.map(({ id }) => id),
    );
    expect(files.map(({ bytes }) => bytes.length)).toContain(2 * 1024 * 1024);
    // The connection compares size and hash with IPF's list.
    expect(pages.flatMap(({ reported }) => reported ?? [])).toEqual([]);
    expect(pages.at(-1)?.next).toBeNull();

    const nobody = { ...ZOE, lastNames: ['Nobody'] };
    expect(await connector.begin(nobody, {}, signal)).toMatchObject({
      kind: 'unknown-patient',
    });
  });

  test('nobody, an unknown patient and a missing document are told apart', async () => {
    expect(await discover('Nobody')).toMatchObject({
      outcome: 'nobody',
      patients: [],
    });
    expect(await find({ ...PATIENT, id: 'unknown' })).toMatchObject({
      outcome: 'failed',
      meaning: 'discover-again',
    });
    const asked = ['1', '9'].map((each) => ({
      uniqueId: `${HOME}.4.${each}`,
      repository: `${HOME}.2`,
      homeCommunity: HOME,
    }));
    const { payload } = await send(
      'iti39',
      CROSS_GATEWAY_ACTIONS.retrieve,
      buildRetrieve(asked),
      [],
    );
    const answer = readRetrieveResponse(payload);
    expect(answer).toMatchObject({
      outcome: 'incomplete',
      problems: [{ code: 'XDSDocumentUniqueIdError' }],
    });
    expect(accountForRetrieval(asked, answer.documents).missing).toEqual(
      asked.slice(1),
    );
  });

  test('an answer that is deferred comes later, and says which question it answers', async () => {
    let receive: (answer: Envelope) => void = () => {};
    const received = new Promise<Envelope>((resolve) => {
      receive = resolve;
    });
    await using gateway = await startResponder((request) => {
      receive(request);
      return request.messageId;
    });
    const queryId = { root: '2.999.1.2', extension: 'deferred-1' };
    const asked = await client.send({
      address: ipf.addressOf('iti55'),
      action: DISCOVERY_ACTIONS.deferredQuestion,
      body: question('Núñez', { respondTo: `http://${gateway.host}`, queryId }),
      timeoutMs: 60_000,
    });
    expect(discoveredIn(asked)).toMatchObject({ outcome: 'acknowledged' });

    const answer = await received;
    expect(answer).toMatchObject({
      action: DISCOVERY_ACTIONS.deferredAnswer,
      relatesTo: asked.messageId,
    });
    expect(
      answer.payload && readPatientDiscoveryResponse(answer.payload),
    ).toMatchObject({ outcome: 'found', queryId });
  });

  test('a header that must be understood, and is not, is named', async () => {
    const envelope = writeEnvelope({
      action: CROSS_GATEWAY_ACTIONS.query,
      messageId: newMessageId(),
      to: ipf.addressOf('iti38'),
      headers: [xml`<x:Security xmlns:x="urn:x" soap:mustUnderstand="true"/>`],
      body: buildFindDocuments({ patient: PATIENT, homeCommunity: HOME }),
    });
    const response = await fetch(ipf.addressOf('iti38'), {
      method: 'POST',
      headers: { 'content-type': 'application/soap+xml' },
      body: envelope,
    });
    const { fault } = await readEnvelope(
      Buffer.from(await response.arrayBuffer()),
      response.headers.get('content-type') ?? undefined,
    );
    expect(fault).toMatchObject({ kind: 'mustUnderstand' });
  });

  test('it reads and validates what a gateway built on packages/ihe answers', async () => {
    await using gateway = await startResponder();
    const discovered = await ipf.ask(
      'iti55',
      { to: gateway.host },
      question('Núñez').source,
    );
    expect(
      readPatientDiscoveryResponse(readXml(Buffer.from(discovered))),
    ).toMatchObject({
      outcome: 'found',
      patients: [{ patientId: { root: '2.999.1.1', extension: "our^1&2'3" } }],
    });

    const listed = await ipf.ask('iti38', { to: gateway.host, patient: 'p1' });
    expect(JSON.parse(listed)).toEqual({
      status: 'SUCCESS',
      errors: [],
      documents: [
        {
          uniqueId: '2.999.1.4.1',
          repository: '2.999.1.2',
          home: 'urn:oid:2.999.1',
          patient: 'p1',
          title: 'Brief & „Übergabe“',
          hash: hashOf('sha1', DOCUMENT),
          size: DOCUMENT.length,
        },
      ],
    });

    const ids = '2.999.1.4.1,2.999.1.4.9';
    const retrieved = await ipf.ask('iti39', { to: gateway.host, ids });
    expect(JSON.parse(retrieved)).toEqual({
      status: 'PARTIAL_SUCCESS',
      errors: ['XDSDocumentUniqueIdError'],
      documents: [
        { uniqueId: '2.999.1.4.1', sha256: hashOf('sha256', DOCUMENT) },
      ],
    });
  });

  test('it takes a message that we submit, and reads of it what was sent', async () => {
    const settings = settingsFor(ipf);
    const gateway = openGateway(sourceFor(ipf), settings);
    const { submission, attachments } = submissionOfMessage(
      MESSAGE,
      { ...ZOE, id: 'p1' },
      [FILE],
      { ...settings, organizationName: 'Our organization' },
    );

    const outcome = await submitDocuments(gateway, ipf.addressOf('iti41'), {
      submission,
      attachments,
      recipient: MESSAGE.destination,
      signal: new AbortController().signal,
    });

    const text = Buffer.from('See „Übergabe“.');
    const documentOf = (mimeType: string, bytes: Buffer) => ({
      mimeType,
      size: bytes.length,
      hash: hashOf('sha1', bytes),
      sha1: hashOf('sha1', bytes),
      family: 'Núñez',
    });
    expect(outcome).toBe('accepted');
    expect(JSON.parse(await ipf.ask('submissions', {}))).toEqual([
      {
        title: 'Referral',
        organization: '2.999.10.77',
        npi: '1234567893',
        documents: [
          documentOf('text/plain', text),
          documentOf('application/pdf', FILE.content),
        ],
      },
    ]);
  });

  test('it takes a package of documents (XDM) that we write, and reads of it what was sent', async () => {
    const destination = 'dr.jones@direct.ipf.example';
    const { content } = await packageOfMessage(
      { ...MESSAGE, destination },
      { ...ZOE, id: 'p1' },
      [FILE],
      'records@direct.ours.example',
    );

    const read = await ipf.ask('read-package', {}, content.toString('base64'));

    expect(JSON.parse(read)).toEqual({
      names: [
        'INDEX.HTM',
        'README.TXT',
        'IHE_XDM/SUBSET01/METADATA.XML',
        'IHE_XDM/SUBSET01/DOC00001.PDF',
      ],
      title: 'Referral',
      address: destination,
      documents: [
        {
          mimeType: 'application/pdf',
          size: FILE.content.length,
          hash: hashOf('sha1', FILE.content),
          sha1: hashOf('sha1', FILE.content),
          family: 'Núñez',
        },
      ],
    });
  });

  test('we read a package of documents (XDM) that it writes, with two megabytes and whom they are about', async () => {
    const text = 'See „Übergabe“.';
    const written = await ipf.ask(
      'write-package',
      {
        recipient: '2.999.10.77',
        uniqueId: '2.999.20.1',
        given: 'Zoë',
        family: 'Núñez',
        birth: '19851210',
        zip: '02118',
      },
      text,
    );

    const opened = await openPackage({
      attachments: [
        {
          fileName: 'ipf.zip',
          contentType: 'application/zip',
          content: Buffer.from(written, 'base64'),
        },
      ],
    });

    expect(opened).toMatchObject({
      subject: 'Befund & „Überweisung“ 2.999.20.1',
      body: 'Bitte sehen',
      patients: [
        {
          name: [{ family: 'Núñez', given: ['Zoë'] }],
          birthDate: '1985-12-10',
          gender: 'female',
        },
      ],
    });
    if (opened === undefined || 'refusal' in opened)
      throw new Error('IPF’s package was not taken');
    const [first, second, ...others] = opened.attachments;
    expect(first?.content.toString()).toBe(text);
    expect(second?.content).toHaveLength(2 * 1024 * 1024);
    expect(others).toEqual([]);
  });

  test('it refuses an answer to another message, and so do we', async () => {
    await using gateway = await startResponder(() => newMessageId());
    await expect(
      ipf.ask('iti38', { to: gateway.host, patient: 'p1' }),
    ).rejects.toThrow('did not contain proper response data');
    const sent = client.send({
      address: `http://${gateway.host}`,
      action: CROSS_GATEWAY_ACTIONS.query,
      body: buildFindDocuments({ patient: PATIENT, homeCommunity: HOME }),
      timeoutMs: 60_000,
    });
    await expect(sent).rejects.toThrow(IheError);
    await expect(sent).rejects.toMatchObject({ code: 'unrelated' });
  });
});

/** The person whom IPF's gateway knows, as we do. */
const ZOE: SoughtPerson = {
  firstNames: ['Zoë'],
  lastNames: ['Núñez'],
  dob: '1985-12-10',
  gender: 'F',
  addresses: [
    {
      addressLine1: '1 Main St',
      city: 'Boston',
      state: 'MA',
      zip: '02118',
      country: 'USA',
    },
  ],
  contacts: [],
  personalIdentifiers: [],
};

/** As an operator connects it, but without SAML, which IPF does not read. */
const connectionTo = (ipf: IpfServer) =>
  createIheConnector(sourceFor(ipf), settingsFor(ipf));

const sourceFor = (ipf: IpfServer): SourceConfig => ({
  source: 'hie',
  baseUrl: ipf.addressOf('iti55'),
  auth: { kind: 'none' },
});

const settingsFor = (ipf: IpfServer) =>
  iheSettingsSchema.parse({
    queryUrl: ipf.addressOf('iti38'),
    retrieveUrl: ipf.addressOf('iti39'),
    submissionUrl: ipf.addressOf('iti41'),
    homeCommunity: HOME,
    ownHomeCommunity: '2.999.1',
    answerTimeoutSeconds: 60,
    documentsPerRetrieval: 2,
  });

const SENT_AT = new Date('2026-11-29T12:00:00Z');

const FILE = {
  id: '01923ea3-6f50-7b81-9c0d-1e2f3a4b5c6d',
  fileName: 'Report.pdf',
  contentType: 'application/pdf',
  content: Buffer.from('%PDF-1.7\r\n--uuid:x--\0ÿ', 'latin1'),
  createdAt: SENT_AT,
};

const MESSAGE: StoredMessage = {
  id: '01923ea8-4b5c-7d6e-9f70-8192a3b4c5d6',
  accountId: '01923ea8-4b5c-7d6e-9f70-8192a3b4c5d7',
  patientId: 'p1',
  externalId: null,
  direction: 'outbound',
  status: 'processing',
  transportMethod: 'xdr',
  network: 'CAREQUALITY',
  destination: '2.999.10.77',
  subject: 'Referral',
  body: 'See „Übergabe“.',
  attachments: [FILE.id],
  intendedRecipientNpi: ['1234567893'],
  reason: null,
  partnerKey: null,
  toBeRead: false,
  sentAt: SENT_AT,
  updatedAt: SENT_AT,
  workflowStartedAt: null,
};

function discoveredIn(answer: GatewayAnswer<Buffer>) {
  if (answer.kind !== 'answer' || answer.envelope.payload === undefined)
    throw new Error('There was no answer.');
  return readPatientDiscoveryResponse(answer.envelope.payload);
}

const DOCUMENT = Buffer.from('\n--uuid:x--\r\nGrüße\0\r');

interface Responder extends AsyncDisposable {
  host: string;
}

/** A gateway of our own with one patient who has one document. */
async function startResponder(
  relatesTo = (request: Envelope) => request.messageId,
): Promise<Responder> {
  const server = createServer(async (incoming, response) => {
    const request = await readEnvelope(
      incoming,
      incoming.headers['content-type'],
    );
    const { contentType, body } = answerTo(request, relatesTo(request));
    response.writeHead(200, { 'content-type': contentType });
    await pipeline(body, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    host: `127.0.0.1:${port}/gateway`,
    async [Symbol.asyncDispose]() {
      // Waits for what is being answered.
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answerTo(
  { action, payload }: Envelope,
  relatesTo: string | undefined,
): OutgoingMessage {
  if (payload === undefined) throw new Error('The request is empty.');
  const envelope = (answerAction: string, body: XmlFragment) =>
    writeEnvelope({
      action: answerAction,
      messageId: newMessageId(),
      relatesTo,
      body,
    });
  if (action === DISCOVERY_ACTIONS.deferredAnswer)
    return plainMessage(
      envelope(DISCOVERY_ACTIONS.acknowledgement, acknowledged(payload)),
      DISCOVERY_ACTIONS.acknowledgement,
    );
  if (action === DISCOVERY_ACTIONS.question)
    return plainMessage(
      envelope(DISCOVERY_ACTIONS.answer, discovered(payload)),
      DISCOVERY_ACTIONS.answer,
    );
  if (action === CROSS_GATEWAY_ACTIONS.query)
    return plainMessage(
      envelope(CROSS_GATEWAY_ACTIONS.queryResponse, listed(payload)),
      CROSS_GATEWAY_ACTIONS.queryResponse,
    );
  return mtomMessage(
    envelope(CROSS_GATEWAY_ACTIONS.retrieveResponse, retrieved(payload)),
    CROSS_GATEWAY_ACTIONS.retrieveResponse,
    [{ contentId: 'd@urn:x', contentType: 'text/plain', bytes: DOCUMENT }],
  );
}

const newHead = () => ({
  messageId: { root: '2.999.1.3', extension: randomUUID() },
  sentAt: new Date(),
  sender: { deviceId: '2.999.1', homeCommunity: '2.999.1' },
  receiver: { deviceId: HOME, homeCommunity: HOME },
  processing: 'T' as const,
});

function acknowledged(payload: XmlElement): XmlFragment {
  const messageId = payload.children.find(({ name }) => name === 'id');
  return buildDiscoveryAcknowledgement(newHead(), {
    messageId: {
      root: attributeOf(messageId, 'root') ?? '',
      extension: attributeOf(messageId, 'extension'),
    },
  });
}

function discovered(payload: XmlElement): XmlFragment {
  return buildPatientDiscoveryResponse({
    ...newHead(),
    request: readPatientDiscovery(payload),
    verdict: {
      patients: [
        {
          patientId: { root: '2.999.1.1', extension: "our^1&2'3" },
          homeCommunity: '2.999.1',
          person: {
            names: [
              { family: ['Núñez'], given: ['Zoë'], prefix: [], suffix: [] },
            ],
            gender: 'F',
            birthTime: undefined,
            addresses: [],
            telecoms: ['tel:+1-617-555-0100'],
            otherIds: [],
          },
          confidence: 98,
        },
      ],
    },
  });
}

function listed(payload: XmlElement): XmlFragment {
  const { patient } = readDocumentQuery(payload);
  return buildFindDocumentsResponse({
    status: 'Success',
    entries: [
      {
        entryUuid: `urn:uuid:${randomUUID()}`,
        uniqueId: '2.999.1.4.1',
        patientId: `${patient?.id}^^^&${patient?.authority}&ISO`,
        mimeType: 'text/plain',
        creationTime: '20261101083000',
        homeCommunity: '2.999.1',
        repository: '2.999.1.2',
        availability: 'Approved',
        title: 'Brief & „Übergabe“',
        size: DOCUMENT.length,
        hash: hashOf('sha1', DOCUMENT),
        classCode: coded('11506-3', 'Progress note'),
        typeCode: coded('34133-9', 'Summarization of Episode Note'),
        formatCode: coded('urn:ihe:iti:xds:2017:mimeTypeSufficient', 'by type'),
        facilityType: coded('35971002', 'Ambulatory care site'),
        practiceSetting: coded('394802001', 'General medicine'),
        confidentiality: [coded('N', 'Normal')],
      },
    ],
  });
}

const coded = (code: string, display: string) => ({
  code,
  system: '2.999.1.9',
  display,
});

function retrieved(payload: XmlElement): XmlFragment {
  const asked = readRetrieve(payload);
  const isKnown = ({ uniqueId }: { uniqueId: string | undefined }) =>
    uniqueId === '2.999.1.4.1';
  return buildRetrieveResponse({
    status: asked.every(isKnown) ? 'Success' : 'PartialSuccess',
    documents: asked.filter(isKnown).map((each) => ({
      uniqueId: each.uniqueId ?? '',
      repository: each.repository ?? '',
      homeCommunity: each.homeCommunity,
      mimeType: 'text/plain',
      content: { contentId: 'd@urn:x' },
    })),
    faults: asked
      .filter((each) => !isKnown(each))
      .map(({ uniqueId }) => ({
        code: 'XDSDocumentUniqueIdError',
        context: uniqueId ?? '',
        location: 'urn:oid:2.999.1',
      })),
  });
}
