import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fastify } from 'fastify';
import { Registry } from 'prom-client';
import { request } from 'undici';
import { expect, test } from 'vitest';
import { observeRequests } from '../../../src/exchange/platform/http/plugins/observe.ts';
import { DecryptionError } from '../../../src/lib/key-ring.ts';

test('an answer that breaks off has a line that says so, and one that is whole has none', async () => {
  const lines: {
    level: string;
    fields: Record<string, unknown>;
    message: string;
  }[] = [];
  const at =
    (level: string) => (fields: Record<string, unknown>, message: string) =>
      void lines.push({ level, fields, message });
  const logger = {
    info: at('info'),
    debug: at('debug'),
    error: at('error'),
  } as never;
  const app = fastify();
  app.decorateRequest('caller', null);
  observeRequests(app, { logger, metrics: new Registry() });
  const answer = async function* (isDamaged: boolean) {
    yield Buffer.from('first');
    await delay(10);
    if (isDamaged) throw new DecryptionError('The blob is cut short');
  };
  for (const path of ['damaged', 'whole'])
    app.get(`/${path}`, { config: { operation: path } }, (_request, reply) =>
      reply.send(Readable.from(answer(path === 'damaged'))),
    );
  const url = await app.listen({ host: '127.0.0.1', port: 0 });

  await expect(
    request(`${url}/damaged`).then(({ body }) => body.text()),
  ).rejects.toThrow();
  expect(await request(`${url}/whole`).then(({ body }) => body.text())).toBe(
    'first',
  );
  await app.close();
  const ofOperation = (operation: string) =>
    lines.filter(({ fields }) => fields.operation === operation);
  const [first, ...others] = ofOperation('damaged');
  expect(first).toMatchObject({
    level: 'error',
    fields: { error: 'DecryptionError' },
    message: 'response aborted',
  });
  expect(
    others.filter(
      ({ fields }) => fields.status === 200 && fields.brokenOff !== true,
    ),
  ).toEqual([]);
  const [whole, ...more] = ofOperation('whole');
  expect(whole?.fields).not.toHaveProperty('brokenOff');
  expect(more).toEqual([]);
});

test('a flood of requests without a valid key is counted in full and logged in part, and the log states how many are left out', async () => {
  const lines: Record<string, unknown>[] = [];
  const logger = {
    info: (fields: Record<string, unknown>) => void lines.push(fields),
  } as never;
  const metrics = new Registry();
  let now = 0;
  const app = fastify();
  app.decorateRequest('caller', null);
  observeRequests(app, { logger, metrics, now: () => now });
  app.get('/closed', (_request, reply) => reply.code(401).send());
  app.get('/open', (_request, reply) => reply.send());

  for (let n = 0; n < 120; n += 1) await app.inject('/closed');
  expect(lines).toHaveLength(50);
  await app.inject('/open');
  expect(lines.at(-1)).toMatchObject({ status: 200 });
  now += 1_000;
  for (let n = 0; n < 2; n += 1) await app.inject('/closed');
  expect(
    lines.slice(51).map(({ status, notLogged }) => [status, notLogged]),
  ).toEqual([
    [401, 70],
    [401, undefined],
  ]);
  const counted = await metrics.getSingleMetricAsString(
    'authentication_failures_total',
  );
  expect(counted).toContain('reason="signature"} 122');
  await app.close();
});
