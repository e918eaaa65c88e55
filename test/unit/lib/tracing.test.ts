import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import fastify from 'fastify';
import { pino } from 'pino';
import { request } from 'undici';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../../src/config.ts';
import { createLogger } from '../../../src/lib/logger.ts';
import {
  TRACE_VARIABLES,
  tracingConfig,
} from '../../../src/lib/tracing/config.ts';
import { createTracer } from '../../../src/lib/tracing/open-telemetry.ts';
import {
  currentSpan,
  installTracer,
  type Tracer,
  traced,
  traceHeaders,
  withSpan,
} from '../../../src/lib/tracing/spans.ts';
import { startTracing } from '../../../src/lib/tracing/start-tracing.ts';
import { traceRequests } from '../../../src/lib/tracing/trace-requests.ts';
import { startStub } from '../../support/http-stub.ts';
import {
  type OtlpReceiver,
  startOtlpReceiver,
} from '../../support/otlp-receiver.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const logger = createLogger('test', 'silent');

async function* inTwoPackets() {
  yield '{"name":';
  await delay(30);
  yield '"Adalovelace"}';
}

const configOf = (variables: Record<string, string>) => {
  const config = tracingConfig(readConfig(TRACE_VARIABLES, variables));
  if (config === undefined) throw new Error('traces are off');
  return config;
};

