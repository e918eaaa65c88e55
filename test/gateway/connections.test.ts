import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runAdmin } from '../../src/exchange/operations/admin/program.ts';
import { generateWebhookKey } from '../../src/exchange/platform/outbox/webhook-key.ts';
import {
  callbackToken,
  provenToken,
} from '../../src/exchange/queries/network-query/attempt-store.ts';
import { createSourceCallbacks } from '../../src/exchange/queries/network-query/source-callback.ts';
import { createSourceConnections } from '../../src/exchange/sources/connections/connections.ts';
import { createSourceHealth } from '../../src/exchange/sources/health/source-health.ts';
import { ada, adaAtSource } from '../support/ada.ts';
import { createAuthority } from '../support/authority.ts';
import { startAuthorizationServer } from '../support/authorization-server.ts';
import { searchset, startFhirServer } from '../support/fhir-server.ts';
import {
  createTestGateway,
  newPerson,
  TEST_LINK_KEY,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { testKeyRing } from '../support/test-keys.ts';
import { startUdapServer } from '../support/udap-server.ts';

const SECRET = 'a-client-secret-of-the-tests-only';
const SCOPE = 'system/Patient.rs';
let gateway: TestGateway;
let account: TestAccount;
let folder: string;
let authority: Awaited<ReturnType<typeof createAuthority>>;
let login: Awaited<ReturnType<typeof startAuthorizationServer>>;
let fhir: Awaited<ReturnType<typeof startFhirServer>>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'connections-'));
  authority = await createAuthority();
  const site = await authority.issue('DNS:localhost');
  const client = { client_id: 'exchange', client_secret: SECRET, scope: SCOPE };
  login = await startAuthorizationServer(site, {
    clients: [client],
    scopes: [SCOPE],
  });
  fhir = await startFhirServer(site, {
    isActive: login.isActive,
    resources: { 'Patient/$match': searchset(adaAtSource) },
  });
  gateway = await createTestGateway();
  account = await gateway.addAccount();
  await writeFile(join(folder, 'secret'), `${SECRET}\n`);
  await writeFile(join(folder, 'wrong'), 'another-secret-of-the-tests');
  await writeFile(join(folder, 'ca.pem'), authority.cert);
});
afterAll(async () => {
  await Promise.all([
    gateway.close(),
    login.stop(),
    fhir.stop(),
    authority.remove(),
  ]);
  await rm(folder, { recursive: true, force: true });
});

async function admin(...argv: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const exitCode = await runAdmin(argv, {
    write: (text) => void out.push(text),
    writeError: (text) => void err.push(text),
    open: async () => ({
      store: { ...gateway.store, close: async () => undefined },
      openKeyRing: async () => testKeyRing(),
      openAudit: () => Promise.reject(new Error('not asked for here')),
      openTemporal: () => Promise.reject(new Error('not asked for here')),
      openBlobs: () => Promise.reject(new Error('not asked for here')),
    }),
  });
  return { exitCode, out: out.join(''), err: err.join('') };
}

let count = 0;
async function create(...options: string[]): Promise<string> {
  const { out, err } = await admin(
    'connections',
    'create',
    '--account',
    account.accountId,
    '--json',
    '--source',
    'hie',
    '--name',
    `Network ${++count}`,
    '--base-url',
    fhir.baseUrl,
    ...options,
  );
  expect(err).toBe('');
  return (JSON.parse(out) as { connection: { id: string } }).connection.id;
}
const withSecret = (file = 'secret') => [
  '--auth',
  'client-secret-basic',
  '--client-id',
  'exchange',
  '--scope',
  SCOPE,
  '--token-url',
  login.tokenUrl,
  '--secret-file',
  join(folder, file),
  '--tls-ca',
  join(folder, 'ca.pem'),
];
const connections = () =>
  createSourceConnections({ store: gateway.store, keyRing: testKeyRing() }, {});
const toAsk = (facilityIds: string[] = []) =>
  gateway.store.asAccount(account.accountId, (tx) =>
    connections().toAsk(tx, 'hie', facilityIds),
  );

describe('connections check', () => {
  test('says in words what works: token, metadata, and whether the network knows the patient', async () => {
    const id = await create(...withSecret());
    const patient = newPerson({
      firstName: 'Ada',
      lastName: 'Lovelace',
      dob: ada.dob,
      genderAtBirth: 'F',
      address: ada.addresses,
    });
    const made = await account.call(
      'POST',
      `patient?facilityId=${account.facilityId}`,
      patient,
    );
    const checked = await admin(
      'connections',
      'check',
      id,
      '--patient',
      made.json().id,
    );
    expect(checked).toEqual({
      exitCode: 0,
      err: '',
      out: [
        'works  token: the authorization server issued one',
        'works  metadata: the server answers, without its FHIR version',
        'works  patient: the source knows this patient (1 record)',
        '',
      ].join('\n'),
    });
  });

  test('names the fault, and ends with exit code 3', async () => {
    const id = await create(...withSecret('wrong'));
    const { exitCode, out } = await admin('connections', 'check', id);
    expect(exitCode).toBe(3);
    expect(out).toBe(
      'FAULT  token: hie answered 401 (invalid_client: check the client id and its secret or key) to the token request\n',
    );
    expect(
      await admin('connections', 'rotate', id, ...withSecret()),
    ).toMatchObject({ exitCode: 0 });
    expect((await admin('connections', 'check', id)).exitCode).toBe(0);
  });
});

