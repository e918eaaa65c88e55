import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { TLSSocket } from 'node:tls';
import {
  buildDiscoveryAcknowledgement,
  buildFindDocumentsResponse,
  buildPatientDiscoveryResponse,
  buildRetrieveResponse,
  CROSS_GATEWAY_ACTIONS,
  DISCOVERY_ACTIONS,
  type DiscoveryVerdict,
  type Envelope,
  mtomMessage,
  newMessageId,
  type PatientDiscoveryRequest,
  plainMessage,
  readEnvelope,
  readHl7Time,
  readPatientDiscovery,
  readRetrieve,
  writeEnvelope,
  type XmlFragment,
} from '#ihe';
import { freePort } from '../../src/lib/free-port.ts';
import { yieldToOthers } from '../../src/worker/yield-to-others.ts';
import { OUR_COMMUNITY } from '../../test/support/responding-gateway.ts';
import {
  communityOf,
  hasPatient,
  hostOf,
  isAwayAtFirst,
  type Kind,
} from './behaviours.ts';

/** The gateways to simulate. */
export interface GatewaysToServe {
  kinds: readonly Kind[];
  /** The network's authority, and a certificate for each so many addresses. */
  authority: string;
  certificates: readonly { certificate: string; privateKey: string }[];
  gatewaysOfCertificate: number;
}

/** How often each gateway was asked for each patient, by `<number>/<family name>`. */
export type Asked = Record<string, number>;

/**
 * A process of the benchmark: all gateways of a network, each at an address of
 * its own, over mutual TLS. They do not verify signatures, so that they cost
 * less than who asks them.
 */
process.on('message', (order: GatewaysToServe | 'asked') => {
  if (order === 'asked') process.send?.(asked);
  else void serve(order).then((port) => process.send?.({ port }));
});
process.on('disconnect', () => process.exit(0));

const asked: Asked = {};
// In reality they have other processors than we.
yieldToOthers();

async function serve({
  kinds,
  authority,
  certificates,
  gatewaysOfCertificate,
}: GatewaysToServe): Promise<number> {
  const port = await freePort();
  await Promise.all(
    kinds.map(async (kind, index) => {
      const number = index + 1;
      const own = certificates[Math.floor(index / gatewaysOfCertificate)];
      const server = createServer(
        {
          ca: authority,
          cert: own?.certificate,
          key: own?.privateKey,
          requestCert: true,
          rejectUnauthorized: true,
        },
        (request, response) => {
          void answer({ kind, number }, request, response).catch(() =>
            response.destroy(),
          );
        },
      );
      server.on('tlsClientError', (_error, socket: TLSSocket) =>
        socket.destroy(),
      );
      await new Promise<void>((resolve) =>
        server.listen(port, hostOf(number), resolve),
      );
    }),
  );
  return port;
}

interface Gateway {
  kind: Kind;
  number: number;
}

async function answer(
  gateway: Gateway,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // What TLS costs is measured with requests that are nothing else.
  if (request.method === 'GET') {
    response.end('ok');
    return;
  }
  const envelope = await readEnvelope(request, request.headers['content-type']);
  const { action, payload } = envelope;
  if (payload === undefined) throw new Error('an empty message');
  const { number } = gateway;
  switch (action) {
    case DISCOVERY_ACTIONS.question:
    case DISCOVERY_ACTIONS.deferredQuestion:
      return discover(
        gateway,
        envelope,
        readPatientDiscovery(payload),
        response,
      );
    case CROSS_GATEWAY_ACTIONS.query:
      return send(
        response,
        envelope,
        CROSS_GATEWAY_ACTIONS.queryResponse,
        buildFindDocumentsResponse({
          status: 'Success',
          entries: [entryOf(number)],
        }),
      );
    case CROSS_GATEWAY_ACTIONS.retrieve:
      return sendDocument(response, envelope, number, readRetrieve(payload));
    default:
      throw new Error('an unknown action');
  }
}

