import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { generateApiKey } from '../../src/exchange/access/accounts/rules/api-key.ts';
import { seedDemoAccount } from '../../src/exchange/operations/admin/seed.ts';
import {
  createStore,
  type Store,
} from '../../src/exchange/platform/database/database.ts';
import { createWebhookKeys } from '../../src/exchange/platform/outbox/webhook-key.ts';
import {
  type RunningPostgres,
  startPostgres,
} from '../../tools/embedded/postgres.ts';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { testKeyRing } from '../support/test-keys.ts';

const INIT_SQL = new URL('../../deploy/postgres/init.sql', import.meta.url);

let folder: string;
let server: RunningPostgres;
let ours: string;
let foreign: string;
const stores: Store[] = [];
beforeAll(async () => {
  folder = await makeTestFolder();
  const authority = await makeAuthority(folder, 'ours');
  const another = await makeAuthority(folder, 'foreign');
  [ours, foreign] = [authority.certFile, another.certFile];
  const { certFile, keyFile } = await makeCertificate(folder, 'postgres', {
    authority,
    names: ['DNS:localhost'],
  });
  await chmod(keyFile, 0o600);
  const access = join(folder, 'pg_hba.conf');
  await writeFile(
    access,
    [
      'host all postgres all scram-sha-256',
      'hostssl all all all scram-sha-256',
      '',
    ].join('\n'),
  );
  const settings = {
    ssl: 'on',
    ssl_cert_file: certFile,
    ssl_key_file: keyFile,
    hba_file: access,
    fsync: 'off',
    shared_buffers: '32MB',
  };
  server = await startPostgres({ dataDir: join(folder, 'postgres'), settings });
  await initialize(server.databaseUrl);
});
afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

describe('a deployment’s PostgreSQL with TLS', () => {
  test('serves the logins of deploy/postgres/init.sql, each for its task, over TLS 1.2 or newer', async () => {
    await open('exchange').migrate();
    await seedDemoAccount(open('exchange_operator'), {
      apiKey: generateApiKey(),
      webhookKeys: createWebhookKeys(testKeyRing()),
    });
    const service = open('exchange_service');
    const { rows } = await service.asSystem((tx) =>
      sql`select count(*) from account`.execute(tx.db),
    );
    expect(rows).toEqual([{ count: 1 }]);
    const session = sql`select ssl, version >= 'TLSv1.2' as recent from pg_stat_ssl where pid = pg_backend_pid()`;
    expect(await service.call(session)).toEqual([{ ssl: true, recent: true }]);
  });

  test('is refused when another authority signed its certificate', async () => {
    const ping = open('exchange_service', { ca: foreign }).ping();
    await expect(ping).rejects.toMatchObject({
      code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    });
  });

  test('is refused under a name that its certificate does not have', async () => {
    await expect(
      open('exchange_service', { host: '127.0.0.1' }).ping(),
    ).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
  });

  test('refuses our logins without TLS', async () => {
    const plain = createdStore(address('exchange_service', 'localhost').href);
    await expect(plain.ping()).rejects.toMatchObject({ code: '28000' });
  });

  test('is refused when it, or somebody between us, offers no TLS: nothing is sent in clear text', async () => {
    const received: Buffer[] = [];
    const stripping = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (data) => {
        received.push(data);
        socket.write('N');
      });
    });
    const port = await new Promise<number>((resolve) => {
      stripping.listen(0, '127.0.0.1', () =>
        resolve((stripping.address() as { port: number }).port),
      );
    });
    const store = open('exchange_service', { port });
    await expect(store.ping()).rejects.toThrow(
      'The server does not support SSL connections',
    );
    // Only the request for TLS arrived: neither the login nor the password.
    expect(Buffer.concat(received)).toEqual(
      Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]),
    );
    await new Promise((resolve) => stripping.close(resolve));
  });
});

test.each([
  'require',
  'prefer',
  'verify-ca',
  'no-verify',
  'allow',
  'disable&sslmode=no-verify',
])(
  'a DATABASE_URL with sslmode=%s is refused, because it does not say what is verified',
  (mode) => {
    const DATABASE_URL = `postgres://exchange:secret@db.example.org/exchange?sslmode=${mode}`;
    expect(() => readConfig(['DATABASE_URL'], { DATABASE_URL })).toThrow(
      /^(?!.*secret).*verify-full/s,
    );
  },
);

test.each([
  '',
  '?sslmode=disable',
  '?sslmode=verify-full&sslrootcert=/run/secrets/ca.crt',
])('a DATABASE_URL that ends with "%s" is accepted', (end) => {
  const DATABASE_URL = `postgres://exchange:secret@db.example.org/exchange${end}`;
  expect(readConfig(['DATABASE_URL'], { DATABASE_URL })).toEqual({
    DATABASE_URL,
  });
});

/**
 * Runs init.sql as the image's entry point does, with passwords equal to the
 * logins.
 */
async function initialize(adminUrl: string): Promise<void> {
  const text = await readFile(INIT_SQL, 'utf8');
  const statements = text
    .replace(/^\\set .*$/gm, '')
    .replace(/(ROLE (\w+) LOGIN[^;]*PASSWORD) :'\w+'/g, `$1 '$2'`)
    .replace(/^--.*$/gm, '')
    .split(';')
    .filter((statement) => statement.trim() !== '');
  const client = new pg.Client({
    connectionString: adminUrl.replace(/exchange$/, 'postgres'),
  });
  await client.connect();
  try {
    await client.query('DROP DATABASE exchange');
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

function address(login: string, host: string, port = server.port): URL {
  return new URL(`postgres://${login}:${login}@${host}:${port}/exchange`);
}

function open(
  login: string,
  {
    ca = ours,
    host = 'localhost',
    port,
  }: { ca?: string; host?: string; port?: number } = {},
) {
  const url = address(login, host, port);
  url.search = new URLSearchParams({
    sslmode: 'verify-full',
    sslrootcert: ca,
  }).toString();
  return createdStore(
    readConfig(['DATABASE_URL'], { DATABASE_URL: url.href }).DATABASE_URL,
  );
}

function createdStore(databaseUrl: string): Store {
  const store = createStore({ databaseUrl, poolMax: 2 });
  stores.push(store);
  return store;
}
