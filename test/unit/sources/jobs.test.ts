import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, vi } from 'vitest';
import {
  type Begin,
  type JobHandle,
  StoredByAnotherBuild,
} from '../../../src/exchange/sources/connectors/connector.ts';
import type { SourceConfig } from '../../../src/exchange/sources/connectors/source-config.ts';
import {
  ada,
  adaAtSource,
  allOf,
  bundle,
  condition,
  connect,
  FakeSource,
  idsOf,
  knowsAda,
  never,
  type Reply,
  type Routes,
  sourceTest,
} from '../../support/fake-source.ts';

const accepted = (job: string): Reply => ({
  status: 202,
  headers: { 'content-location': `/fhir/${job}`, 'retry-after': '2' },
});

const test = sourceTest.extend('routes', {
  ...knowsAda,
  'GET Patient/p1/$everything': accepted('jobs/1'),
});

async function begin(
  source: FakeSource,
  config: Partial<SourceConfig> = {},
  options = {},
) {
  return jobOf(await connect(source, config).begin(ada, options, never));
}

function jobOf(begun: Begin): JobHandle {
  if (begun.kind !== 'accepted')
    throw new Error(`the source answered ${begun.kind}`);
  // As it comes back from PostgreSQL.
  return JSON.parse(JSON.stringify(begun.job)) as JobHandle;
}

async function pollPages(
  source: FakeSource,
  job: JobHandle,
  config: Partial<SourceConfig> = {},
) {
  const poll = await connect(source, config).poll(job, never);
  if (poll.kind !== 'ready') throw new Error('pending');
  return allOf(poll.pages);
}

describe('the request for a job', () => {
  test('announces where to call back, where that is wanted', async ({
    source,
  }) => {
    await begin(source, {}, { callbackUrl: 'https://exchange.example/cb' });
    await begin(source, {}, {});
    await begin(
      source,
      { callbacks: false },
      { callbackUrl: 'https://exchange.example/cb' },
    );
    const asked = source.askedFor('GET Patient/p1/$everything');
    expect(asked.map(({ headers }) => headers['x-callback-url'])).toEqual([
      'https://exchange.example/cb',
      undefined,
      undefined,
    ]);
    expect(asked[0]?.headers.prefer).toBe('respond-async');
  });

  test('is not made where an answer at once is wanted', async ({ source }) => {
    source.serve({
      'GET Patient/p1/$everything': ({ headers }) =>
        headers.prefer ? accepted('jobs/1') : { json: bundle([]) },
    });
    expect(
      (await connect(source).begin(ada, { realtime: true }, never)).kind,
    ).toBe('ready');
  });

  test('tells when to ask', async ({ source }) => {
    expect(await source.begin()).toMatchObject({
      kind: 'accepted',
      retryAfterMs: 2_000,
    });
  });

  test('that is accepted with an address elsewhere is refused', async ({
    source,
  }) => {
    source.serve({
      'GET Patient/p1/$everything': {
        status: 202,
        headers: { 'content-location': 'https://elsewhere.example/job' },
      },
    });
    await expect(begin(source)).rejects.toMatchObject({ kind: 'refused' });
  });

  test.for<[string, Record<string, string>]>([
    ['no address for its state', {}],
  ])(
    'that is accepted with %s is a bad answer',
    async ([_, headers], { source }) => {
      source.serve({ 'GET Patient/p1/$everything': { status: 202, headers } });
      await expect(begin(source)).rejects.toMatchObject({ kind: 'bad-answer' });
    },
  );
});

