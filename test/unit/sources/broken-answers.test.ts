import {
  brotliCompressSync,
  constants,
  deflateSync,
  gzipSync,
} from 'node:zlib';
import { describe, expect } from 'vitest';
import {
  ada,
  bundle,
  condition,
  connect,
  FakeSource,
  idsOf,
  never,
  type Reply,
  type Routes,
  sourceTest as test,
} from '../../support/fake-source.ts';

/** With the default quality, megabytes of blanks take seconds. */
const quickBrotli = (bytes: string | Buffer): Buffer =>
  brotliCompressSync(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 1 },
  });

const startOther = (routes: Routes): Promise<FakeSource> =>
  new FakeSource(routes).start();

const EVERYTHING = 'Patient/$everything';

describe('a status', () => {
  test.for<[number, string]>([
    [408, 'transport'],
    [429, 'rate-limited'],
    [500, 'transport'],
    [503, 'transport'],
    [401, 'denied'],
    [403, 'denied'],
    [422, 'refused'],
    [204, 'bad-answer'],
  ])('%s is %s', async ([status, kind], { source }) => {
    source.serveEverything({ status });
    await expect(source.collect()).rejects.toMatchObject({
      kind,
      message: `hie answered ${status} to ${EVERYTHING}`,
      options: { httpStatus: status },
    });
  });

  test.for<[string, string]>([
    ['suppressed', 'refused'],
    ['business-rule', 'refused'],
    ['forbidden', 'denied'],
    ['login', 'denied'],
  ])('403 with the issue code %s is %s', async ([code, kind], { source }) => {
    source.serveEverything({
      status: 403,
      json: {
        resourceType: 'OperationOutcome',
        issue: [{ severity: 'error', code }],
      },
    });
    await expect(source.collect()).rejects.toMatchObject({ kind });
  });

  test('passes on the issue code of an OperationOutcome, never its texts or a code of its own making', async ({
    source,
  }) => {
    const outcome = (code: string) => ({
      resourceType: 'OperationOutcome',
      issue: [
        {
          severity: 'error',
          code,
          diagnostics: 'Ada Lovelace, 1985-12-10',
          details: { text: 'Ada' },
        },
      ],
    });
    source.serveEverything({ status: 422, json: outcome('processing') });
    await expect(source.collect()).rejects.toThrow(
      `hie answered 422 (processing) to ${EVERYTHING}`,
    );
    source.routes[`GET Patient/p1/$everything`] = {
      status: 422,
      json: outcome('lovelace'),
    };
    await expect(source.collect()).rejects.toThrow(
      `hie answered 422 to ${EVERYTHING}`,
    );
  });

  test('tells when to come back, in seconds or as a date', async ({
    source,
  }) => {
    source.serveEverything({ status: 429, headers: { 'retry-after': '7' } });
    await expect(source.collect()).rejects.toMatchObject({
      options: { retryAfterMs: 7_000 },
    });
    source.routes[`GET Patient/p1/$everything`] = {
      status: 503,
      headers: { 'retry-after': 'Fri, 21 Nov 2031 10:00:30 GMT' },
    };
    const clock = { now: () => Date.parse('2031-11-21T10:00:00Z') };
    const { createFhirConnector } = await import(
      '../../../src/exchange/sources/connectors/fhir-connector.ts'
    );
    const connector = createFhirConnector(
      { source: 'hie', baseUrl: source.baseUrl, auth: { kind: 'none' } },
      { clock },
    );
    await expect(connector.begin(ada, {}, never)).rejects.toMatchObject({
      kind: 'transport',
      options: { retryAfterMs: 30_000 },
    });
  });
});

