import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import {
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import {
  afterAll,
  beforeAll,
  describe,
  expect,
  onTestFinished,
  test,
} from 'vitest';
import { startTcpProxy } from '../../bench/soak/mixed/tcp-proxy.ts';
import { ConfigError } from '../../src/config.ts';
import { runAdmin } from '../../src/exchange/operations/admin/program.ts';
import {
  type BlobStore,
  BlobStoreUnavailableError,
} from '../../src/shared/blobs/blob-store.ts';
import { encryptedBlobStore } from '../../src/shared/blobs/encrypted-blob-store.ts';
import {
  openBlobStore,
  openSealedStorage,
} from '../../src/shared/blobs/open-blob-store.ts';
import { openS3Bucket } from '../../src/shared/blobs/s3-bucket.ts';
import { s3Storage } from '../../src/shared/blobs/s3-storage.ts';
import { testBlobStore } from '../support/blob-store-contract.ts';
import {
  findSeaweedFs,
  type S3Server,
  startSeaweedFs,
} from '../support/seaweedfs.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { testKeyRing } from '../support/test-keys.ts';

const found = await findSeaweedFs();
const title =
  'missing' in found
    ? `S3 blob store (skipped: no SeaweedFS, ${found.missing})`
    : 'S3 blob store';
const MB = 1024 * 1024;

describe.skipIf('missing' in found)(title, () => {
  const Bucket = 'blobs';
  let server: S3Server;
  beforeAll(async () => {
    server = await startSeaweedFs('path' in found ? found.path : '');
    await server.createBucket(Bucket);
  });
  afterAll(() => server?.close());

  const addressOf = (endpoint = server.endpoint) =>
    `s3://${Bucket}/some/prefix?endpoint=${endpoint}`;
  const keyOf = (ref: string) => {
    const [kind, name = ''] = ref.split('/');
    return `some/prefix/${kind}/${name.slice(0, 2)}/${name}`;
  };
  const names = async () => {
    const { Contents = [] } = await server.client.send(
      new ListObjectsV2Command({ Bucket }),
    );
    return Contents.map(({ Key }) => Key ?? '');
  };
  const uploads = async () =>
    (await server.client.send(new ListMultipartUploadsCommand({ Bucket })))
      .Uploads ?? [];

  testBlobStore({
    open: (keyRing) => openBlobStore(addressOf(), keyRing),
    names,
    async readRaw(ref) {
      const { Body } = await server.client.send(
        new GetObjectCommand({ Bucket, Key: keyOf(ref) }),
      );
      return Buffer.from((await Body?.transformToByteArray()) ?? []);
    },
    async writeRaw(ref, bytes) {
      await server.client.send(
        new PutObjectCommand({ Bucket, Key: keyOf(ref), Body: bytes }),
      );
    },
    // S3 states times in seconds.
    age: () => sleep(1_100),
  });

  test('a stream of many parts comes back whole, and any range of it', async () => {
    const store = await openBlobStore(addressOf(), testKeyRing());
    const parts = Array.from({ length: 40 }, () => randomBytes(MB / 2 + 7));
    const whole = Buffer.concat(parts);
    const { ref, sizeBytes } = await store.put(
      'upload',
      Readable.from(parts),
      'text/csv',
    );
    expect(sizeBytes).toBe(whole.length);
    expect((await store.read(ref)).equals(whole)).toBe(true);
    const range = await store.getRange(ref, 8 * MB - 100, 8 * MB + 100);
    expect(range.equals(whole.subarray(8 * MB - 100, 8 * MB + 100))).toBe(true);
    await store.delete(ref);
  });

  test('a stream of many parts that fails leaves neither a blob nor parts', async () => {
    const store = await openBlobStore(addressOf(), testKeyRing());
    const before = await names();
    const broken = (async function* () {
      for (let count = 0; count < 20; count++) yield randomBytes(MB);
      throw new Error('the sender went away');
    })();
    await expect(store.put('upload', broken, 'text/csv')).rejects.toThrow(
      'went away',
    );
    expect(await names()).toEqual(before);
    expect(await uploads()).toEqual([]);
  });

  test('a blob never replaces another of the same name', async () => {
    const storage = await openSealedStorage(addressOf(), 'BLOB_STORE');
    const ref = `upload/${randomBytes(16).toString('hex')}`;
    const bytes = (sizeBytes: number, fill: number) =>
      (async function* () {
        yield Buffer.alloc(sizeBytes, fill);
      })();
    await storage.write(ref, bytes(5, 1));
    await expect(storage.write(ref, bytes(5, 2))).rejects.toMatchObject({
      name: 'PreconditionFailed',
    });
    await expect(storage.write(ref, bytes(9 * MB, 2))).rejects.toMatchObject({
      name: 'PreconditionFailed',
    });
    expect(await storage.withSource(ref, ({ read }) => read(0, 10))).toEqual(
      Buffer.alloc(5, 1),
    );
    await storage.delete(ref);
  });

  test('a connection that is cut in the middle fails the reading, and never shortens the content', async () => {
    const direct = await openBlobStore(addressOf(), testKeyRing());
    const content = randomBytes(4 * MB);
    const { ref } = await direct.put('document', content, 'text/plain');
    const proxy = await cuttingProxy(server.endpoint);
    const store = await openBlobStore(addressOf(proxy.endpoint), testKeyRing());
    proxy.cutAfter(MB);
    await expect(store.read(ref)).rejects.toThrow(BlobStoreUnavailableError);
    proxy.cutAfter(Number.POSITIVE_INFINITY);
    expect((await store.read(ref)).equals(content)).toBe(true);
  });

  test('a killed server loses no blob that was stored, and works on when it is back', async () => {
    const store = await openBlobStore(addressOf(), testKeyRing());
    const { ref } = await store.put(
      'document',
      Buffer.from('kept'),
      'text/plain',
    );
    await server.kill();
    await expect(store.read(ref)).rejects.toThrow(BlobStoreUnavailableError);
    await expect(
      store.put('document', Buffer.from('lost'), 'text/plain'),
    ).rejects.toThrow(BlobStoreUnavailableError);
    await server.start();
    await expect.poll(() => store.read(ref).then(String, String)).toBe('kept');
    await expect
      .poll(() =>
        store
          .put('document', Buffer.from('new'), 'text/plain')
          .then(() => 'stored', String),
      )
      .toBe('stored');
  });

  /** A store that does not wait long, and what each of its methods comes to. */
  async function openImpatient(endpoint: string): Promise<BlobStore> {
    const bucket = await openS3Bucket(
      new URL(addressOf(endpoint)),
      'BLOB_STORE',
    );
    return encryptedBlobStore(
      s3Storage(bucket, { answerMs: 700, stalledAfterMs: 700 }),
      testKeyRing(),
    );
  }
  const attempts = (
    store: BlobStore,
    ref: string,
  ): Record<string, () => Promise<unknown>> => ({
    get: () => store.get(ref),
    read: () => store.read(ref),
    getRange: () => store.getRange(ref, 0, 3),
    delete: () => store.delete(ref),
    'put of one part': () =>
      store.put('document', Buffer.from('new'), 'text/plain'),
    'put of many parts': () =>
      store.put('upload', Readable.from([randomBytes(20 * MB)]), 'text/csv'),
  });
  async function expectOutage(store: BlobStore, ref: string): Promise<void> {
    for (const [name, attempt] of Object.entries(attempts(store, ref)))
      await expect(attempt(), name).rejects.toThrow(BlobStoreUnavailableError);
  }

  test.each(['cut', 'silent'] as const)(
    'a server behind a %s line is away, and found again',
    async (state) => {
      const line = await startTcpProxy(Number(new URL(server.endpoint).port));
      onTestFinished(() => line.close());
      const store = await openImpatient(`http://127.0.0.1:${line.port}`);
      const { ref } = await store.put(
        'document',
        Buffer.from('kept'),
        'text/plain',
      );
      line.set(state);
      await expectOutage(store, ref);
      line.set('open');
      await expect
        .poll(() => store.read(ref).then(String, String))
        .toBe('kept');
    },
  );

  test('a server that refuses because of its own state is away; one that refuses us is not', async () => {
    let status = 503;
    const stub = createHttpServer((request, reply) => {
      request.resume();
      const code = {
        403: 'AccessDenied',
        500: 'InternalError',
        503: 'SlowDown',
      }[status];
      reply.writeHead(request.method === 'HEAD' ? 200 : status, {
        'content-type': 'application/xml',
      });
      reply.end(
        request.method === 'HEAD'
          ? ''
          : `<Error><Code>${code}</Code><Message>x</Message></Error>`,
      );
    }).listen(0, '127.0.0.1');
    await once(stub, 'listening');
    onTestFinished(() => void stub.close());
    const endpoint = `http://127.0.0.1:${(stub.address() as AddressInfo).port}`;
    const store = await openBlobStore(addressOf(endpoint), testKeyRing());
    const ref = `document/${'0'.repeat(32)}`;
    for (status of [503, 500])
      await expect(store.read(ref)).rejects.toThrow(BlobStoreUnavailableError);
    status = 403;
    await expect(store.read(ref)).rejects.toMatchObject({
      name: 'AccessDenied',
    });
  });

  test('a blob whose storing was not answered is stored, once', async () => {
    const proxy = await cuttingProxy(server.endpoint);
    const store = await openBlobStore(addressOf(proxy.endpoint), testKeyRing());
    const before = await names();
    proxy.cutNextAnswer();
    const { ref } = await store.put(
      'document',
      Buffer.from('stored once'),
      'text/plain',
    );
    expect(String(await store.read(ref))).toBe('stored once');
    expect(await names()).toHaveLength(before.length + 1);
  });

  test('content that comes slowly is no outage, and neither is a sender that breaks off', async () => {
    const store = await openImpatient(server.endpoint);
    const slow = (async function* () {
      yield Buffer.from('begun ');
      await sleep(2_000);
      yield Buffer.from('and ended');
    })();
    const { ref } = await store.put('upload', slow, 'text/csv');
    expect(String(await store.read(ref))).toBe('begun and ended');
    const broken = (async function* () {
      yield Buffer.from('begun');
      throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
    })();
    await expect(store.put('upload', broken, 'text/csv')).rejects.toThrow(
      /^aborted$/,
    );
  });

  test('an existing folder moves to the bucket by a command that was killed in the middle, and back', async () => {
    const folder = await makeTestFolder();
    const address = pathToFileURL(folder).href;
    const store = await openBlobStore(address, testKeyRing());
    const refs: string[] = [];
    for (let count = 0; count < 100; count++)
      refs.push(
        (await store.put('document', randomBytes(20_000), 'text/plain')).ref,
      );
    const large = randomBytes(20 * MB);
    refs.push((await store.put('upload', large, 'text/csv')).ref);
    const to = `s3://${Bucket}/moved?endpoint=${server.endpoint}`;
    const moved = async () =>
      (await names()).filter((name) => name.startsWith('moved/')).length;
    const copy = (from: string, there: string) => [
      'blobs',
      'copy',
      '--from',
      from,
      '--to',
      there,
      '--json',
    ];

    const killed = spawn(process.execPath, [
      'src/admin.ts',
      ...copy(address, to),
    ]);
    const ended = once(killed, 'exit');
    await expect.poll(moved).toBeGreaterThan(5);
    killed.kill('SIGKILL');
    await ended;
    const before = await moved();
    expect(before).toBeLessThan(refs.length);

    const run = async (...argv: string[]) =>
      JSON.parse(await adminOutput(argv));
    const second = await run(...copy(address, to), '--verify');
    expect(second).toMatchObject({
      blobs: refs.length,
      present: before,
      different: 0,
      failed: 0,
    });
    expect(second.copied).toBe(refs.length - before);
    expect(await run(...copy(address, to))).toMatchObject({
      copied: 0,
      present: refs.length,
    });
    const there = await openBlobStore(to, testKeyRing());
    for (const ref of refs)
      expect((await there.read(ref)).equals(await store.read(ref))).toBe(true);

    const back = pathToFileURL(await makeTestFolder()).href;
    expect(await run(...copy(to, back))).toMatchObject({
      copied: refs.length,
      failed: 0,
    });
    expect(
      (
        await (await openBlobStore(back, testKeyRing())).read(refs.at(-1) ?? '')
      ).equals(large),
    ).toBe(true);
  });

  test('an address that cannot work is refused when the store is opened', async () => {
    const open = (address: string) => openBlobStore(address, testKeyRing());
    const there = `?endpoint=${server.endpoint}`;
    await expect(open(`s3://no-such-bucket/x${there}`)).rejects.toThrow(
      new ConfigError('BLOB_STORE: there is no bucket "no-such-bucket"'),
    );
    await expect(open(`s3://key:secret@${Bucket}/${there}`)).rejects.toThrow(
      /^BLOB_STORE: credentials/,
    );
    await expect(open(`s3://${Bucket}/?region=x`)).rejects.toThrow(
      /^BLOB_STORE: expected s3:/,
    );
  });
});

/**
 * Runs a command line of the CLI in this process, and returns what it prints.
 */
async function adminOutput(argv: readonly string[]): Promise<string> {
  const out: string[] = [];
  // Its progress, which a slow machine sees, and its errors.
  const beside: string[] = [];
  const exitCode = await runAdmin(argv, {
    write: (text) => void out.push(text),
    writeError: (text) => void beside.push(text),
    open: () => Promise.reject(new Error('no database here')),
  });
  if (exitCode !== 0) throw new Error([...out, ...beside].join(''));
  return out.join('');
}

/**
 * Passes bytes through to a server, and cuts each connection after so many
 * bytes of answers.
 */
async function cuttingProxy(target: string): Promise<{
  endpoint: string;
  cutAfter(bytes: number): void;
  cutNextAnswer(): void;
}> {
  let limit = Number.POSITIVE_INFINITY;
  let isOnce = false;
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const upstream = connect(Number(new URL(target).port), '127.0.0.1');
    let passed = 0;
    for (const socket of [client, upstream])
      sockets.add(socket.on('error', () => undefined));
    client.pipe(upstream);
    upstream.on('data', (bytes: Buffer) => {
      passed += bytes.length;
      if (passed > limit) {
        if (isOnce) limit = Number.POSITIVE_INFINITY;
        client.destroy();
      } else client.write(bytes);
    });
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  const address = proxy.address();
  const port =
    typeof address === 'object' && address !== null ? address.port : 0;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    cutAfter: (bytes) => {
      limit = bytes;
    },
    cutNextAnswer: () => {
      limit = 0;
      isOnce = true;
    },
  };
}
