import { request } from 'undici';
import { expect, test } from 'vitest';
import { createMetrics } from '../../../src/lib/metrics.ts';
import { startProbeServer } from '../../../src/lib/probe-server.ts';

test('a process tells whether it lives, whether it takes work, and its metrics', async () => {
  let ready = false;
  const metrics = createMetrics('test');
  const server = await startProbeServer({
    host: '127.0.0.1',
    port: 0,
    metrics,
    isReady: () => ready,
  });
  const get = async (path: string, method: 'GET' | 'POST' = 'GET') => {
    const { statusCode, headers, body } = await request(
      `${server.url}${path}`,
      { method },
    );
    return {
      statusCode,
      type: headers['content-type'],
      text: await body.text(),
    };
  };
  expect(await get('/health')).toMatchObject({ statusCode: 200 });
  expect(await get('/ready')).toMatchObject({ statusCode: 503 });
  ready = true;
  expect(await get('/ready?x=1')).toMatchObject({ statusCode: 200 });
  const { text, type } = await get('/metrics');
  expect(type).toContain('text/plain');
  expect(text).toMatch(/process_cpu_seconds_total\{process="test"\}/);
  expect(await get('/else')).toMatchObject({ statusCode: 404 });
  expect(await get('/health', 'POST')).toMatchObject({ statusCode: 405 });
  await server.close();
});