describe('the credentials of a connection', () => {
  test('are neither shown nor readable in the database, and cannot be given as arguments', async () => {
    const id = await create(...withSecret());
    const shown = [
      await admin('connections', 'show', id),
      await admin('connections', 'list', '--json'),
    ];
    expect(JSON.stringify(shown)).not.toContain(SECRET);
    const { rows } = await gateway.store.asSystem((tx) =>
      sql<{
        text: string;
      }>`select network_connection::text as text, encode(credentials, 'escape') as bytes
        from network_connection`.execute(tx.db),
    );
    expect(JSON.stringify(rows)).not.toContain(SECRET);
    expect(
      (await admin('connections', 'rotate', id, '--secret', SECRET)).exitCode,
    ).toBe(2);
    const given = await admin(
      'connections',
      'rotate',
      id,
      '--auth',
      'bearer',
      '--secret-file',
      SECRET,
    );
    expect(given).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining('cannot be read'),
    });
  });
});

describe('connections set', () => {
  const shown = async (id: string) =>
    (
      JSON.parse((await admin('connections', 'show', id, '--json')).out) as {
        connection: unknown;
      }
    ).connection;

  test('changes what it names and nothing else, and workers use it with their next step', async () => {
    const id = await create('--page-size', '50', '--calls-per-second', '20');
    const set = await admin(
      'connections',
      'set',
      id,
      '--calls-per-second',
      '5',
      '--calls-per-minute',
      '250',
      '--request-timeout-seconds',
      '60',
    );
    expect(set).toMatchObject({ exitCode: 0, err: '' });
    expect(await shown(id)).toMatchObject({
      revision: 2,
      settings: {
        pageSize: 50,
        callsPerSecond: 5,
        callsPerMinute: 250,
        requestTimeoutSeconds: 60,
      },
    });
    await admin(
      'connections',
      'set',
      id,
      '--calls-per-second',
      'default',
      '--calls-per-minute',
      'default',
    );
    expect(await shown(id)).toMatchObject({
      settings: { pageSize: 50, callsPerSecond: 50 },
    });
    expect(JSON.stringify(await shown(id))).not.toContain('callsPerMinute');
  });

  test('says what the server can do where its statement is wrong', async () => {
    const id = await create('--patient-match', 'false');
    await admin('connections', 'set', id, '--document-search', 'true');
    expect(await shown(id)).toMatchObject({
      settings: { patientMatch: false, documentSearch: true },
    });
    const wrong = await admin(
      'connections',
      'set',
      id,
      '--patient-match',
      'perhaps',
    );
    expect(wrong).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining('patientMatch'),
    });
    await admin('connections', 'set', id, '--patient-match', 'default');
    expect(JSON.stringify(await shown(id))).not.toContain('patientMatch');
  });

  test('refuses what is not valid, and nothing at all, and changes nothing then', async () => {
    const id = await create();
    const wrong = await admin(
      'connections',
      'set',
      id,
      '--calls-per-minute',
      '0',
    );
    expect(wrong).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining('callsPerMinute'),
    });
    const none = await admin('connections', 'set', id);
    expect(none).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining('at least one setting'),
    });
    expect(await shown(id)).toMatchObject({ revision: 1 });
  });
});