async function discover(
  { kind, number }: Gateway,
  envelope: Envelope,
  question: PatientDiscoveryRequest,
  response: ServerResponse,
): Promise<void> {
  const family = question.criteria.names[0]?.family[0] ?? '';
  const key = `${number}/${family}`;
  asked[key] = (asked[key] ?? 0) + 1;
  const verdict = verdictOn({ kind, number }, question);
  if (kind === 'hanging') return;
  if (kind === 'failing') {
    if (!isAwayAtFirst(number)) {
      response.writeHead(500, { 'content-type': 'application/soap+xml' });
      response.end(FAULT);
      return;
    }
    if (asked[key] === 1) {
      response.writeHead(503);
      response.end();
      return;
    }
  }
  if (kind === 'slow') await pause(10_000 + ((number * 37) % 20) * 1_000);
  if (kind !== 'deferred')
    return send(
      response,
      envelope,
      DISCOVERY_ACTIONS.answer,
      discoveryAnswer(number, question, verdict),
    );
  await send(
    response,
    envelope,
    DISCOVERY_ACTIONS.acknowledgement,
    buildDiscoveryAcknowledgement(headOf(number), question),
  );
  await pause(5_000 + ((number * 53) % 25) * 1_000);
  await sendLater(
    envelope,
    question.respondTo ?? '',
    discoveryAnswer(number, question, verdict),
  );
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const FAULT =
  '<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"><s:Body><s:Fault><s:Code><s:Value>s:Sender</s:Value></s:Code>' +
  '<s:Reason><s:Text xml:lang="en">Not a question for us</s:Text></s:Reason></s:Fault></s:Body></s:Envelope>';

/** A match has the demographics that were asked for. */
function verdictOn(
  { kind, number }: Gateway,
  { criteria }: PatientDiscoveryRequest,
): DiscoveryVerdict {
  if (!hasPatient(kind, number)) return { patients: [] };
  const [name] = criteria.names;
  return {
    patients: [
      {
        patientId: { root: communityOf(number), extension: `p${number}` },
        homeCommunity: communityOf(number),
        confidence: 97,
        person: {
          names: name === undefined ? [] : [name],
          gender: criteria.genders[0],
          birthTime: readHl7Time(criteria.birthTimes[0] ?? ''),
          addresses: [...criteria.addresses],
          telecoms: [],
          otherIds: [],
        },
      },
    ],
  };
}

const headOf = (number: number) => ({
  messageId: { root: newMessageId().slice(9), extension: undefined },
  sentAt: new Date(),
  processing: 'P' as const,
  sender: { deviceId: communityOf(number), homeCommunity: communityOf(number) },
  receiver: { deviceId: OUR_COMMUNITY, homeCommunity: OUR_COMMUNITY },
});

const discoveryAnswer = (
  number: number,
  request: PatientDiscoveryRequest,
  verdict: DiscoveryVerdict,
): XmlFragment =>
  buildPatientDiscoveryResponse({ ...headOf(number), request, verdict });

const documentOf = (number: number): Buffer =>
  Buffer.from(`A note of gateway ${number}.\n`.repeat(50));

const entryOf = (number: number) => ({
  entryUuid: `urn:uuid:00000000-0000-4000-8000-${String(number).padStart(12, '0')}`,
  uniqueId: `${communityOf(number)}.1`,
  repository: communityOf(number),
  homeCommunity: communityOf(number),
  isOnDemand: false,
  mimeType: 'text/plain',
  patientId: `p${number}^^^&${communityOf(number)}&ISO`,
  availability: 'Approved' as const,
  creationTime: '20260301120000',
});

async function sendDocument(
  response: ServerResponse,
  envelope: Envelope,
  number: number,
  documents: ReturnType<typeof readRetrieve>,
): Promise<void> {
  const contentId = 'document@gateway';
  const body = buildRetrieveResponse({
    status: 'Success',
    documents: documents.map(({ uniqueId = '' }) => ({
      uniqueId,
      repository: communityOf(number),
      homeCommunity: communityOf(number),
      mimeType: 'text/plain',
      content: { contentId },
    })),
  });
  const action = CROSS_GATEWAY_ACTIONS.retrieveResponse;
  const message = mtomMessage(envelopeOf(envelope, action, body), action, [
    {
      contentId,
      contentType: 'application/octet-stream',
      bytes: documentOf(number),
    },
  ]);
  await write(response, message);
}

async function send(
  response: ServerResponse,
  envelope: Envelope,
  action: string,
  body: XmlFragment,
): Promise<void> {
  await write(
    response,
    plainMessage(envelopeOf(envelope, action, body), action),
  );
}

const envelopeOf = (
  { messageId }: Envelope,
  action: string,
  body: XmlFragment,
) =>
  writeEnvelope({
    action,
    messageId: newMessageId(),
    relatesTo: messageId ?? '',
    body,
  });

async function write(
  response: ServerResponse,
  { contentType, body }: ReturnType<typeof plainMessage>,
): Promise<void> {
  response.setHeader('content-type', contentType);
  for await (const chunk of body) response.write(chunk);
  response.end();
}

async function sendLater(
  envelope: Envelope,
  address: string,
  body: XmlFragment,
): Promise<void> {
  const action = DISCOVERY_ACTIONS.deferredAnswer;
  const message = plainMessage(envelopeOf(envelope, action, body), action);
  const chunks: Uint8Array[] = [];
  for await (const chunk of message.body) chunks.push(chunk);
  await fetch(address, {
    method: 'POST',
    headers: { 'content-type': message.contentType },
    body: Buffer.concat(chunks),
  });
}
