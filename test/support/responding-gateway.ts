import { createHash } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  buildDiscoveryAcknowledgement,
  buildFindDocumentsResponse,
  buildPatientDiscoveryResponse,
  buildRetrieveResponse,
  CROSS_GATEWAY_ACTIONS,
  DISCOVERY_ACTIONS,
  type DiscoveryVerdict,
  type DocumentMetadata,
  type Envelope,
  type MatchedPatient,
  type MessageHead,
  mtomMessage,
  newMessageId,
  type OutgoingMessage,
  type PatientDiscoveryRequest,
  plainMessage,
  type RegistryFault,
  type RegistryStatus,
  type RequestedDocument,
  readEnvelope,
  readHl7Time,
  readPatientDiscovery,
  readRetrieve,
  writeEnvelope,
  type XmlFragment,
} from '#ihe';
import type { Demographics } from '../../src/exchange/people/patients/rules/demographics.ts';

export const GATEWAY_COMMUNITY = '2.16.840.1.113883.3.9999.1';
export const OUR_COMMUNITY = '2.16.840.1.113883.3.9999.2';
export const REPOSITORY = '2.16.840.1.113883.3.9999.1.1';
const AUTHORITY = '2.16.840.1.113883.3.9999.1.2';

/** A document of the gateway; ids by their last number. */
export interface GatewayDocument {
  uniqueId: string;
  bytes: Buffer;
  mimeType?: string;
  isOnDemand?: boolean;
  homeCommunity?: string;
  /** What the list says, where it differs. */
  listed?: Partial<DocumentMetadata>;
}

/** How a gateway answers; each may be replaced. */
export interface GatewayBehaviour {
  discover(request: PatientDiscoveryRequest): DiscoveryVerdict;
  find(): {
    status?: RegistryStatus;
    documents: readonly GatewayDocument[];
    faults?: readonly RegistryFault[];
  };
  retrieve(asked: readonly RequestedDocument[]): {
    status?: RegistryStatus;
    documents: readonly GatewayDocument[];
    faults?: readonly RegistryFault[];
  };
  /** Whether a message is answered otherwise, before anything else. */
  intercept?(
    envelope: Envelope,
    response: ServerResponse,
    path: string,
  ): boolean | Promise<boolean>;
}

export interface TestPerson {
  firstName: string;
  lastName: string;
  dob: string;
  gender: string;
  line: string;
  city: string;
  state: string;
  zip: string;
}

export const ADA: TestPerson = {
  firstName: 'Ada',
  lastName: 'Lovelace',
  dob: '1985-12-10',
  gender: 'F',
  line: '12 Main Street',
  city: 'Boston',
  state: 'MA',
  zip: '02108',
};
export const ADAS_DEMOGRAPHICS: Demographics = {
  firstNames: [ADA.firstName],
  lastNames: [ADA.lastName],
  dob: ADA.dob,
  gender: 'F',
  addresses: [
    {
      addressLine1: ADA.line,
      city: ADA.city,
      state: 'MA',
      zip: ADA.zip,
      country: 'USA',
    },
  ],
  contacts: [],
  personalIdentifiers: [{ type: 'ssn', value: '123-45-6780' }],
};

/** A match of a gateway for this person. */
export const matchFor = (
  person: TestPerson,
  { id = '4711', homeCommunity = GATEWAY_COMMUNITY } = {},
): MatchedPatient => ({
  patientId: { root: AUTHORITY, extension: id },
  homeCommunity,
  confidence: 97,
  person: {
    names: [
      {
        family: [person.lastName],
        given: [person.firstName],
        prefix: [],
        suffix: [],
      },
    ],
    gender: person.gender,
    birthTime: readHl7Time(person.dob.replaceAll('-', '')),
    addresses: [
      {
        lines: [person.line],
        city: person.city,
        state: person.state,
        zip: person.zip,
        country: 'USA',
      },
    ],
    telecoms: [],
    otherIds: [],
  },
});

/**
 * A responding gateway on a port of its own, written with the builders of
 * `#ihe`: a stand-in for tests of the connector. It counts what it was asked.
 */
