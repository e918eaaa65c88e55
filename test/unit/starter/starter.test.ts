import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { storageInFolders } from '../../../src/local-stack/connection-file.ts';
import {
  type Stub,
  type StubAnswer,
  type StubRequest,
  startStub,
} from '../../support/http-stub.ts';
import { starter } from '../../support/run-starter.ts';

const REQUEST = '0198f1c2-7d11-7f3a-9d52-0c8f2f6f1a01';
const PATIENT = '0198f1c2-7d11-7f3a-9d52-0c8f2f6f1a02';
const KEY = 'the-key-of-this-test';

let exchange: Stub;
/** What E3 answers, one after the other; the last one stays. */
let states: StubAnswer[];
beforeEach(async () => {
  exchange = await startStub();
  exchange.answer = answer;
  states = [running, ended('completed')];
});
afterEach(() => exchange.close());

const source = (type: string, status: string) => ({
  type,
  status,
  startedAt: '2026-01-01T00:00:00.000Z',
});
const query = (status: string, sources: object[]): StubAnswer => ({
  status: 200,
  body: {
    requestId: REQUEST,
    status,
    sources,
    startedAt: '2026-01-01T00:00:00.000Z',
  },
});
const running = query('in-progress', [source('hie', 'in-progress')]);
const ended = (status: string) =>
  query(status, [
    source('hie', status === 'completed' ? 'completed' : 'failed'),
  ]);
const problem = (status: number): StubAnswer => ({
  status,
  body: { name: 'PROBLEM', title: 'A problem' },
});

function answer({ method, url }: StubRequest): StubAnswer {
  if (method === 'GET' && url.endsWith('/timeline')) return problem(404);
  if (method === 'GET')
    return (states.length > 1 ? states.shift() : states[0]) ?? problem(500);
  return running;
}

const at = (...argv: string[]) => [
  ...argv,
  '--base-url',
  exchange.url,
  '--api-key',
  KEY,
];

