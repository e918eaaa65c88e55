import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface StubRequest {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export type StubAnswer =
  | { status: number; body?: unknown; headers?: Record<string, string> }
  /**
   * Cuts the connection after the request was read; never answers; or answers a
   * part of a body only.
   */
  | 'cut'
  | 'silence'
  | 'half';

export interface Stub {
  url: string;
  requests: StubRequest[];
  answer: (request: StubRequest) => StubAnswer;
  close(): Promise<void>;
}

/** A real HTTP server whose answers the test decides. */
export async function startStub(): Promise<Stub> {
  const stub: Stub = {
    url: '',
    requests: [],
    answer: () => ({ status: 500 }),
    close,
  };
  const server: Server = createServer((incoming, reply) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const request: StubRequest = {
        method: incoming.method ?? '',
        url: incoming.url ?? '',
        headers: incoming.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      };
      stub.requests.push(request);
      const answer = stub.answer(request);
      if (answer === 'silence') return;
      if (answer === 'cut') {
        incoming.socket.destroy();
        return;
      }
      if (answer === 'half') {
        reply
          .writeHead(200, { 'content-length': '1000' })
          .write('{"requestId":');
        setImmediate(() => incoming.socket.destroy());
        return;
      }
      const text =
        typeof answer.body === 'string'
          ? answer.body
          : JSON.stringify(answer.body);
      reply
        .writeHead(answer.status, {
          'content-type': 'application/json',
          ...answer.headers,
        })
        .end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stub.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return stub;

  function close(): Promise<void> {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  }
}