describe('the request for a job that is cancelled while the source answers', () => {
  const location = { 'content-location': '/fhir/jobs/1' };

  /**
   * Begins, and cancels as soon as the source has received the request; the
   * test answers it then.
   */
  async function cancelled(
    source: FakeSource,
    routes: Routes = {},
    beforeCancel = () => {},
  ) {
    const cancel = new AbortController();
    let begun: Promise<Begin> | undefined;
    const response = await new Promise<ServerResponse>((write) => {
      source.serveEverything({ write }, routes);
      begun = connect(source).begin(ada, {}, cancel.signal);
      begun.catch(() => undefined);
    });
    beforeCancel();
    cancel.abort();
    return { begun, response };
  }

  test('names the job, so that it can be cancelled at the source', async ({
    source,
  }) => {
    const { begun, response } = await cancelled(source);
    response.writeHead(202, location).end();
    expect(await begun).toMatchObject({
      kind: 'accepted',
      job: { jobs: [{ isDone: false }] },
    });
  });

  test('waits for the headers only', async ({ source }) => {
    const { begun, response } = await cancelled(source);
    response.writeHead(202, location).write('{');
    expect(await begun).toMatchObject({ kind: 'accepted' });
  });

  test('ends when the source answers with the data, and reads no more of it', async ({
    source,
  }) => {
    const { begun, response } = await cancelled(source);
    response
      .writeHead(200, { 'content-type': 'application/fhir+json' })
      .write('{');
    await expect(begun).rejects.toMatchObject({
      message: 'hie: Patient/$everything was cancelled',
    });
  });

  test('is given up after a minute', async ({ source }) => {
    onTestFinished(() => void vi.useRealTimers());
    const { begun } = await cancelled(source, {}, () =>
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }),
    );
    vi.advanceTimersByTime(59_999);
    expect(
      await Promise.race([begun?.catch(() => 'ended'), setImmediate('waits')]),
    ).toBe('waits');
    vi.advanceTimersByTime(1);
    vi.useRealTimers();
    await expect(begun).rejects.toMatchObject({
      message: 'hie: Patient/$everything was cancelled',
    });
  });

  test('asks about no further record of the person, and leaves no job of the first one', async ({
    source,
  }) => {
    const { begun, response } = await cancelled(source, {
      'POST Patient/$match': {
        json: bundle([adaAtSource, { ...adaAtSource, id: 'p2' }]),
      },
    });
    response.writeHead(202, location).end();
    await expect(begun).rejects.toMatchObject({ kind: 'transport' });
    expect(source.askedFor('GET Patient/p2')).toEqual([]);
    expect(source.askedFor('DELETE').map(({ path }) => path)).toEqual([
      'jobs/1',
    ]);
  });
});