describe('connections list', () => {
  test('shows which connection does not answer, and how its queries went', async () => {
    const id = await create();
    const health = createSourceHealth(gateway.store);
    for (const attempt of ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10'])
      await health.failed(id, {
        attempt,
        reason: 'hie answered 503 to metadata',
      });
    const { connections: listed } = JSON.parse(
      (await admin('connections', 'list', '--json')).out,
    ) as {
      connections: { id: string; state: string; queries: object }[];
    };
    expect(listed.find((each) => each.id === id)).toMatchObject({
      state: 'does not answer: hie answered 503 to metadata',
      queries: { asked: 0, failed: 0, waiting: 0 },
    });
    await admin('connections', 'delete', id);
  });
});

describe('what workers do', () => {
  test('follows every change at once: pause, resume, delete', async () => {
    const id = await create();
    const { name } =
      (await toAsk())?.find((connection) => connection.id === id) ?? {};
    expect(name).toBe(`Network ${count}`);
    await expect(
      connections().connector(account.accountId, id, 'treatment'),
    ).resolves.toBeDefined();

    await admin('connections', 'pause', id);
    expect((await toAsk())?.map((connection) => connection.id)).not.toContain(
      id,
    );
    await expect(
      connections().connector(account.accountId, id, 'treatment'),
    ).rejects.toMatchObject({
      kind: 'denied',
      message: 'the connection is paused',
    });
    await admin('connections', 'resume', id);
    expect((await toAsk())?.map((connection) => connection.id)).toContain(id);

    await admin('connections', 'delete', id);
    await expect(
      connections().connector(account.accountId, id, 'treatment'),
    ).rejects.toMatchObject({
      kind: 'refused',
      message: 'the connection was deleted',
    });
  });

  test('is limited to the facilities that the connection answers for, and to its account', async () => {
    const id = await create('--facility-ids', account.facilityId);
    const ids = async (facilityIds: string[]) =>
      (await toAsk(facilityIds))?.map((each) => each.id);
    expect(await ids([])).not.toContain(id);
    expect(await ids([account.facilityId])).toContain(id);
    const other = await gateway.addAccount();
    await expect(
      connections().connector(other.accountId, id, 'treatment'),
    ).rejects.toMatchObject({
      kind: 'refused',
    });
    const asked = gateway.store.asAccount(other.accountId, (tx) =>
      connections().toAsk(tx, 'hie', []),
    );
    expect(await asked).toBeUndefined();
  });
});

describe('connections create', () => {
  test.each([
    [['--source', 'clinic'], 'Expected one of hie, pharmacy, lab'],
    [
      ['--source', 'hie', '--auth', 'smart-backend'],
      '--auth smart-backend needs --client-id',
    ],
    [
      ['--source', 'hie', '--auth', 'bearer'],
      '--auth bearer needs --secret-file',
    ],
    [['--source', 'hie', '--page-size', '0'], 'pageSize'],
    [
      ['--source', 'hie', '--base-url', 'ftp://x.example.org'],
      'must be an http or https URL',
    ],
    [['--source', 'hie', '--tls-cert', 'x'], 'cannot be read'],
  ])('refuses %j', async (options, message) => {
    const base = [
      '--account',
      account.accountId,
      '--name',
      'x',
      '--base-url',
      fhir.baseUrl,
    ];
    const refused = await admin('connections', 'create', ...base, ...options);
    expect(refused).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining(message),
    });
  });

  test('replaces the server of the environment variables once, and records every change in the audit', async () => {
    const id = await create('--replaces-default');
    expect(
      (await toAsk())?.find((connection) => connection.id === id),
    ).toMatchObject({ namespace: '' });
    const base = [
      '--account',
      account.accountId,
      '--source',
      'hie',
      '--base-url',
      fhir.baseUrl,
    ];
    const again = await admin(
      'connections',
      'create',
      ...base,
      '--name',
      'Again',
      '--replaces-default',
    );
    expect(again.err).toContain('Another connection already replaces');
    await admin('connections', 'delete', id);
    const { rows } = await gateway.store.asSystem((tx) =>
      sql<{
        operation: string;
      }>`select operation from audit_entry where target_id = ${id} order by id`.execute(
        tx.db,
      ),
    );
    expect(rows.map(({ operation }) => operation)).toEqual([
      'createConnection',
      'deleteConnection',
    ]);
  });
});

test('a connection by UDAP is registered, and then works', async () => {
  const site = await authority.issue('DNS:localhost');
  const udap = await startUdapServer(site, authority);
  let metadata: unknown;
  const server = await startFhirServer(site, {
    isActive: udap.isActive,
    udap: () => metadata,
  });
  metadata = await udap.metadata(
    server.baseUrl,
    await authority.issue(`URI:${server.baseUrl}`),
  );
  const ours = await authority.issue('URI:https://exchange.example.org/udap');
  await writeFile(join(folder, 'udap.pem'), ours.cert);
  await writeFile(join(folder, 'udap.key'), ours.key);
  const file = (option: string, name: string) => [option, join(folder, name)];
  const id = await create(
    '--base-url',
    server.baseUrl,
    '--auth',
    'udap',
    '--scope',
    SCOPE,
    ...file('--tls-ca', 'ca.pem'),
    ...file('--udap-cert', 'udap.pem'),
    ...file('--udap-key', 'udap.key'),
    ...file('--udap-anchors', 'ca.pem'),
    '--client-name',
    'Exchange',
    '--contact',
    'mailto:operations@exchange.example.org',
    '--organization-id',
    'https://exchange.example.org',
  );
  const before = await admin('connections', 'check', id);
  expect(before).toMatchObject({
    exitCode: 3,
    out: expect.stringContaining('not registered by UDAP yet'),
  });
  expect((await admin('connections', 'register', id)).out).toContain(
    'is registered as',
  );
  const after = await admin('connections', 'check', id);
  expect(after).toMatchObject({
    exitCode: 0,
    out: expect.stringContaining('works  token'),
  });
  await Promise.all([udap.stop(), server.stop()]);
});

