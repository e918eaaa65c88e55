import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createSecureServer } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import type { Connection } from '@temporalio/client';
import {
  afterAll,
  afterEach,
  beforeAll,
  describe,
  expect,
  inject,
  test,
} from 'vitest';
import { createTemporalClient } from '../../src/temporal/client.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import { certificatesReplaced } from '../../src/temporal/credentials.ts';
import {
  ensureSearchAttributes,
  registerSearchAttributes,
} from '../../src/temporal/register-search-attributes.ts';
import { connectTemporal } from '../../src/temporal/worker-connection.ts';
import { type Certificate, createAuthority } from '../support/authority.ts';
import { createTestNamespace } from '../support/temporal-namespace.ts';
import { TEST_DATA_KEYS } from '../support/test-keys.ts';

let authority: Awaited<ReturnType<typeof createAuthority>>;
let server: Certificate;
let client: Certificate;
let folder: string;
const closers: (() => void)[] = [];
beforeAll(async () => {
  authority = await createAuthority();
  server = await authority.issue('DNS:localhost', 'IP:127.0.0.1');
  client = await authority.issue('DNS:worker');
  folder = await mkdtemp(join(tmpdir(), 'temporal-access-'));
});
afterEach(() => {
  for (const name of ['TEMPORAL_API_KEY_FILE', 'TEMPORAL_TLS_CERT_FILE'])
    delete process.env[name];
});
afterAll(async () => {
  for (const close of closers) close();
  await authority.remove();
  await rm(folder, { recursive: true, force: true });
});

const config = (port: number) => ({
  TEMPORAL_ADDRESS: `127.0.0.1:${port}`,
  TEMPORAL_NAMESPACE: 'default',
  TEMPORAL_API_KEY: undefined,
  DATA_KEYS: TEST_DATA_KEYS,
  TEMPORAL_TLS_CA: authority.cert,
});
const withCertificate = () => ({
  TEMPORAL_TLS_CERT: client.cert,
  TEMPORAL_TLS_KEY: client.key,
});

/**
 * A cluster that demands a client certificate of the authority: TLS in front of
 * the test server.
 */
async function startMutualTls(): Promise<number> {
  const proxy = createServer(
    {
      ...server,
      ca: authority.cert,
      requestCert: true,
      rejectUnauthorized: true,
      ALPNProtocols: ['h2'],
    },
    (socket) => {
      const [host, port] = inject('temporalAddress').split(':');
      const upstream = connect(Number(port), host);
      for (const [from, to] of [
        [socket, upstream],
        [upstream, socket],
      ] as const)
        from.on('error', () => to.destroy()).pipe(to);
    },
  );
  proxy.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  closers.push(() => proxy.close());
  return (proxy.address() as AddressInfo).port;
}

describe('a cluster with mutual TLS and an authority of its own', () => {
  test('is reached by clients and workers with the certificate, and by none without', async () => {
    const port = await startMutualTls();
    const temporal = await createTemporalClient({
      ...config(port),
      ...withCertificate(),
    });
    await temporal.connection.workflowService.getSystemInfo({});
    await temporal.connection.close();
    const native = await connectTemporal({
      ...config(port),
      ...withCertificate(),
    });
    await native.close();
    await expect(connectTemporal(config(port))).rejects.toThrow();
  });

  test('a certificate without its key is a configuration error', async () => {
    await expect(
      createTemporalClient({ ...config(1), TEMPORAL_TLS_CERT: client.cert }),
    ).rejects.toThrow('TEMPORAL_TLS_CERT and TEMPORAL_TLS_KEY belong together');
  });

  test('a replaced certificate ends the process, which starts again with the new one', async () => {
    const file = join(folder, 'client.crt');
    await writeFile(file, client.cert);
    process.env.TEMPORAL_TLS_CERT_FILE = file;
    const replaced = certificatesReplaced();
    await writeFile(file, (await authority.issue('DNS:worker')).cert);
    await replaced;
    expect(await readFile(file, 'utf8')).not.toBe(client.cert);
  });
});

test('a new API key in its file is used without a restart', async () => {
  const seen: string[] = [];
  const cloud = createSecureServer({ ...server });
  cloud.on('stream', (stream, headers) => {
    seen.push(String(headers.authorization));
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc' },
      { waitForTrailers: true },
    );
    stream.on('wantTrailers', () =>
      stream.sendTrailers({ 'grpc-status': '0' }),
    );
    // An empty message.
    stream.end(Buffer.alloc(5));
  });
  await new Promise<void>((resolve) => cloud.listen(0, '127.0.0.1', resolve));
  closers.push(() => cloud.close());
  const file = join(folder, 'api-key');
  await writeFile(file, 'key-of-monday');
  process.env.TEMPORAL_API_KEY_FILE = file;
  const { port } = cloud.address() as AddressInfo;
  const temporal = await createTemporalClient(
    { ...config(port), TEMPORAL_API_KEY: 'key-of-monday' },
    { lazy: true },
  );
  await temporal.connection.workflowService.getSystemInfo({});
  expect(seen.at(-1)).toBe('Bearer key-of-monday');
  await writeFile(file, 'key-of-tuesday');
  await expect
    .poll(async () => {
      await temporal.connection.workflowService.getSystemInfo({});
      return seen.at(-1);
    })
    .toBe('Bearer key-of-tuesday');
  await temporal.connection.close();
});

describe('an account that may not call the operator service, as in Temporal Cloud', () => {
  const refusing = (connection: Connection): Connection =>
    new Proxy(connection, {
      get: (target, name) =>
        name === 'operatorService'
          ? {
              listSearchAttributes: () =>
                Promise.reject(Object.assign(new Error('denied'), { code: 7 })),
            }
          : Reflect.get(target, name),
    });

  test('a worker starts where the search attributes exist, and says what to do where they do not', async () => {
    const connection = await openConnection({
      address: inject('temporalAddress'),
    });
    const namespace = await createTestNamespace();
    await ensureSearchAttributes(refusing(connection), namespace);
    // temporal-setup may be repeated.
    await registerSearchAttributes(connection, namespace);
    await expect(
      ensureSearchAttributes(refusing(connection), 'temporal-system'),
    ).rejects.toThrow('Run "npm run temporal-setup" once');
    await connection.close();
  });
});
