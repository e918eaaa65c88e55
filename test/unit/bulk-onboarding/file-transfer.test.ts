import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { Agent } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ExchangeCallError } from '../../../src/orchestrator/client/failures.ts';
import { createFileTransfer } from '../../../src/orchestrator/client/file-transfer.ts';
import { createDownloads } from '../../../src/starter/target/download.ts';
import { type Stub, startStub } from '../../support/http-stub.ts';

let stub: Stub;
const dispatcher = new Agent();
beforeAll(async () => {
  stub = await startStub();
});
afterEach(() => {
  stub.requests.length = 0;
});
afterAll(async () => {
  await dispatcher.destroy();
  await stub.close();
});

const CSV = 'firstName,lastName\r\nJane,Smith\r\n';
const sha256 = createHash('sha256').update(CSV).digest('hex');
async function* pieces() {
  for (const line of CSV.match(/.*\r\n/g) ?? []) yield Buffer.from(line);
}
const file = () => ({
  content: pieces(),
  sha256,
  sizeBytes: CSV.length,
  contentType: 'text/csv',
});
const transfer = (stallMs = 5_000) =>
  createFileTransfer({
    credential: async () => ({ name: 'x-api-key', value: 'the-key' }),
    dispatcher,
    stallMs,
  });
const conflict = (upload: object) => ({
  status: 409,
  body: { name: 'CONFLICT', upload },
});

async function errorOf(call: Promise<unknown>): Promise<ExchangeCallError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof ExchangeCallError) return error;
  throw new Error(`expected an ExchangeCallError, got ${String(error)}`);
}

describe('an upload', () => {
  test('sends the bytes as they are, with the key and the type that E5 asks for', async () => {
    stub.answer = () => ({ status: 200, body: {} });
    const moved: number[] = [];
    const outcome = await transfer().upload(`${stub.url}/u/1`, file(), {
      onProgress: (n) => moved.push(n),
    });
    expect(outcome).toBe('taken');
    expect(stub.requests).toMatchObject([
      {
        method: 'PUT',
        url: '/u/1',
        body: CSV,
        headers: {
          'x-api-key': 'the-key',
          'content-type': 'text/csv',
          'content-length': String(CSV.length),
        },
      },
    ]);
    expect(moved.at(-1)).toBe(CSV.length);
  });

  test.each([
    [
      'the same file is there already',
      conflict({ status: 'processing', sha256 }),
      'taken',
    ],
    ['the request has expired', conflict({ status: 'expired' }), 'gone'],
    ['the URL is refused', { status: 403 }, 'gone'],
    ['the URL is not known', { status: 404 }, 'gone'],
    ['the URL is over', { status: 410 }, 'gone'],
  ])('when %s is no error', async (_, answer, outcome) => {
    stub.answer = () => answer;
    expect(await transfer().upload(`${stub.url}/u`, file())).toBe(outcome);
  });

  test.each([
    [
      'another file was uploaded',
      conflict({ status: 'processing', sha256: 'f00' }),
      'conflict',
      false,
    ],
    [
      'another upload is still open',
      conflict({ status: 'waiting' }),
      'conflict',
      true,
    ],
    ['it is too large', { status: 413 }, 'rejected', false],
    ['the type is wrong', { status: 415 }, 'rejected', false],
    ['the key is not accepted', { status: 401 }, 'unauthorized', false],
    [
      'the exchange is down',
      { status: 503, headers: { 'retry-after': '2' } },
      'unavailable',
      true,
    ],
    ['the exchange is broken', { status: 500 }, 'unavailable', true],
    ['the connection is cut', 'cut' as const, 'unavailable', true],
  ])(
    'when %s tells what went wrong and whether to try again',
    async (_, answer, kind, retryable) => {
      stub.answer = () => answer;
      const error = await errorOf(transfer().upload(`${stub.url}/u`, file()));
      expect(error).toMatchObject({ kind, retryable });
      expect(error.message).not.toContain('Jane');
    },
  );

  test('that is not answered is given up and may be tried again', async () => {
    stub.answer = () => 'silence';
    expect(
      await errorOf(transfer(100).upload(`${stub.url}/u`, file())),
    ).toMatchObject({
      kind: 'unavailable',
      retryable: true,
    });
  });

  test('that is cancelled ends with the reason of the cancellation', async () => {
    stub.answer = () => 'silence';
    const cancelling = new AbortController();
    const call = transfer().upload(`${stub.url}/u`, file(), {
      signal: cancelling.signal,
    });
    cancelling.abort(new Error('cancelled by us'));
    await expect(call).rejects.toThrow('cancelled by us');
  });

  test('of a file that cannot be read says so, and does not blame the exchange', async () => {
    stub.answer = () => ({ status: 200 });
    async function* damaged() {
      yield Buffer.from('first');
      throw new Error('the blob is damaged');
    }
    const call = transfer().upload(`${stub.url}/u`, {
      ...file(),
      content: damaged(),
    });
    await expect(call).rejects.toThrow('the blob is damaged');
  });

  test.each(['not an address', 'file:///etc/passwd'])(
    'does not go to %s',
    async (url) => {
      expect(await errorOf(transfer().upload(url, file()))).toMatchObject({
        kind: 'bad-answer',
      });
    },
  );
});

describe('a download', () => {
  test('needs no key: the link is enough', async () => {
    stub.answer = () => ({ status: 200, body: CSV });
    expect(await text(await transfer().download(`${stub.url}/r`))).toBe(CSV);
    expect(stub.requests[0]?.headers).not.toHaveProperty('x-api-key');
  });

  test.each([401, 403, 404, 410])(
    'by a link that answers %i needs another link',
    async (status) => {
      stub.answer = () => ({ status });
      expect(await errorOf(transfer().download(`${stub.url}/r`))).toMatchObject(
        {
          kind: 'not-found',
          retryable: true,
        },
      );
    },
  );

  test('that breaks off in the middle fails, and may be tried again', async () => {
    stub.answer = () => 'half';
    const content = await transfer().download(`${stub.url}/r`);
    expect(await errorOf(text(content))).toMatchObject({
      kind: 'unavailable',
      retryable: true,
    });
  });
});

test('a page of HTML is a result only where HTML was asked for', async () => {
  stub.answer = () => ({
    status: 200,
    headers: { 'content-type': 'text/html' },
    body: '<p>Jane</p>',
  });
  expect(
    (await errorOf(transfer().download(`${stub.url}/d/1`))).message,
  ).toContain('HTML page');
  const read: Uint8Array[] = [];
  for await (const chunk of await createDownloads().download(`${stub.url}/d/1`))
    read.push(chunk);
  expect(Buffer.concat(read).toString()).toBe('<p>Jane</p>');
});
