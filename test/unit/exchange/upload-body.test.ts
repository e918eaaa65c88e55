import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import Fastify, { type FastifyRequest } from 'fastify';
import { request as send } from 'undici';
import { describe, expect, test } from 'vitest';
import {
  liftBodyTime,
  limitBodyTime,
} from '../../../src/exchange/platform/http/plugins/body-time.ts';
import {
  discardBody,
  uploadBody,
} from '../../../src/exchange/platform/http/upload-body.ts';

const HOUR = 3_600_000;
const LIMITS = { bytesMax: 100, idleMs: HOUR, totalMs: HOUR };

function incoming(headers: Record<string, string> = {}) {
  const stream = new PassThrough();
  return {
    stream,
    request: Object.assign(stream, { headers }) as unknown as IncomingMessage,
  };
}

describe('the body of an upload', () => {
  test('is what was sent', async () => {
    const { stream, request } = incoming();
    const whole = buffer(uploadBody(request, LIMITS));
    stream.write('a,b\n');
    stream.end('1,2\n');
    expect(String(await whole)).toBe('a,b\n1,2\n');
  });

  test('that trickles is no upload: a byte now and then keeps no place', async () => {
    const { stream, request } = incoming();
    const body = uploadBody(request, { ...LIMITS, idleMs: 50, idleBytes: 10 });
    const whole = buffer(body);
    const drip = setInterval(() => stream.write('x'), 10);
    await expect(whole).rejects.toThrow('Fewer than 10 bytes were received');
    clearInterval(drip);
  });

  test('fails when it is larger than it may be, announced or not, and leaves the request to be answered', async () => {
    const announced = incoming({ 'content-length': '101' });
    expect(() => uploadBody(announced.request, LIMITS)).toThrow(
      'larger than 100 bytes',
    );
    const { stream, request } = incoming();
    const whole = buffer(uploadBody(request, LIMITS));
    stream.write('x'.repeat(101));
    await expect(whole).rejects.toMatchObject({ status: 413 });
    expect(stream.destroyed).toBe(false);
  });

  test.each([
    ['no byte comes for too long', { idleMs: 20 }],
    ['it takes too long altogether', { totalMs: 20 }],
  ])('fails with 408 when %s', async (_when, limits) => {
    const { request, stream } = incoming();
    await expect(
      buffer(uploadBody(request, { ...LIMITS, ...limits })),
    ).rejects.toMatchObject({
      status: 408,
    });
    expect(stream.destroyed).toBe(false);
  });

  test('does not time out while its bytes wait to be read: then it is we who are slow', async () => {
    const { stream, request } = incoming();
    const body = uploadBody(request, { ...LIMITS, idleMs: 10 });
    stream.end('a,b\n');
    await sleep(100);
    expect(String(await buffer(body))).toBe('a,b\n');
  });

  test('fails when the connection breaks off', async () => {
    const { stream, request } = incoming();
    const whole = buffer(uploadBody(request, LIMITS));
    stream.write('a,b\n');
    stream.destroy(new Error('aborted'));
    await expect(whole).rejects.toMatchObject({ status: 400 });
  });

  test('that nobody reads ends nothing, and what still comes can be thrown away', async () => {
    const { stream, request } = incoming();
    const body = uploadBody(request, LIMITS);
    body.destroy(new Error('refused'));
    discardBody(request);
    stream.write('x'.repeat(1_000_000));
    stream.end();
    await new Promise((resolve) => stream.once('close', resolve));
    expect(stream.readableEnded).toBe(true);
  });
});

describe('any other request', () => {
  test.each([
    ['does not send its whole body in time', { totalMs: 20, idleMs: 600_000 }],
    ['sends nothing for too long', { totalMs: 600_000, idleMs: 20 }],
  ])('that %s is cut off with 408', async (_, limits) => {
    const app = Fastify();
    limitBodyTime(app, limits);
    app.post('/short', () => ({}));
    const lift = {
      preParsing: async (request: FastifyRequest) => liftBodyTime(request),
    };
    app.post('/long', lift, () => ({}));
    const base = await app.listen({ host: '127.0.0.1', port: 0 });
    const post = (path: string, body: PassThrough) =>
      send(`${base}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
    const never = new PassThrough();
    never.write('{');
    expect((await post('/short', never)).statusCode).toBe(408);
    const slow = new PassThrough();
    slow.write('{');
    setTimeout(() => slow.end('}'), 60);
    expect((await post('/long', slow)).statusCode).toBe(200);
    never.destroy();
    await app.close();
  });
});