describe('the state of a job', () => {
  test.for<[string, Reply, object]>([
    [
      '202',
      { status: 202, headers: { 'retry-after': '5' } },
      { kind: 'pending', retryAfterMs: 5_000 },
    ],
    [
      '429',
      { status: 429, headers: { 'retry-after': '9' } },
      { kind: 'pending', retryAfterMs: 9_000 },
    ],
    [
      '503 with a time',
      { status: 503, headers: { 'retry-after': '3' } },
      { kind: 'pending', retryAfterMs: 3_000 },
    ],
    ['202 without a time', { status: 202 }, { kind: 'pending' }],
  ])('%s: not yet', async ([_, reply, state], { source }) => {
    source.serve({ 'GET jobs/1': reply });
    const job = await begin(source);
    expect(await connect(source).poll(job, never)).toMatchObject(state);
  });

  const outcome = {
    resourceType: 'OperationOutcome',
    issue: [{ severity: 'fatal', code: 'timeout', diagnostics: 'Ada' }],
  };
  test.for<[string, Reply, object]>([
    [
      'an OperationOutcome with 500',
      { status: 500, json: outcome },
      {
        kind: 'job-failed',
        message: 'hie failed the job it accepted (500, timeout)',
      },
    ],
    [
      'an OperationOutcome with 200',
      { json: outcome },
      {
        kind: 'job-failed',
        message: 'hie failed the job it accepted (timeout)',
      },
    ],
    [
      '404',
      { status: 404 },
      {
        kind: 'job-failed',
        message: 'hie no longer knows the job it accepted (404)',
      },
    ],
    [
      'a 502 of some proxy',
      { status: 502, text: '<html>', headers: { 'content-type': 'text/html' } },
      { kind: 'transport' },
    ],
    ['403', { status: 403, json: outcome }, { kind: 'denied' }],
    [
      'neither Bundle nor manifest',
      { json: { done: true } },
      { kind: 'bad-answer' },
    ],
    [
      'an entry that failed',
      {
        json: {
          resourceType: 'Bundle',
          type: 'batch-response',
          entry: [{ response: { status: '422 Unprocessable' } }],
        },
      },
      { kind: 'job-failed', message: 'hie failed the job it accepted (422)' },
    ],
    [
      'errors only',
      { json: { output: [], error: [{ type: 'OperationOutcome', url: 'x' }] } },
      { kind: 'job-failed', message: 'hie finished its job with errors only' },
    ],
  ])('%s: the end', async ([_, reply, failure], { source }) => {
    source.serve({ 'GET jobs/1': reply });
    await expect(pollPages(source, await begin(source))).rejects.toMatchObject(
      failure,
    );
  });

  test('a Bundle that came with it is not fetched again, and its pages are followed', async ({
    source,
  }) => {
    source.serve({
      'GET jobs/1': { json: bundle([condition('c1')], '/fhir/jobs/1/2') },
      'GET jobs/1/2': { json: bundle([condition('c2')]) },
    });
    expect(idsOf(await pollPages(source, await begin(source)))).toEqual([
      'Condition/c1',
      'Condition/c2',
    ]);
    expect(source.askedFor('GET jobs/1')).toHaveLength(2);
  });
});

describe('jobs for several records of one person', () => {
  const p2 = { ...adaAtSource, id: 'p2' };

  test('are asked one by one, and the answers collected when all are done', async ({
    source,
  }) => {
    source.serve({
      'POST Patient/$match': { json: bundle([adaAtSource, p2]) },
      'GET Patient/p2/$everything': accepted('jobs/2'),
      'GET jobs/1': { json: bundle([condition('c1')]) },
      'GET jobs/2': { status: 202 },
    });
    const poll = await connect(source).poll(await begin(source), never);
    if (poll.kind !== 'pending') throw new Error(poll.kind);
    source.routes['GET jobs/2'] = {
      json: bundle([condition('c2', 'Patient/p2')]),
    };
    const job = JSON.parse(JSON.stringify(poll.job)) as JobHandle;
    expect(idsOf(await pollPages(source, job))).toEqual([
      'Condition/c1',
      'Condition/c2',
    ]);
  });

  test('may stand beside a record that was answered at once', async ({
    source,
  }) => {
    source.serve({
      'POST Patient/$match': { json: bundle([p2, adaAtSource]) },
      'GET Patient/p2/$everything': {
        json: bundle([condition('c2', 'Patient/p2')]),
      },
      'GET jobs/1': { json: bundle([condition('c1')]) },
    });
    expect(idsOf(await pollPages(source, await begin(source)))).toEqual([
      'Condition/c1',
      'Condition/c2',
    ]);
  });

  test('are called off when one of them cannot be had', async ({ source }) => {
    source.serve({
      'POST Patient/$match': { json: bundle([adaAtSource, p2]) },
      'GET Patient/p2/$everything': { status: 503 },
    });
    await expect(begin(source)).rejects.toMatchObject({ kind: 'transport' });
    expect(source.askedFor('DELETE jobs/1')).toHaveLength(1);
  });

  test('are cancelled, whether the source still knows them or not', async ({
    source,
  }) => {
    source.serve({ 'DELETE jobs/1': { status: 202 } });
    const job = await begin(source);
    await connect(source).cancel(job, never);
    source.routes = {};
    await connect(source).cancel(job, never);
    source.routes = { 'DELETE jobs/1': { status: 503 } };
    await expect(connect(source).cancel(job, never)).rejects.toMatchObject({
      kind: 'transport',
    });
  });
});