describe('off, which is the default', () => {
  test('nothing of OpenTelemetry is loaded: one module imports it, and that is imported when traces are on', async () => {
    const src = fileURLToPath(new URL('../../../src/', import.meta.url));
    const files = (await readdir(src, { recursive: true })).filter((name) =>
      name.endsWith('.ts'),
    );
    const texts = await Promise.all(
      files.map(async (name) => ({
        name,
        text: await readFile(join(src, name), 'utf8'),
      })),
    );
    const naming = (pattern: RegExp) =>
      texts.filter(({ text }) => pattern.test(text)).map(({ name }) => name);
    expect(naming(/from '@opentelemetry\//)).toEqual([
      'lib/tracing/open-telemetry.ts',
    ]);
    expect(naming(/from '[^']*open-telemetry\.ts'/)).toEqual([]);
    expect(naming(/import\('\.\/open-telemetry\.ts'\)/)).toEqual([
      'lib/tracing/start-tracing.ts',
    ]);
  });

  test('no header is sent, and work runs as it is', async () => {
    expect(await startTracing('test', logger)).toBeUndefined();
    expect(
      await traced({ name: 'work', kind: 'internal' }, async (span) => span),
    ).toBeUndefined();
    expect(traceHeaders()).toEqual({});
  });
});

describe('on', () => {
  let collector: OtlpReceiver;
  let tracer: Tracer;
  beforeEach(async () => {
    collector = await startOtlpReceiver();
    tracer = createTracer(
      'test',
      configOf({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }),
      logger,
    );
    installTracer(tracer);
  });
  afterEach(async () => {
    installTracer(undefined);
    await tracer.stop();
    await collector.close();
  });
  const recorded = async () => {
    await tracer.stop();
    return collector.spans;
  };

  const server = () => {
    const app = fastify();
    traceRequests(app);
    app.post('/patient/:id', async () => traceHeaders());
    return app;
  };
  /**
   * Over a connection: the body arrives in events that belong to no request.
   */
  const post = async (
    headers: Record<string, string>,
  ): Promise<{ traceparent?: string }> => {
    const app = server();
    const url = await app.listen({ port: 0 });
    const answer = await request(
      `${url}/patient/record-4711?name=Adalovelace`,
      {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: Readable.from(inTwoPackets()),
      },
    );
    const json = (await answer.body.json()) as { traceparent?: string };
    await app.close();
    return json;
  };

  test('a request with a body is handled in the trace that its header names', async () => {
    const answer = await post({ traceparent: `00-${TRACE}-${SPAN}-01` });
    const [span] = await recorded();
    expect(span).toMatchObject({
      traceId: TRACE,
      parentSpanId: SPAN,
      name: 'POST /patient/:id',
    });
    expect(answer).toEqual({ traceparent: `00-${TRACE}-${span?.spanId}-01` });
  });

  test('neither path, query nor body is recorded', async () => {
    await post({});
    await server().inject({ url: '/nowhere/record-4711?name=Adalovelace' });
    expect((await recorded()).map(({ name }) => name)).toEqual([
      'POST /patient/:id',
      'GET',
    ]);
    expect(collector.text()).not.toMatch(/record-4711|Adalovelace|nowhere/);
  });

  test.each([
    '',
    'nonsense',
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
  ])('a header that is none begins a new trace: "%s"', async (traceparent) => {
    await post({ traceparent });
    const [span] = await recorded();
    expect(span?.traceId).toMatch(/^[\da-f]{32}$/);
    expect(span?.traceId).not.toBe(TRACE);
  });

  test('what the caller does not record is not recorded, and passed on as such', async () => {
    const answer = await post({ traceparent: `00-${TRACE}-${SPAN}-00` });
    expect(answer.traceparent).toMatch(
      new RegExp(`^00-${TRACE}-[\\da-f]{16}-00$`),
    );
    expect(await recorded()).toEqual([]);
  });

  test('an error is recorded by its kind, without its message', async () => {
    const failing = traced({ name: 'work', kind: 'internal' }, async () => {
      throw new RangeError('Adalovelace was born 1815');
    });
    await expect(failing).rejects.toThrow('1815');
    expect(await recorded()).toMatchObject([
      { attributes: { 'error.type': 'RangeError' }, status: { code: 2 } },
    ]);
    expect(collector.text()).not.toMatch(/born 1815|Adalovelace/);
  });

  test('spans of work at the same time keep apart, and work outside of a span has none', async () => {
    const work = (name: string, parent?: string) =>
      traced({ name, kind: 'internal', parent }, async (span) => {
        await new Promise((resolve) => setImmediate(resolve));
        expect(currentSpan()).toBe(span);
        expect(withSpan(undefined, currentSpan)).toBeUndefined();
        return traced(
          { name: `${name}, inner`, kind: 'internal' },
          async () => span?.traceId,
        );
      });
    const [a, b] = await Promise.all([
      work('a'),
      work('b', `00-${TRACE}-${SPAN}-01`),
    ]);
    expect(b).toBe(TRACE);
    const spans = await recorded();
    const traceOf = (name: string) =>
      spans.find((span) => span.name === name)?.traceId;
    expect(['a', 'a, inner', 'b', 'b, inner'].map(traceOf)).toEqual([
      a,
      a,
      TRACE,
      TRACE,
    ]);
  });

  test('the share, the headers and the attributes come from the environment', async () => {
    const variables = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20key',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    };
    for (const share of ['0', '1']) {
      const sampled = createTracer(
        'test',
        configOf({ ...variables, OTEL_TRACES_SAMPLER_ARG: share }),
        logger,
      );
      sampled.start({ name: `share ${share}`, kind: 'internal' }).end();
      await sampled.stop();
    }
    expect(collector.spans.map(({ name }) => name)).toEqual(['share 1']);
    expect(collector.text()).toContain('"x-key":"a key"');
    expect(collector.text()).toContain('deployment.environment.name');
  });

  test('headers in another form are refused, without repeating them', () => {
    const variables = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'my-secret',
    };
    expect(() => configOf(variables)).toThrow(ConfigError);
    expect(() => configOf(variables)).toThrow(/^(?!.*my-secret)/);
  });
});

test('a collector that refuses costs nothing but one line in the log', async () => {
  const stub = await startStub();
  stub.answer = () => ({ status: 400 });
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const tracer = createTracer(
    'test',
    configOf({ OTEL_EXPORTER_OTLP_ENDPOINT: stub.url }),
    log,
  );
  for (let count = 0; count < 1_100; count += 1)
    tracer.start({ name: 'work', kind: 'internal' }).end();
  await tracer.stop();
  expect(stub.requests.length).toBeGreaterThan(1);
  expect(lines.filter((line) => line.includes('traces are lost'))).toHaveLength(
    1,
  );
  await stub.close();
});