export async function startRespondingGateway(behaviour: GatewayBehaviour) {
  const asked = {
    messageIds: [] as string[],
    discoveries: [] as PatientDiscoveryRequest[],
    queries: 0,
    retrievals: [] as RequestedDocument[][],
    /** Questions to be answered later: each sends its answer. */
    deferred: [] as Array<(relatesTo?: string) => Promise<number>>,
  };
  let current = behaviour;

  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });

  async function answer(request: IncomingMessage, response: ServerResponse) {
    const envelope = await readEnvelope(
      request,
      request.headers['content-type'],
    );
    asked.messageIds.push(envelope.messageId ?? '');
    if (await current.intercept?.(envelope, response, request.url ?? ''))
      return;
    if (envelope.action === DISCOVERY_ACTIONS.deferredQuestion)
      return acknowledge(response, envelope);
    const { message, action } = answerTo(envelope);
    await send(response, envelope, action, message);
  }

  async function acknowledge(response: ServerResponse, envelope: Envelope) {
    if (envelope.payload === undefined) throw new Error('an empty message');
    const question = readPatientDiscovery(envelope.payload);
    asked.discoveries.push(question);
    asked.deferred.push(async (relatesTo = envelope.messageId) => {
      const message = plainMessage(
        writeEnvelope({
          action: DISCOVERY_ACTIONS.deferredAnswer,
          messageId: newMessageId(),
          relatesTo: relatesTo ?? '',
          body: discoveryAnswer(question),
        }),
        DISCOVERY_ACTIONS.deferredAnswer,
      );
      const chunks: Uint8Array[] = [];
      for await (const chunk of message.body) chunks.push(chunk);
      const { status } = await fetch(question.respondTo ?? '', {
        method: 'POST',
        headers: { 'content-type': message.contentType },
        body: Buffer.concat(chunks),
      });
      return status;
    });
    await send(
      response,
      envelope,
      DISCOVERY_ACTIONS.acknowledgement,
      buildDiscoveryAcknowledgement(headOfAnswer(), question),
    );
  }

  const headOfAnswer = (): MessageHead => ({
    messageId: { root: newMessageId().slice(9), extension: undefined },
    sentAt: new Date(),
    processing: 'P',
    sender: identity(GATEWAY_COMMUNITY),
    receiver: identity(OUR_COMMUNITY),
  });

  const discoveryAnswer = (question: PatientDiscoveryRequest): XmlFragment =>
    buildPatientDiscoveryResponse({
      ...headOfAnswer(),
      request: question,
      verdict: current.discover(question),
    });

  function answerTo(envelope: Envelope): {
    message: XmlFragment;
    action: string;
  } {
    const { action, payload } = envelope;
    if (payload === undefined) throw new Error('an empty message');
    switch (action) {
      case DISCOVERY_ACTIONS.question: {
        const question = readPatientDiscovery(payload);
        asked.discoveries.push(question);
        return {
          message: discoveryAnswer(question),
          action: DISCOVERY_ACTIONS.answer,
        };
      }
      case CROSS_GATEWAY_ACTIONS.query: {
        asked.queries += 1;
        const { status = 'Success', documents, faults } = current.find();
        return {
          message: buildFindDocumentsResponse({
            status,
            faults,
            entries: documents.map(entryOf),
          }),
          action: CROSS_GATEWAY_ACTIONS.queryResponse,
        };
      }
      case CROSS_GATEWAY_ACTIONS.retrieve: {
        const documents = readRetrieve(payload);
        asked.retrievals.push(documents);
        const { status = 'Success', ...found } = current.retrieve(documents);
        attachments = found.documents.map(({ bytes }, index) => ({
          contentId: `${index}@gateway`,
          contentType: 'application/octet-stream',
          bytes,
        }));
        return {
          message: buildRetrieveResponse({
            status,
            faults: found.faults,
            documents: found.documents.map((document, index) => ({
              uniqueId: document.uniqueId,
              repository: REPOSITORY,
              homeCommunity: document.homeCommunity ?? GATEWAY_COMMUNITY,
              mimeType: document.mimeType ?? 'text/xml',
              content: { contentId: `${index}@gateway` },
            })),
          }),
          action: CROSS_GATEWAY_ACTIONS.retrieveResponse,
        };
      }
      default:
        throw new Error('an unknown action');
    }
  }

  let attachments: Parameters<typeof mtomMessage>[2] = [];

  async function send(
    response: ServerResponse,
    { messageId }: Envelope,
    action: string,
    body: XmlFragment,
  ) {
    const envelope = writeEnvelope({
      action,
      messageId: newMessageId(),
      relatesTo: messageId ?? '',
      body,
    });
    const outgoing: OutgoingMessage =
      action === CROSS_GATEWAY_ACTIONS.retrieveResponse
        ? mtomMessage(envelope, action, attachments)
        : plainMessage(envelope, action);
    response.setHeader('content-type', outgoing.contentType);
    for await (const chunk of outgoing.body)
      if (!response.write(chunk))
        await new Promise((resolve) => response.once('drain', resolve));
    response.end();
  }

  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    asked,
    /** Answers otherwise from now on. */
    behave(change: Partial<GatewayBehaviour>) {
      current = { ...current, ...change };
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export type RespondingGateway = Awaited<
  ReturnType<typeof startRespondingGateway>
>;

/** Documents of a gateway that are all there. */
export const holding = (
  documents: readonly GatewayDocument[],
): Pick<GatewayBehaviour, 'find' | 'retrieve'> => ({
  find: () => ({ documents }),
  retrieve: (asked) => ({
    documents: documents.filter(({ uniqueId }) =>
      asked.some((each) => each.uniqueId === uniqueId),
    ),
  }),
});

const identity = (homeCommunity: string) => ({
  deviceId: homeCommunity,
  homeCommunity,
});

function entryOf(document: GatewayDocument): DocumentMetadata {
  const { uniqueId, bytes, isOnDemand = false } = document;
  return {
    entryUuid: `urn:uuid:00000000-0000-4000-8000-${uniqueId.replaceAll(/\D/g, '').slice(-12).padStart(12, '0')}`,
    uniqueId,
    repository: REPOSITORY,
    homeCommunity: document.homeCommunity ?? GATEWAY_COMMUNITY,
    isOnDemand,
    mimeType: document.mimeType ?? 'text/xml',
    patientId: `4711^^^&${AUTHORITY}&ISO`,
    availability: 'Approved',
    creationTime: '20260301120000',
    ...(isOnDemand
      ? {}
      : {
          size: bytes.length,
          hash: createHash('sha1').update(bytes).digest('hex'),
        }),
    ...document.listed,
  };
}