/** The same piece again and again, each a gzip member of its own. */
function endless(piece: string): Reply {
  const packed = gzipSync(piece);
  return {
    write: (response) => {
      response.writeHead(200, {
        'content-type': 'application/fhir+ndjson',
        'content-encoding': 'gzip',
      });
      const timer = setInterval(() => response.write(packed), 5);
      response.on('close', () => clearInterval(timer));
    },
  };
}

describe('a manifest', () => {
  const line = (id: string) => `${JSON.stringify(condition(id))}\n`;
  const ndjson = (text: string): Reply => ({
    text,
    headers: { 'content-type': 'application/fhir+ndjson' },
  });
  const manifest = (change = {}): Reply => ({
    json: {
      transactionTime: '2026-01-01T00:00:00Z',
      requiresAccessToken: true,
      output: [
        { type: 'Condition', url: '/fhir/files/1' },
        { type: 'Group', url: '/fhir/files/unwanted' },
        { type: 'Condition', url: '/fhir/files/2' },
      ],
      ...change,
    },
    headers: { 'content-type': 'application/json' },
  });
  const many = Array.from({ length: 1_100 }, (_, n) => line(`c${n}`)).join('');

  test('has its files read in pages of five hundred lines, and unwanted ones left alone', async ({
    source,
  }) => {
    source.serve({
      'GET jobs/1': manifest(),
      'GET files/1': ndjson(many),
      'GET files/2': ndjson(''),
    });
    const pages = await pollPages(source, await begin(source));
    expect(pages.map(({ resources }) => resources.length)).toEqual([
      500, 500, 100, 0,
    ]);
    expect(Buffer.concat(pages.map(({ raw }) => raw.bytes)).toString()).toBe(
      many,
    );
    expect(pages.map(({ next }) => next === null)).toEqual([
      false,
      false,
      false,
      true,
    ]);
    expect(source.askedFor('GET files/unwanted')).toEqual([]);
  });

  test('goes on within a file after a crash', async ({ source }) => {
    source.serve({
      'GET jobs/1': manifest(),
      'GET files/1': ndjson(many),
      'GET files/2': ndjson(line('z')),
    });
    const pages = await pollPages(source, await begin(source));
    const cursor = JSON.parse(JSON.stringify(pages[1]?.next)) as Record<
      string,
      unknown
    >;
    const rest = await allOf(connect(source).resume(cursor, never));
    expect(idsOf(rest)).toEqual(idsOf(pages.slice(2)));
    expect(idsOf(rest)[0]).toBe('Condition/c1000');
  });

  test.for<[boolean | undefined, string | undefined]>([
    [true, 'Bearer secret'],
    [undefined, 'Bearer secret'],
    [false, undefined],
  ])(
    'with requiresAccessToken %s has its files fetched with %s',
    async ([requiresAccessToken, authorization], { source }) => {
      source.serve({
        'GET jobs/1': manifest({ requiresAccessToken }),
        'GET files/1': ndjson(line('c1')),
        'GET files/2': ndjson(''),
      });
      const auth = { auth: { kind: 'bearer' as const, token: 'secret' } };
      await pollPages(source, await begin(source, auth), auth);
      expect(source.askedFor('GET files/1')[0]?.headers.authorization).toBe(
        authorization,
      );
    },
  );

  test('that points elsewhere is refused, and nobody there sees a request', async ({
    source,
  }) => {
    const foreign = await new FakeSource().start();
    source.serve({
      'GET jobs/1': manifest({
        output: [{ type: 'Condition', url: `${foreign.origin}/x` }],
      }),
    });
    await expect(pollPages(source, await begin(source))).rejects.toMatchObject({
      kind: 'refused',
    });
    expect(foreign.asked).toEqual([]);
  });

  test('with errors beside its data tells how many', async ({ source }) => {
    source.serve({ 'GET jobs/1': manifest({ output: [], error: [] }) });
    const [empty] = await pollPages(source, await begin(source));
    expect(empty).toMatchObject({
      resources: [],
      next: null,
      reportedErrors: 0,
    });
    const output = [{ type: 'Condition', url: '/fhir/files/1' }];
    source.routes['GET files/1'] = ndjson(line('c1'));
    source.routes['GET jobs/1'] = manifest({
      output,
      error: [{ type: 'OperationOutcome', url: '/fhir/errors' }],
    });
    const pages = await pollPages(source, await begin(source));
    expect(pages.map(({ reportedErrors }) => reportedErrors)).toEqual([1, 0]);
    expect(idsOf(pages)).toEqual(['Condition/c1']);
  });

  test.for<[string, Reply, string, string]>([
    [
      'broken JSON',
      ndjson('{"resourceType":\n'),
      'bad-answer',
      'with a line of broken JSON',
    ],
    [
      'HTML',
      { text: '<html>', headers: { 'content-type': 'text/html' } },
      'bad-answer',
      'text/html instead of NDJSON',
    ],
    [
      'a line nested too deep',
      ndjson(`{"a":${'['.repeat(1_000)}${']'.repeat(1_000)}}\n`),
      'bad-answer',
      'with a line of JSON nested more than 1000 levels deep',
    ],
    [
      'blank lines without end',
      endless('\n'.repeat(100_000)),
      'bad-answer',
      '1000000 bytes of blank lines',
    ],
    [
      'bytes that decode to nothing',
      endless(''),
      'transport',
      'did not answer a file of its job within 0.5 s',
    ],
    [
      'a line without end',
      ndjson('x'.repeat(200_000)),
      'bad-answer',
      'sent a line longer than',
    ],
    [
      '404',
      { status: 404 },
      'job-failed',
      'hie no longer has the rest of its result (404 to a file of its job)',
    ],
  ])(
    'with a file of %s fails clearly',
    async ([_, reply, kind, message], { source }) => {
      source.serve({ 'GET jobs/1': manifest(), 'GET files/1': reply });
      await expect(
        pollPages(source, await begin(source), {
          pageBytesMax: 100_000,
          requestTimeoutSeconds: 0.5,
        }),
      ).rejects.toMatchObject({
        kind,
        message: expect.stringContaining(message),
      });
    },
  );

  test('with a file that breaks off keeps the pages before, and goes on from there', async ({
    source,
  }) => {
    source.serve({
      'GET jobs/1': manifest({
        output: [{ type: 'Condition', url: '/fhir/files/1' }],
      }),
      'GET files/1': {
        write: (response) => {
          response.writeHead(200, {
            'content-type': 'application/fhir+ndjson',
          });
          response.write(many.slice(0, many.length - 5), () =>
            setTimeout(() => response.destroy(), 100),
          );
        },
      },
    });
    const poll = await connect(source).poll(await begin(source), never);
    if (poll.kind !== 'ready') throw new Error('pending');
    const got: string[] = [];
    let cursor: unknown;
    const reading = (async () => {
      for await (const page of poll.pages) {
        got.push(...idsOf([page]));
        cursor = page.next;
      }
    })();
    await expect(reading).rejects.toMatchObject({ kind: 'transport' });
    expect(got).toHaveLength(1_000);
    source.routes['GET files/1'] = ndjson(many);
    expect(
      idsOf(await allOf(connect(source).resume(cursor as JobHandle, never))),
    ).toHaveLength(100);
  });
});

test('a handle or cursor that another build wrote is not the source’s failure', async ({
  source,
}) => {
  await expect(connect(source).poll({ version: 7 }, never)).rejects.toThrow(
    StoredByAnotherBuild,
  );
  expect(() => connect(source).resume({ steps: [] }, never)).toThrow(
    StoredByAnotherBuild,
  );
  await expect(connect(source).cancel({ version: 7 }, never)).rejects.toThrow(
    StoredByAnotherBuild,
  );
});