describe('query', () => {
  test('is followed to its end, at an exchange that knows no timeline', async () => {
    const run = await starter(at('query', PATIENT, '--sources', 'hie'));
    expect(run.exitCode).toBe(0);
    expect(run.stdout).toMatch(/hie +completed +1/);
    const [start] = exchange.requests;
    expect(start?.url).toContain(`patientId=${PATIENT}`);
    expect(start?.headers['x-api-key']).toBe(KEY);
    expect(JSON.parse(start?.body ?? '')).toEqual({
      sources: { hie: { enabled: true } },
    });
    expect(
      exchange.requests.filter(({ url }) => url.endsWith('/timeline')),
    ).toHaveLength(1);
  });

  test.each([
    ['partial', 3],
    ['failed', 4],
  ])('that ends %s exits with %i', async (status, exitCode) => {
    states = [ended(status)];
    expect((await starter(at('query', PATIENT))).exitCode).toBe(exitCode);
  });

  test('with --json leaves stdout to one document', async () => {
    const run = await starter(at('query', PATIENT, '--json'));
    expect(run.stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(run.json()).toMatchObject({
      command: 'query',
      requestId: REQUEST,
      status: 'completed',
      exitCode: 0,
    });
    expect(run.stderr).toContain('in progress');
  });

  test('goes on through an outage of the exchange', async () => {
    states = [
      running,
      'cut',
      { status: 503 },
      { status: 429, headers: { 'retry-after': '1' } },
      ended('completed'),
    ];
    const run = await starter(at('query', PATIENT));
    expect(run.exitCode).toBe(0);
    expect(run.stdout).toContain('trying again');
  });

  test('with --no-wait only starts it', async () => {
    const run = await starter(at('query', PATIENT, '--no-wait', '--json'));
    expect(run).toMatchObject({ exitCode: 0 });
    expect(run.json()).toMatchObject({ requestId: REQUEST, status: 'running' });
    expect(exchange.requests).toHaveLength(1);
  });

  test('that is longer than --timeout is still running, and the command says how to look at it', async () => {
    states = [running];
    const run = await starter(at('query', PATIENT, '--timeout', '0.2'));
    expect(run.exitCode).toBe(6);
    expect(run.stdout).toContain(`npm run starter -- status ${REQUEST}`);
  });

  test('outlives Ctrl-C', async () => {
    states = [running];
    const interruption = new AbortController();
    const run = await starter(at('query', PATIENT), {
      interrupted: interruption.signal,
      onOutput: (text) => {
        if (text.includes('hie')) interruption.abort();
      },
    });
    expect(run.exitCode).toBe(130);
    expect(run.stdout).toContain('The work continues');
    expect(exchange.requests.some(({ url }) => url.includes('cancel'))).toBe(
      false,
    );
  });
});

describe('retry and cancel', () => {
  test('a source is retried and followed', async () => {
    const run = await starter(at('retry', REQUEST, 'hie'));
    expect(run.exitCode).toBe(0);
    expect(exchange.requests[0]).toMatchObject({
      method: 'POST',
      url: `/medical/v1/network/query/${REQUEST}/source/hie/retry`,
    });
  });

  test('a refusal says how the source stands', async () => {
    states = [ended('completed')];
    exchange.answer = (request) =>
      request.method === 'POST' ? problem(409) : answer(request);
    const run = await starter(at('retry', REQUEST, 'hie'));
    expect(run.exitCode).toBe(5);
    expect(run.stderr).toContain('the hie source is completed');
  });

  test('cancelling is done when the exchange has done it, whatever state that leaves', async () => {
    states = [running, ended('failed')];
    const run = await starter(at('cancel', REQUEST, '--json'));
    expect(run.json()).toMatchObject({
      command: 'cancel',
      status: 'failed',
      exitCode: 0,
    });
    const posted = exchange.requests
      .filter(({ method }) => method === 'POST')
      .map(({ url }) => url);
    expect(posted).toEqual([`/medical/v1/network/query/${REQUEST}/cancel`]);
  });

  test('--source gives up that source only', async () => {
    await starter(at('cancel', REQUEST, '--source', 'lab'));
    const posted = exchange.requests
      .filter(({ method }) => method === 'POST')
      .map(({ url }) => url);
    expect(posted).toEqual([
      `/medical/v1/network/query/${REQUEST}/source/lab/cancel`,
    ]);
  });
});

describe('a command that cannot do its work', () => {
  test.each([
    [
      'is told that nothing is known of the id',
      404,
      5,
      'has nothing with this id',
    ],
    ['is told that the key is not accepted', 401, 5, 'API key'],
    ['is told to come back later', 429, 1, 'Try again in 7 s'],
    ['is told of a broken exchange', 503, 1, 'cannot be reached'],
  ])('%s', async (_, status, exitCode, told) => {
    exchange.answer = () => ({
      ...(problem(status) as object),
      status,
      headers: { 'retry-after': '7' },
    });
    const run = await starter(at('query', PATIENT, '--json'));
    expect(run.exitCode).toBe(exitCode);
    expect(run.stderr).toContain(told);
    expect(run.json()).toMatchObject({ exitCode });
    expect(run.stdout + run.stderr).not.toContain(KEY);
  });

  test('is told that nobody listens there', async () => {
    await exchange.close();
    const run = await starter(at('query', PATIENT));
    expect(run).toMatchObject({ exitCode: 1 });
    expect(run.stderr).toContain('ECONNREFUSED');
    exchange = await startStub();
  });

  test.each([
    [['query']],
    [['query', PATIENT, '--sources', 'dentist']],
    [['retry', REQUEST, 'dentist']],
    [['onboard', '--at-once', '41', '--sample', 'all']],
    [['query', PATIENT, '--timeout', 'soon']],
    [['frobnicate']],
    [[]],
    [['query', PATIENT, '--data-dir', '.', '--base-url', 'http://127.0.0.1:9']],
    [['query', PATIENT, '--base-url', 'http://127.0.0.1:9']],
  ])('%j is a mistake in the options', async (argv) => {
    const run = await starter(argv);
    expect(run.exitCode).toBe(2);
    expect(run.stderr).not.toBe('');
  });

  test('needs no Temporal to say so of a job at another exchange: it names what is missing', async () => {
    const run = await starter(at('status', 'job-1'));
    expect(run.exitCode).toBe(2);
    for (const name of ['TEMPORAL_ADDRESS', 'DATA_KEYS', 'ID_HMAC_KEY'])
      expect(run.stderr).toContain(name);
    expect(exchange.requests).toEqual([]);
  });

  test('lists the facilities when it cannot know which one is meant', async () => {
    const facilities = ['one', 'two'].map((name) => ({
      id: `id-${name}`,
      name,
      active: true,
    }));
    exchange.answer = () => ({ status: 200, body: { facilities } });
    const run = await starter(at('onboard', '--sample', 'keith-kiehn'));
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toContain('id-two');
  });
});

describe('the key of another exchange', () => {
  test('may come from the environment', async () => {
    await starter(['query', PATIENT, '--base-url', exchange.url], {
      env: { API_KEY: 'from-the-environment' },
    });
    expect(exchange.requests[0]?.headers['x-api-key']).toBe(
      'from-the-environment',
    );
  });
});

describe('the running stack', () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'starter-'));
  });
  afterEach(() => rm(dataDir, { recursive: true, force: true }));

  test('must run', async () => {
    const run = await starter(['status', REQUEST], {
      env: { DATA_DIR: dataDir },
    });
    expect(run.exitCode).toBe(1);
    expect(run.stderr).toContain('npm start');
  });

  test('that was killed is not taken for a running one, even when its pid is in use again', async () => {
    const id = '0198f1c2-7d11-7f3a-9d52-0c8f2f6f1a03';
    const connection = {
      pid: process.pid,
      baseUrl: exchange.url,
      apiKey: KEY,
      accountId: id,
      facilityId: id,
      temporalAddress: '127.0.0.1:9',
      temporalNamespace: 'default',
      databaseUrl: 'postgres://127.0.0.1:9/none',
      simulatorUrl: exchange.url,
      receiverUrl: exchange.url,
      storage: storageInFolders(dataDir),
    };
    await writeFile(
      join(dataDir, 'connection.json'),
      JSON.stringify(connection),
    );
    await writeFile(
      join(dataDir, 'stack.lock'),
      JSON.stringify({ pid: process.pid, commandLine: 'node a-stack' }),
    );
    const run = await starter(['status', REQUEST, '--data-dir', dataDir]);
    expect(run.exitCode).toBe(1);
    expect(run.stderr).toContain('not running');
    expect(exchange.requests).toEqual([]);
  });
});

test.each([
  'onboard',
  'query',
  'status',
  'retry',
  'cancel',
  'bulk',
  'bulk status',
  'bulk pause',
  'bulk resume',
  'bulk cancel',
  'export',
  'export cancel',
])('%s --help has examples and exit codes', async (name) => {
  const run = await starter([...name.split(' '), '--help']);
  expect(run.exitCode).toBe(0);
  expect(run.stdout).toContain(`npm run starter -- ${name}`);
  expect(run.stdout).toMatch(/3 {2}some completed/);
});