test('a network of FHIR servers has a directory instead of an address, and a login that shows no server what opens the others', async () => {
  const ours = await authority.issue('URI:urn:oid:2.999.5#T-TRTMNT');
  await writeFile(join(folder, 'node.pem'), ours.cert);
  await writeFile(join(folder, 'node.key'), ours.key);
  const udap = [
    '--auth',
    'udap',
    '--scope',
    SCOPE,
    '--udap-cert',
    join(folder, 'node.pem'),
    '--udap-key',
    join(folder, 'node.key'),
    '--udap-anchors',
    join(folder, 'ca.pem'),
    '--client-name',
    'Exchange',
    '--contact',
    'mailto:us@our.example',
    '--organization-id',
    'https://directory.example/Organization/2.999.5',
  ];
  const owner = await gateway.addAccount();
  const attempt = (...options: string[]) =>
    admin(
      'connections',
      'create',
      '--account',
      owner.accountId,
      '--json',
      '--source',
      'hie',
      '--name',
      'TEFCA',
      '--protocol',
      'fhir-network',
      '--directory',
      'tefca',
      '--own-home-community',
      '2.999.5',
      ...options,
    );
  const refusals = [
    [
      ['--auth', 'bearer', '--secret-file', join(folder, 'secret')],
      'must be udap or none',
    ],
    [[...udap, '--base-url', fhir.baseUrl], '--base-url is not for a network'],
    [
      [...udap, '--documents-per-retrieval', '9'],
      'created with --protocol ihe or ihe-network',
    ],
  ] as const;
  for (const [options, message] of refusals)
    expect(await attempt(...options)).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining(message),
    });

  const created = await attempt(...udap, '--within-miles', '20');
  expect(created.err).toBe('');
  const { connection } = JSON.parse(created.out) as {
    connection: { id: string };
  };
  expect(connection).toMatchObject({
    baseUrl: 'directory:tefca',
    settings: { network: { speaks: 'fhir', withinMiles: 20 } },
  });
  const set = await admin(
    'connections',
    'set',
    connection.id,
    '--private-addresses',
    'true',
  );
  expect(set).toMatchObject({ exitCode: 0, err: '' });
  const { out } = await admin('connections', 'show', connection.id, '--json');
  expect(JSON.parse(out)).toMatchObject({
    connection: {
      settings: {
        network: { speaks: 'fhir', withinMiles: 20, privateAddresses: true },
      },
    },
  });
  expect(await admin('connections', 'register', connection.id)).toMatchObject({
    exitCode: 2,
    err: expect.stringContaining('registers by itself'),
  });
  expect(await admin('connections', 'check', connection.id)).toMatchObject({
    exitCode: 3,
    out: expect.stringContaining('the directory tefca has no FHIR servers'),
  });
});

test('a callback is accepted with the key of a connection of the account, and with no other', async () => {
  const key = generateWebhookKey();
  const other = generateWebhookKey();
  await writeFile(join(folder, 'callback-key'), key);
  await create('--callback-secret-file', join(folder, 'callback-key'));
  const patient = (
    await account.call(
      'POST',
      `patient?facilityId=${account.facilityId}`,
      newPerson(),
    )
  ).json();
  const started = await account.call(
    'POST',
    `network/query?patientId=${patient.id}`,
    { sources: ['hie'] },
  );
  const signalled: unknown[] = [];
  const callbacks = createSourceCallbacks({
    store: gateway.store,
    temporal: {
      withDeadline: (_at: number, work: () => Promise<void>) => work(),
      workflow: {
        getHandle: () => ({
          signal: async (...args: unknown[]) => void signalled.push(args),
        }),
      },
    } as never,
    logger: pino({ level: 'silent' }),
    callbackSecrets: {},
    keyRing: testKeyRing(),
    callbackKey: TEST_LINK_KEY,
  });
  const token = callbackToken(
    TEST_LINK_KEY,
    started.json().requestId,
    'hie',
    1,
  );
  const body = Buffer.from('{}');
  const call = async (text: string, secret: string) => {
    const signature = new Webhook(secret).sign('m1', new Date(), body);
    const headers = {
      'webhook-id': 'm1',
      'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
      'webhook-signature': signature,
    };
    return (await callbacks.handle(text, headers, body)).status;
  };
  const proven = provenToken(TEST_LINK_KEY, token);
  expect(await call(proven, other)).toBe(401);
  expect(await call(token, key)).toBe(401);
  expect(signalled).toEqual([]);
  expect(await call(proven, key)).toBe(200);
  expect(signalled).toHaveLength(1);
});