describe('a body', () => {
  test.for<[string, Reply, string]>([
    [
      'HTML',
      { text: '<html>', headers: { 'content-type': 'text/html' } },
      'with text/html instead of FHIR JSON',
    ],
    [
      'no type',
      { text: '{}', headers: { 'content-type': '' } },
      'with no content type instead of FHIR JSON',
    ],
    [
      'a strange type',
      { text: '{}', headers: { 'content-type': 'x/Ada Lovelace' } },
      'with another content type',
    ],
    [
      'broken JSON',
      { text: '{"resourceType":"Bundle","entry":[' },
      'with broken JSON',
    ],
    ['nothing', { text: '' }, 'with broken JSON'],
    ['a list', { text: '[]' }, 'with broken JSON'],
    [
      'another resource',
      { json: { resourceType: 'Patient' } },
      'with something other than a Bundle',
    ],
    [
      'a broken Bundle',
      { json: { resourceType: 'Bundle', entry: {} } },
      'with a broken Bundle',
    ],
    [
      'an outcome',
      {
        json: {
          resourceType: 'OperationOutcome',
          issue: [{ code: 'too-costly' }],
        },
      },
      'with an OperationOutcome (too-costly)',
    ],
  ])('%s is a bad answer', async ([_, reply, message], { source }) => {
    source.serveEverything(reply);
    await expect(source.collect()).rejects.toMatchObject({
      kind: 'bad-answer',
      message: expect.stringContaining(`hie answered ${EVERYTHING} ${message}`),
    });
  });

  test.for([1_001, 300_000])(
    'nested %i levels deep is a bad answer, wherever it comes',
    async (levels, { source }) => {
      const deep = `{"resourceType":"Bundle","entry":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
      const message = 'with JSON nested more than 1000 levels deep';
      source.serveEverything({ text: deep });
      await expect(source.collect()).rejects.toMatchObject({
        kind: 'bad-answer',
        message: `hie answered ${EVERYTHING} ${message}`,
      });
      source.routes['POST Patient/$match'] = { text: deep };
      await expect(source.collect()).rejects.toMatchObject({
        kind: 'bad-answer',
      });
      source.routes['POST Patient/$match'] = { status: 422, text: deep };
      await expect(source.collect()).rejects.toMatchObject({ kind: 'refused' });
    },
  );

  test('is refused by its declared size before it is read', async ({
    source,
  }) => {
    let wasClosed = false;
    source.serveEverything({
      write: (response) => {
        response.on('close', () => {
          wasClosed = !response.writableFinished;
        });
        response.writeHead(200, {
          'content-type': 'application/fhir+json',
          'content-length': 100_000_000,
        });
        response.write('{');
      },
    });
    await expect(
      source.collect({ requestTimeoutSeconds: 0.5 }),
    ).rejects.toMatchObject({
      kind: 'bad-answer',
      message: `hie answered ${EVERYTHING} with more than 20 MB, also when asked for one resource; pageBytesMax of HIE_SETTINGS is the limit`,
    });
    await expect.poll(() => wasClosed).toBe(true);
  });

  test('is broken off while it streams, long before its hundred megabytes', async ({
    source,
  }) => {
    let sentBytes = 0;
    source.serveEverything({
      write: (response) => {
        response.writeHead(200, { 'content-type': 'application/fhir+json' });
        const part = Buffer.alloc(64_000, ' ');
        const send = () => {
          while (sentBytes < 100_000_000 && !response.destroyed) {
            sentBytes += part.length;
            if (!response.write(part)) break;
          }
        };
        response.on('drain', send);
        send();
      },
    });
    await expect(
      source.collect({ pageBytesMax: 1_000_000, pageSize: 1 }),
    ).rejects.toMatchObject({
      kind: 'bad-answer',
    });
    expect(sentBytes).toBeLessThan(20_000_000);
  });

  test('is measured after it is unpacked', async ({ source }) => {
    const packed = gzipSync(JSON.stringify(bundle([condition('c1')])));
    const gzip = {
      'content-type': 'application/fhir+json',
      'content-encoding': 'gzip',
    };
    source.serveEverything({
      write: (response) => response.writeHead(200, gzip).end(packed),
    });
    expect(idsOf(await source.collect())).toEqual(['Condition/c1']);
    const bomb = gzipSync(Buffer.alloc(21_000_000, ' '));
    source.routes['GET Patient/p1/$everything'] = {
      write: (response) => response.writeHead(200, gzip).end(bomb),
    };
    await expect(source.collect()).rejects.toThrow('with more than 20 MB');
    source.routes['GET Patient/p1/$everything'] = {
      write: (response) => response.writeHead(200, gzip).end('{}'),
    };
    await expect(source.collect()).rejects.toMatchObject({
      kind: 'bad-answer',
      message: expect.stringContaining('gzip'),
    });
  });

  test.for<[string, (bytes: string | Buffer) => Buffer]>([
    ['br', quickBrotli],
    ['deflate', deflateSync],
    ['X-GZIP', gzipSync],
  ])(
    'in %s is read, though we did not ask for it, and bounded like any other',
    async ([encoding, pack], { source }) => {
      const answer = (packed: Buffer): Reply => ({
        write: (response) =>
          response
            .writeHead(200, {
              'content-type': 'application/fhir+json',
              'content-encoding': encoding,
            })
            .end(packed),
      });
      source.serveEverything(
        answer(pack(JSON.stringify(bundle([condition('c1')])))),
      );
      expect(idsOf(await source.collect())).toEqual(['Condition/c1']);
      source.routes['GET Patient/p1/$everything'] = answer(
        pack(Buffer.alloc(21_000_000, ' ')),
      );
      await expect(source.collect()).rejects.toThrow('with more than 20 MB');
      source.routes['GET Patient/p1/$everything'] = answer(
        Buffer.from('{"resourceType":"Bundle"}'),
      );
      await expect(source.collect()).rejects.toMatchObject({
        kind: 'bad-answer',
        message: `hie answered ${EVERYTHING} with broken ${encoding.toLowerCase()}`,
      });
    },
  );

  test.for(['zstd', 'gzip, gzip', 'identity, gzip, br', 'Ada Lovelace'])(
    'in %j is a bad answer, and the process goes on',
    async (encoding, { source }) => {
      source.serveEverything(
        { text: '{}', headers: { 'content-encoding': encoding } },
        {
          'GET metadata': {
            text: '{}',
            headers: { 'content-encoding': encoding },
          },
        },
      );
      await expect(source.collect()).rejects.toMatchObject({
        kind: 'bad-answer',
        message: `hie answered ${EVERYTHING} in a content encoding that is not supported`,
      });
    },
  );

  test('that is cut short is a matter of transport', async ({ source }) => {
    source.serveEverything({
      write: (response) => {
        response.writeHead(200, {
          'content-type': 'application/fhir+json',
          'content-length': 1_000,
        });
        response.write('{"resourceType"', () => response.destroy());
      },
    });
    await expect(source.collect()).rejects.toMatchObject({ kind: 'transport' });
  });

  test('that trickles on and on is given up', async ({ source }) => {
    source.serveEverything({
      write: (response) => {
        response.writeHead(200, { 'content-type': 'application/fhir+json' });
        const timer = setInterval(() => response.write(' '), 20);
        response.on('close', () => clearInterval(timer));
      },
    });
    await expect(
      source.collect({ requestTimeoutSeconds: 0.3 }),
    ).rejects.toMatchObject({
      kind: 'transport',
      message: `hie did not answer ${EVERYTHING} within 0.3 s`,
    });
  });
});

describe('a connection', () => {
  test('that is refused or cut, and an answer that never comes, are matters of transport', async ({
    source,
  }) => {
    source.serveEverything({ write: (response) => response.destroy() });
    await expect(source.collect()).rejects.toMatchObject({ kind: 'transport' });
    source.routes['GET Patient/p1/$everything'] = { write: () => undefined };
    await expect(
      source.collect({ requestTimeoutSeconds: 0.2 }),
    ).rejects.toMatchObject({ kind: 'transport' });
    const connector = connect(source);
    await source.stop();
    await expect(connector.begin(ada, {}, never)).rejects.toMatchObject({
      kind: 'transport',
      message: expect.stringContaining('(ECONNREFUSED)'),
    });
  });

  test('is let go when the caller cancels', async ({ source }) => {
    const cancel = new AbortController();
    source.serveEverything({ write: () => cancel.abort() });
    // A request that may become a job has some seconds to name it
    // (jobs.test.ts).
    const call = connect(source).begin(ada, { realtime: true }, cancel.signal);
    await expect(call).rejects.toMatchObject({
      kind: 'transport',
      message: `hie: ${EVERYTHING} was cancelled`,
    });
  });
});

describe('a link', () => {
  test('to another origin is not followed, and the token stays at home', async ({
    source,
  }) => {
    const foreign = await startOther({});
    source.serveEverything({
      json: bundle([condition('c1')], `${foreign.origin}/fhir/more`),
    });
    await expect(
      source.collect({ auth: { kind: 'bearer', token: 'secret' } }),
    ).rejects.toMatchObject({
      kind: 'refused',
      message: `hie linked to ${foreign.origin}, which is not one of its configured origins: name it in allowedOrigins of HIE_SETTINGS, or in ownBaseUrls of HIE_SETTINGS if the server calls itself so`,
    });
    expect(foreign.asked).toEqual([]);
  });

  test('to another origin is named with the command that allows it, for a connection of an account', async ({
    source,
  }) => {
    const foreign = await startOther({});
    source.serveEverything({
      json: bundle([condition('c1')], `${foreign.origin}/fhir/more`),
    });
    await expect(
      source.collect({ connectionKey: 'connection-1' }),
    ).rejects.toMatchObject({
      message: `hie linked to ${foreign.origin}, which is not one of its configured origins: name it in --allowed-origins, or in --own-base-urls if the server calls itself so (npm run admin -- connections set connection-1)`,
    });
  });

  test('under a name by which the server wrongly calls itself leads to the server, with its references', async ({
    source,
  }) => {
    const own = 'http://fhir.internal:8080/api/fhir';
    const c1 = {
      ...condition('c1', `${own}/Patient/p1`),
      encounter: { reference: `${own}/Encounter/e1` },
    };
    source.serveEverything(
      { json: bundle([c1], `${own}?_getpages=2`) },
      {
        'GET ?_getpages=2': {
          json: bundle([condition('c2')], `${own}/Condition?page=3`),
        },
        'GET Condition?page=3': { json: bundle([condition('c3')]) },
      },
    );
    const pages = await source.collect({ ownBaseUrls: [`${own}/`] });
    expect(idsOf(pages)).toEqual([
      'Condition/c1',
      'Condition/c2',
      'Condition/c3',
    ]);
    expect(pages[0]?.resources[0]).toMatchObject({
      encounter: { reference: 'Encounter/e1' },
    });
    const similar = { json: bundle([condition('c1')], `${own}-other/more`) };
    source.routes['GET Patient/p1/$everything'] = similar;
    await expect(source.collect({ ownBaseUrls: [own] })).rejects.toMatchObject({
      kind: 'refused',
    });
  });

  test('to a configured origin is followed', async ({ source }) => {
    const second = await startOther({
      'GET more': { json: bundle([condition('c2')]) },
    });
    source.serveEverything({
      json: bundle([condition('c1')], `${second.origin}/fhir/more`),
    });
    expect(
      idsOf(await source.collect({ allowedOrigins: [second.origin] })),
    ).toEqual(['Condition/c1', 'Condition/c2']);
  });

  test('to a configured origin gets the token only where the configuration says so', async ({
    source,
  }) => {
    const second = await startOther({
      'GET more': { json: bundle([condition('c2')]) },
      'GET Patient/p1/$everything': { json: bundle([]) },
    });
    const auth = { kind: 'bearer', token: 'secret' } as const;
    const tokens = () =>
      second.asked.map(({ headers }) => headers.authorization);
    source.serveEverything({
      json: bundle([condition('c1')], `${second.origin}/fhir/more`),
    });
    await source.collect({ auth, allowedOrigins: [second.origin] });
    expect(tokens()).toEqual([undefined]);
    await source.collect({ auth, tokenOrigins: [second.origin] });
    expect(tokens()).toEqual([undefined, 'Bearer secret']);

    source.routes['GET Patient/p1/$everything'] = {
      status: 307,
      headers: { location: `${second.origin}/fhir/Patient/p1/$everything` },
    };
    await source.collect({ auth, allowedOrigins: [second.origin] });
    expect(tokens().slice(2)).toEqual([undefined]);
    expect(
      source.asked.every(
        ({ headers }) => headers.authorization === 'Bearer secret',
      ),
    ).toBe(true);
  });

  test.for(['ftp://127.0.0.1/x', 'http://', '', 'http://user:word@127.0.0.1/'])(
    '%j is a bad answer',
    async (link, { source }) => {
      source.serveEverything({ json: bundle([condition('c1')], link) });
      await expect(source.collect()).rejects.toMatchObject({
        kind: 'bad-answer',
      });
    },
  );

  test('that came before ends in a bad answer instead of a loop', async ({
    source,
  }) => {
    source.serveEverything(
      { json: bundle([condition('c1')], '?page=2') },
      {
        'GET Patient/p1/$everything?page=2': {
          json: bundle([condition('c2')], '?page=3'),
        },
        'GET Patient/p1/$everything?page=3': {
          json: bundle([condition('c3')], '?page=2'),
        },
      },
    );
    await expect(source.collect()).rejects.toMatchObject({
      kind: 'bad-answer',
      message: expect.stringContaining('loop'),
    });
    expect(source.asked).toHaveLength(5);
  });

  test('that is new each time ends at the bound of bytes', async ({
    source,
  }) => {
    let page = 0;
    source.serveEverything(() => {
      page += 1;
      return { json: bundle([condition('c1')], `?page=${page}`) };
    });
    const answerBytesMax = 500_000;
    await expect(source.collect({ answerBytesMax })).rejects.toMatchObject({
      kind: 'bad-answer',
      message:
        'hie returned pages of more than 500000 bytes (each counts as at least 100000)',
    });
    expect(page).toBe(5);
  });

  test('of 5,000 small pages is followed to the end', async ({ source }) => {
    let page = 0;
    source.serveEverything(() => {
      page += 1;
      const next = page < 5_000 ? `?page=${page}` : undefined;
      return { json: bundle([condition(`c${page}`)], next) };
    });
    const pages = await source.collect();
    expect(new Set(idsOf(pages)).size).toBe(5_000);
    const stored = JSON.stringify(pages.at(-2)?.next);
    expect(stored.length).toBeLessThan(100_000);
  });
});

describe('a redirect', () => {
  test('within the configured origins is followed', async ({ source }) => {
    source.serveEverything(
      { status: 302, headers: { location: '/fhir/moved' } },
      { 'GET moved': { json: bundle([condition('c1')]) } },
    );
    expect(idsOf(await source.collect())).toEqual(['Condition/c1']);
  });

  test('is followed five times, not more', async ({ source }) => {
    const hops = (count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, hop) => [
          `GET hop${hop}`,
          hop === count - 1
            ? { json: bundle([condition('c1')]) }
            : { status: 302, headers: { location: `/fhir/hop${hop + 1}` } },
        ]),
      );
    const first = { status: 302, headers: { location: '/fhir/hop0' } };
    source.serveEverything(first, hops(5));
    expect(idsOf(await source.collect())).toEqual(['Condition/c1']);
    source.serveEverything(first, hops(6));
    await expect(source.collect()).rejects.toThrow('more than 5 times');
  });

  test('to elsewhere, round in circles, or one that drops the request body is not', async ({
    source,
  }) => {
    const foreign = await startOther({});
    source.serveEverything({
      status: 307,
      headers: { location: `${foreign.origin}/fhir/steal` },
    });
    await expect(
      source.collect({ auth: { kind: 'bearer', token: 'secret' } }),
    ).rejects.toMatchObject({
      kind: 'refused',
    });
    expect(foreign.asked).toEqual([]);
    source.routes['GET Patient/p1/$everything'] = {
      status: 302,
      headers: { location: '?again' },
    };
    source.routes['GET Patient/p1/?again'] = {
      status: 302,
      headers: { location: '?again' },
    };
    await expect(source.collect()).rejects.toThrow('redirected');
    source.routes['POST Patient/$match'] = {
      status: 302,
      headers: { location: '/fhir/x' },
    };
    await expect(source.collect()).rejects.toThrow(
      'a redirect that drops the request body',
    );
  });
});
