import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type FastifyInstance, fastify } from 'fastify';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  drainServer,
  prepareDraining,
  SERVES_WHILE_CLOSING,
} from '../../../src/lib/draining.ts';
import { closedGate } from '../../support/gate.ts';

/** More than the buffers of the two sockets hold. */
const LARGE = 20_000_000;

let app: FastifyInstance;
let port: number;
let gate: ReturnType<typeof closedGate>;
let hasLargeBegun: boolean;
const sockets: Socket[] = [];

beforeEach(async () => {
  gate = closedGate();
  hasLargeBegun = false;
  app = fastify(SERVES_WHILE_CLOSING);
  prepareDraining(app);
  app.get('/quick', async () => 'quick');
  app.get('/slow', async () => {
    await gate.passed;
    return 'slow';
  });
  app.get('/large', async () => {
    hasLargeBegun = true;
    return Buffer.alloc(LARGE);
  });
  app.get('/stream', (_request, reply) => {
    reply.raw.writeHead(200, { 'content-length': '10' });
    reply.raw.write('begin');
    reply.hijack();
    void gate.passed.then(() => reply.raw.end('-ends'));
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  port = (app.server.address() as { port: number }).port;
});
afterEach(async () => {
  gate.open();
  for (const socket of sockets.splice(0)) socket.destroy();
  await app.close();
});

/** A client that keeps its connection and notes everything that it gets. */
async function keepAliveClient() {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  await once(socket, 'connect');
  const client = {
    socket,
    text: '',
    isOpen: true,
    get: (path: string) =>
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`),
  };
  socket.on('data', (chunk) => {
    client.text += chunk.toString();
  });
  socket.once('close', () => {
    client.isOpen = false;
  });
  socket.on('error', () => undefined);
  return client;
}

test('while it drains, it serves what comes, and each response closes its connection', async () => {
  const idle = await keepAliveClient();
  const busy = await keepAliveClient();
  busy.get('/slow');
  idle.get('/quick');
  await expect.poll(() => idle.text).toMatch(/keep-alive.*quick$/s);
  idle.text = '';

  // Long enough for a busy machine to let another client in meanwhile.
  const ended = drainServer(app, 3);
  expect(app.draining.hasBegun).toBe(true);
  idle.get('/quick');
  await expect.poll(() => idle.isOpen).toBe(false);
  expect(idle.text).toMatch(/^HTTP\/1.1 200 .*connection: close.*quick$/s);
  const late = await keepAliveClient();
  late.get('/quick');
  await expect.poll(() => late.isOpen).toBe(false);
  expect(late.text).toContain('200 OK');

  gate.open();
  await ended;
  expect(busy.text).toMatch(/^HTTP\/1.1 200 .*slow$/s);
});

test('a response that its client reads slowly arrives whole', async () => {
  const slow = await keepAliveClient();
  slow.socket.pause();
  slow.get('/large');
  await expect.poll(() => hasLargeBegun).toBe(true);
  const ended = drainServer(app, 0);
  await sleep(100);
  slow.socket.resume();
  await ended;
  await expect.poll(() => slow.isOpen).toBe(false);
  expect(slow.text.length).toBeGreaterThan(LARGE);
});

test('neither a response that had begun before, nor connections kept open, hold up the end', async () => {
  const idle = await keepAliveClient();
  const silent = await keepAliveClient();
  const streaming = await keepAliveClient();
  idle.get('/quick');
  streaming.get('/stream');
  await expect.poll(() => idle.text + streaming.text).toMatch(/quick.*begin/s);
  const ended = drainServer(app, 0);
  await sleep(100);
  gate.open();
  await ended;
  await expect
    .poll(() => idle.isOpen || silent.isOpen || streaming.isOpen)
    .toBe(false);
  expect(streaming.text).toMatch(/begin-ends$/);
});
