import { once } from 'node:events';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Dispatcher, request } from 'undici';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { freePort } from '../../../src/lib/free-port.ts';
import {
  type GatewayProxy,
  startProxy,
} from '../../../tools/cluster/proxy/proxy.ts';
import {
  type ProxyRefusal,
  pathPattern,
} from '../../../tools/cluster/proxy/refusals.ts';
import { closedGate } from '../../support/gate.ts';

interface Backend {
  name: string;
  isReady: boolean;
  received: string[];
  handle: (incoming: IncomingMessage, reply: ServerResponse) => void;
  server: Server;
  url: string;
}

let backends: Backend[];
let proxy: GatewayProxy;
let refusals: ProxyRefusal[];
const HOLD_MS = 1_500;

beforeEach(async () => {
  refusals = [];
  backends = await Promise.all(['a', 'b'].map(startBackend));
  proxy = await startProxy({
    port: await freePort(),
    backends: backends.map(({ url }) => url),
    onRefusal: (refusal) => void refusals.push(refusal),
    holdMs: HOLD_MS,
  });
  for (const { url } of backends)
    expect(await proxy.waitUntilReady(url, Date.now() + 10_000)).toBe(true);
});
afterEach(async () => {
  await proxy.close();
  for (const { server } of backends) stop(server);
});

async function startBackend(name: string): Promise<Backend> {
  const backend: Backend = {
    name,
    isReady: true,
    received: [],
    handle: (_incoming, reply) => void reply.end(name),
    url: '',
    server: createServer((incoming, reply) => {
      if (incoming.url === '/ready')
        return void reply.writeHead(backend.isReady ? 200 : 503).end();
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () =>
        backend.received.push(
          `${incoming.method} ${Buffer.concat(chunks)}`.trim(),
        ),
      );
      incoming.on('end', () => backend.handle(incoming, reply));
    }),
  };
  backend.server.listen(await freePort(), '127.0.0.1');
  await once(backend.server, 'listening');
  backend.url = `http://127.0.0.1:${(backend.server.address() as { port: number }).port}`;
  return backend;
}

function stop(server: Server): void {
  server.close();
  server.closeAllConnections();
}

async function call(
  method: Dispatcher.HttpMethod,
  headers: Record<string, string> = {},
  body?: string,
) {
  const answer = await request(`${proxy.url}/x?y=1`, {
    method,
    headers,
    body: body ?? null,
  });
  return { status: answer.statusCode, text: await answer.body.text() };
}

async function noneIsReady(): Promise<void> {
  for (const backend of backends) backend.isReady = false;
  await expect
    .poll(
      async () => (await Promise.race([call('GET'), sleep(700)])) === undefined,
    )
    .toBe(true);
}

const cut = (_incoming: IncomingMessage, reply: ServerResponse): void =>
  void reply.socket?.destroy();
const cutInTheMiddle =
  (length = 10) =>
  (_incoming: IncomingMessage, reply: ServerResponse): void => {
    reply.writeHead(200, { 'content-length': length }).write('begin');
    setTimeout(() => reply.socket?.destroy(), 20);
  };
const allReceived = () => backends.flatMap(({ received }) => received);

test('gateways take turns', async () => {
  const answers = [
    await call('GET'),
    await call('GET'),
    await call('GET'),
    await call('GET'),
  ];
  expect(answers.map(({ text }) => text).sort()).toEqual(['a', 'a', 'b', 'b']);
});

test.each([
  ['a GET', 'GET' as const, {}, undefined],
  [
    'a POST with an Idempotency-Key',
    'POST' as const,
    { 'idempotency-key': 'k1' },
    'body',
  ],
])(
  '%s whose answer is lost is sent to the other gateway',
  async (_, method, headers, body) => {
    for (const lose of [cut, cutInTheMiddle()]) {
      const [first] = backends;
      if (first !== undefined) first.handle = lose;
      expect(await call(method, headers, body)).toEqual({
        status: 200,
        text: 'b',
      });
      expect(await call(method, headers, body)).toEqual({
        status: 200,
        text: 'b',
      });
    }
    const sent = [method, body].filter(Boolean).join(' ');
    expect(new Set(allReceived())).toEqual(new Set([sent]));
    expect(proxy.counts).toMatchObject({ requests: 4, failed: 0 });
    expect(proxy.counts.repeated).toBeGreaterThan(0);
  },
);

test('a POST without an Idempotency-Key is sent once, and the caller learns that its answer was lost', async () => {
  for (const backend of backends) backend.handle = cut;
  const { status, text } = await call('POST', {}, 'body');
  expect(status).toBe(502);
  expect(JSON.parse(text)).toMatchObject({
    status: 502,
    detail: expect.stringContaining('Idempotency-Key'),
  });
  expect(allReceived()).toEqual(['POST body']);
  expect(proxy.counts).toMatchObject({ repeated: 0, failed: 1 });
  expect(refusals).toMatchObject([
    { status: 502, method: 'POST', path: '/x', isPostponed: false },
  ]);
});

test('a POST without an Idempotency-Key goes to the other gateway if the first one took no connection', async () => {
  const [first] = backends;
  if (first !== undefined) stop(first.server);
  for (const _ of [1, 2, 3])
    expect(await call('POST', {}, 'body')).toEqual({ status: 200, text: 'b' });
  expect(allReceived()).toEqual(['POST body', 'POST body', 'POST body']);
});

