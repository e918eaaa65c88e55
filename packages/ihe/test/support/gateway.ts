import { X509Certificate } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import type { TLSSocket } from 'node:tls';
import { type Envelope, readEnvelope } from '../../src/soap/read-envelope.ts';
import { newMessageId, writeEnvelope } from '../../src/soap/write-envelope.ts';
import {
  type OutgoingMessage,
  plainMessage,
} from '../../src/soap/write-message.ts';
import type { XmlFragment } from '../../src/xml/write-xml.ts';
import type { NetworkCertificate } from './certificates.ts';

export interface ReceivedRequest {
  request: Envelope;
  clientCertificate: X509Certificate;
  response: ServerResponse;
}

export interface TestGateway extends AsyncDisposable {
  address: string;
}

/** A gateway with mutual TLS, which answers as a test says. */
export async function startGateway(
  { certificate, privateKey }: NetworkCertificate,
  authority: string,
  answer: (received: ReceivedRequest) => void | Promise<void>,
): Promise<TestGateway> {
  const receive = async (
    incoming: IncomingMessage,
    response: ServerResponse,
  ) => {
    const socket = incoming.socket as TLSSocket;
    await answer({
      request: await readEnvelope(incoming, incoming.headers['content-type']),
      clientCertificate: new X509Certificate(socket.getPeerCertificate().raw),
      response,
    });
  };
  const server = createServer(
    {
      cert: certificate,
      key: privateKey,
      ca: authority,
      requestCert: true,
      rejectUnauthorized: true,
    },
    (incoming, response) => {
      receive(incoming, response).catch(() => response.destroy());
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    address: `https://localhost:${port}/xca`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What answers a request, as a gateway writes it. */
export function answerTo(
  { messageId }: Envelope,
  body: XmlFragment,
  action = 'urn:answer',
): OutgoingMessage {
  const envelope = writeEnvelope({
    action,
    messageId: newMessageId(),
    relatesTo: messageId,
    body,
  });
  return plainMessage(envelope, action);
}

export async function send(
  response: ServerResponse,
  { contentType, body }: OutgoingMessage,
  status = 200,
): Promise<void> {
  response.writeHead(status, { 'content-type': contentType });
  await pipeline(body, response);
}
