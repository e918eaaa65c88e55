import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { Agent } from 'undici';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
} from 'vitest';
import { createBulkFileActivities } from '../../../src/activities/orchestrator/bulk-onboarding.ts';
import type { FileRef } from '../../../src/contract/bulk-onboarding.ts';
import { createExchangeClient } from '../../../src/orchestrator/client/exchange-client.ts';
import { createFileTransfer } from '../../../src/orchestrator/client/file-transfer.ts';
import {
  type Stub,
  type StubAnswer,
  startStub,
} from '../../support/http-stub.ts';
import { type MemoryFiles, memoryFiles } from './memory-files.ts';

const exchange = { credentialRef: 'api-key' };
const requestId = '0198f1c2-7d11-7f3a-9d52-0c8f2f6f1a01';
const quiet = { logger: new DefaultLogger('ERROR') };
const dispatcher = new Agent();
const credential = async () => ({ name: 'x-api-key', value: 'key' });

let stub: Stub;
let files: MemoryFiles;
let file: FileRef;
let status: StubAnswer;
let other: StubAnswer;
beforeAll(async () => {
  stub = await startStub();
  stub.answer = ({ url }) =>
    url.startsWith('/medical/v1/patient/bulk/') ? status : other;
});
beforeEach(async () => {
  stub.requests.length = 0;
  files = memoryFiles();
  file = await files.put('upload', one('a,b\n1,2\n'), 'text/csv');
});
afterAll(async () => {
  await dispatcher.destroy();
  await stub.close();
});

async function* one(text: string) {
  yield Buffer.from(text);
}
const stands = (state: string, more: object = {}): StubAnswer => ({
  status: 200,
  body: { requestId, status: state, ...more },
});
const asked = () =>
  stub.requests.map(
    ({ method, url }) => `${method} ${url.replace(/^.*\//, '')}`,
  );

function run<A extends unknown[], R>(
  activity: (...args: A) => Promise<R>,
  args: A,
  attempt = 1,
): Promise<R> {
  return new MockActivityEnvironment({ attempt }, quiet).run(
    activity,
    ...args,
  ) as Promise<R>;
}
const activities = () =>
  createBulkFileActivities({
    clientFor: () =>
      createExchangeClient({
        baseUrl: stub.url,
        credential,
        idempotency: true,
        timeoutMs: 240_000,
        dispatcher,
      }),
    transferFor: () =>
      createFileTransfer({ credential, dispatcher, stallMs: 5_000 }),
    files,
  });
const upload = (attempt?: number, sent = file) =>
  run(
    activities().uploadBulkFile,
    [
      {
        exchange,
        requestId,
        uploadUrl: `${stub.url}/links/upload`,
        file: sent,
      },
    ],
    attempt,
  );
const take = (link: string | undefined, attempt?: number) =>
  run(
    activities().takeBulkResult,
    [{ exchange, requestId, file, link }],
    attempt,
  );

async function failureOf(call: Promise<unknown>): Promise<ApplicationFailure> {
  const error = await call.catch((thrown: unknown) => thrown);
  if (error instanceof ApplicationFailure) return error;
  throw new Error(`expected a failure, got ${String(error)}`);
}

describe('a result whose new link is refused', () => {
  test.each([401, 403])(
    'with %i fails at once, and says so',
    async (refusal) => {
      status = stands('completed', { result: `${stub.url}/result` });
      other = { status: refusal };
      const failure = await failureOf(take(undefined));
      expect(failure).toMatchObject({
        type: 'unauthorized',
        nonRetryable: true,
      });
      expect(failure.message).toMatch(
        /^downloadFile: 40[13] for a link that the exchange has just made/,
      );
      // The link of a webhook may have expired, so it is tried with a new one.
      expect(await failureOf(take(`${stub.url}/old`))).toMatchObject({
        type: 'not-found',
        nonRetryable: false,
      });
    },
  );

  test('by an HTML page fails at once', async () => {
    status = stands('completed', { result: `${stub.url}/result` });
    other = {
      status: 200,
      body: '<html>Please sign in</html>',
      headers: { 'content-type': 'text/html' },
    };
    const failure = await failureOf(take(undefined));
    expect(failure).toMatchObject({ type: 'bad-answer', nonRetryable: true });
    expect(failure.message).toContain('is an HTML page');
  });
});

describe('uploading', () => {
  test('just sends the file the first time', async () => {
    other = { status: 200, body: {} };
    expect(await upload()).toBe('taken');
    expect(asked()).toEqual(['PUT upload']);
    expect(stub.requests[0]?.body).toBe('a,b\n1,2\n');
  });

  test.each([
    ['has the file', stands('processing'), 'taken', 1],
    ['is done with it', stands('completed'), 'taken', 1],
    ['no longer waits for it', stands('expired'), 'gone-in-outage', 1],
    ['waits for it', stands('waiting'), 'taken', 2],
    ['does not say', { status: 404 }, 'taken', 2],
  ])(
    'asks first the second time, when the exchange %s',
    async (_, answer, outcome, calls) => {
      status = answer;
      other = { status: 200, body: {} };
      expect(await upload(2)).toBe(outcome);
      expect(asked()).toEqual(
        [`GET ${requestId}`, 'PUT upload'].slice(0, calls),
      );
    },
  );

  test('of a file that is gone from our store is not tried again', async () => {
    await files.delete(file.ref);
    expect(await failureOf(upload())).toMatchObject({
      type: 'file-lost',
      nonRetryable: true,
    });
    expect(stub.requests).toEqual([]);
  });
});

describe('taking the result', () => {
  const csv = 'id,patientId,status,reason\n1,p-1,created,\n';

  test('uses the link of the webhook, with nothing more asked', async () => {
    other = { status: 200, body: csv };
    expect((await take(`${stub.url}/links/first`)).counts).toMatchObject({
      rows: 1,
      created: 1,
    });
    expect(asked()).toEqual(['GET first']);
  });

  test('asks for another link when that one has expired', async () => {
    other = { status: 410 };
    expect(await failureOf(take(`${stub.url}/links/first`))).toMatchObject({
      type: 'not-found',
      nonRetryable: false,
    });
    status = stands('completed', { result: `${stub.url}/links/second` });
    other = { status: 200, body: csv };
    expect((await take(`${stub.url}/links/first`, 2)).counts.rows).toBe(1);
    expect(asked()).toEqual(['GET first', `GET ${requestId}`, 'GET second']);
  });

  test('without any link waits for one', async () => {
    status = stands('completed');
    expect(await failureOf(take(undefined))).toMatchObject({
      type: 'unavailable',
      nonRetryable: false,
    });
  });

  test('that is no CSV is reported once, without quoting its content', async () => {
    other = { status: 200, body: 'a,b\n"Jane' };
    const failure = await failureOf(take(`${stub.url}/links/first`));
    expect(failure).toMatchObject({ type: 'bad-answer', nonRetryable: true });
    expect(failure.message).not.toContain('Jane');
    expect([...files.stored.keys()]).toEqual([file.ref]);
  });
});

test('files are discarded, also those that are gone', async () => {
  await run(activities().discardFiles, [{ refs: [file.ref, file.ref] }]);
  expect(files.stored.size).toBe(0);
});