test('a 503 of a gateway that is not ready is asked elsewhere; one of a ready gateway, which sheds load, is passed on', async () => {
  const [first, second] = backends as [Backend, Backend];
  const shed = (_incoming: IncomingMessage, reply: ServerResponse) =>
    void reply.writeHead(503).end('later');
  first.handle = shed;
  expect([await call('GET'), await call('GET')]).toContainEqual({
    status: 503,
    text: 'later',
  });

  second.handle = shed;
  first.handle = (_incoming, reply) => {
    first.isReady = false;
    second.handle = (_again, other) => void other.end('b');
    reply.writeHead(503).end('the database is away');
  };
  const answers = [await call('GET'), await call('GET')];
  expect(answers).not.toContainEqual({
    status: 503,
    text: 'the database is away',
  });
  expect(answers).toContainEqual({ status: 200, text: 'b' });
});

test('while no gateway is ready, requests wait', async () => {
  await noneIsReady();
  const waiting = call('GET');
  for (const backend of backends) backend.isReady = true;
  expect((await waiting).status).toBe(200);
  expect(proxy.counts.failed).toBe(0);
});

test('a request that waited too long for a ready gateway is answered 503 with Retry-After, and noted as postponed', async () => {
  await noneIsReady();
  const answer = await request(`${proxy.url}/x`);
  expect(answer.statusCode).toBe(503);
  expect(answer.headers['retry-after']).toBe('1');
  expect(await answer.body.json()).toMatchObject({
    name: 'SERVICE_UNAVAILABLE',
    status: 503,
  });
  expect(proxy.counts.failed).toBe(0);
  expect(refusals.at(-1)).toMatchObject({
    status: 503,
    isPostponed: true,
    backend: undefined,
  });
});

test('a request with an Idempotency-Key whose gateways both ended is postponed, because it may be sent again', async () => {
  for (const { server } of backends) stop(server);
  const { status } = await call('POST', { 'idempotency-key': 'k1' }, 'body');
  expect(status).toBe(503);
  expect(proxy.counts).toMatchObject({ postponed: 1, failed: 0 });
});

test('a client that leaves while no gateway is ready has abandoned its request; it did not fail', async () => {
  await noneIsReady();
  const { abandoned } = proxy.counts;
  await expect(
    request(`${proxy.url}/x`, { signal: AbortSignal.timeout(200) }),
  ).rejects.toThrow();
  await expect.poll(() => proxy.counts.abandoned).toBeGreaterThan(abandoned);
  await sleep(HOLD_MS);
  expect(proxy.counts.failed).toBe(0);
});

test('a refusal of a gateway is noted with its reason, and a 503 without Retry-After is a failure', async () => {
  const [first, second] = backends as [Backend, Backend];
  stop(second.server);
  const refuse = (status: number, headers: Record<string, string>) => {
    first.handle = (_incoming, reply) => {
      const problem = JSON.stringify({ detail: 'The files are away' });
      reply
        .writeHead(status, { ...headers, 'content-length': problem.length })
        .end(problem);
    };
    return call('POST', {}, 'body');
  };
  await refuse(503, { 'retry-after': '5' });
  await refuse(503, {});
  await refuse(500, {});
  const detail = 'The files are away';
  expect(refusals).toMatchObject([
    { status: 503, detail, isPostponed: true, backend: first.url },
    { status: 503, detail, isPostponed: false, backend: first.url },
    { status: 500, detail, isPostponed: false, backend: first.url },
  ]);
  expect(proxy.counts).toMatchObject({ requests: 3, postponed: 1, failed: 2 });
});

test('an answer that ends in the middle and cannot be repeated has failed', async () => {
  for (const backend of backends) backend.handle = cutInTheMiddle();
  expect(await call('POST', {}, 'body')).toMatchObject({ status: 502 });
  for (const backend of backends) backend.handle = cutInTheMiddle(2 ** 21);
  await expect(call('POST', {}, 'body')).rejects.toThrow();
  const failed = (status: unknown) => ({ status, isPostponed: false });
  await expect.poll(() => refusals).toMatchObject([failed(502), failed('cut')]);
});

test('the body of a client that waits for 100 Continue is forwarded', async () => {
  const headers = { expect: '100-continue', 'content-length': 4 };
  const outgoing = httpRequest(`${proxy.url}/x`, { method: 'POST', headers });
  outgoing.once('continue', () => outgoing.end('body'));
  outgoing.flushHeaders();
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  expect(answer.resume().statusCode).toBe(200);
  expect(allReceived()).toEqual(['POST body']);
});

test('what is noted of a path contains no id, no token and no query', () => {
  expect(
    pathPattern(
      '/medical/v1/patient/01a20593-ecef-7222-9306-7746b2724964?firstName=Ada',
    ),
  ).toBe('/medical/v1/patient/:id');
  expect(
    pathPattern('/links/bulk-upload/eyJhIjoiMDFhMjA1OTMifQ.c2lnbmF0dXJl'),
  ).toBe('/links/bulk-upload/:id');
  expect(pathPattern('/fhir/R4/Patient/$export')).toBe(
    '/fhir/R4/Patient/$export',
  );
});

test('a large body is streamed while it is still being received', async () => {
  const gate = closedGate();
  async function* parts() {
    yield 'first';
    await gate.passed;
    yield 'second';
  }
  for (const backend of backends)
    backend.server.on('request', (incoming: IncomingMessage) =>
      incoming.once('data', () => gate.open()),
    );
  const answer = await request(`${proxy.url}/x`, {
    method: 'PUT',
    body: Readable.from(parts()),
  });
  await answer.body.dump();
  expect(answer.statusCode).toBe(200);
  expect(allReceived()).toEqual(['PUT firstsecond']);
});
