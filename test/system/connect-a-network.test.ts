import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { DEMO_ACCOUNT_ID } from '../../src/exchange/operations/admin/seed.ts';
import { ada, adaAtSource } from '../support/ada.ts';
import { createAuthority } from '../support/authority.ts';
import { startAuthorizationServer } from '../support/authorization-server.ts';
import { searchset, startFhirServer } from '../support/fhir-server.ts';
import { newPerson } from '../support/gateway.ts';
import { starter } from '../support/run-starter.ts';
import { dumpTemporal } from '../support/scan-temporal.ts';
import { guide, runGuideLine } from '../support/sources-guide.ts';
import {
  callGateway,
  startTestStack,
  type TestStack,
} from '../support/stack.ts';

/**
 * docs/sources.md, followed with npm `oidc-provider` and two FHIR servers that
 * number their resources alike.
 */
const SECRET = 'a-client-secret-of-the-tests-only';
const SCOPE = 'system/*.rs';
let folder: string;
let stack: TestStack;
let authority: Awaited<ReturnType<typeof createAuthority>>;
let login: Awaited<ReturnType<typeof startAuthorizationServer>>;
let servers: Awaited<ReturnType<typeof startFhirServer>>[];
let clientKey: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'connect-'));
  stack = await startTestStack({
    dataDir: join(folder, 'data'),
    logLevel: 'debug',
  });
  authority = await createAuthority();
  const site = await authority.issue('DNS:localhost');
  const client = await authority.issue('DNS:exchange.example.org');
  clientKey = client.key;
  login = await startAuthorizationServer(site, {
    scopes: [SCOPE],
    clients: [
      {
        client_id: 'our-id',
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_signing_alg: 'ES384',
        jwks_uri: `${stack.connection.baseUrl}/.well-known/jwks.json`,
        scope: SCOPE,
      },
      {
        client_id: 'our-other-id',
        client_secret: SECRET,
        token_endpoint_auth_method: 'client_secret_post',
        scope: SCOPE,
      },
    ],
  });
  servers = await Promise.all(
    ['sugar', 'iron'].map((text) =>
      startFhirServer(site, {
        isActive: login.isActive,
        clientCa: authority.cert,
        smartConfiguration: { token_endpoint: login.tokenUrl },
        resources: {
          'Patient/$match': searchset(adaAtSource),
          'Patient/p1/$everything': searchset(adaAtSource, observation(text)),
        },
      }),
    ),
  );
  await writeFile(join(folder, 'secret'), `${SECRET}\n`);
  await writeFile(join(folder, 'ca.pem'), authority.cert);
  await writeFile(join(folder, 'client.pem'), client.cert);
  await writeFile(join(folder, 'client.key'), client.key);
});
afterAll(async () => {
  await Promise.all([
    stack?.stop(),
    login?.stop(),
    ...(servers ?? []).map((server) => server.stop()),
  ]);
  await authority?.remove();
  await rm(folder, { recursive: true, force: true });
});

const observation = (text: string) => ({
  resourceType: 'Observation',
  id: '1',
  status: 'final',
  code: { text },
  subject: { reference: 'Patient/p1' },
});

const admin = (
  line: string | undefined,
  values: Record<string, string>,
  ...more: string[]
) => runGuideLine(stack.dataDir, line, values, ...more);

test('the guide leads from a contract to records of two networks, and leaves no secret behind', async () => {
  const tls = [
    '--tls-ca',
    'ca.pem',
    '--tls-cert',
    'client.pem',
    '--tls-key',
    'client.key',
  ].map((word) => (word.startsWith('--') ? word : join(folder, word)));
  const [byKey, bySecret] = await guide('npm run admin -- connections create');
  const [check, checkPatient] = await guide(
    'npm run admin -- connections check',
  );
  const [resume] = await guide('npm run admin -- connections resume');
  const account = {
    accountId: DEMO_ACCOUNT_ID,
    apiKey: stack.connection.apiKey,
    facilityId: stack.connection.facilityId,
  };
  const person = newPerson({
    firstName: 'Ada',
    lastName: 'Lovelace',
    dob: ada.dob,
    genderAtBirth: 'F',
    address: ada.addresses,
  });
  const made = await callGateway(
    stack.connection,
    account,
    'POST',
    `patient?facilityId=${account.facilityId}`,
    {
      body: person,
    },
  );
  const patientId = made.body.id;

  const networks = [
    {
      create: byKey,
      base: servers[0]?.baseUrl ?? '',
      name: 'First network',
      clientId: 'our-id',
    },
    {
      create: bySecret,
      base: servers[1]?.baseUrl ?? '',
      name: 'Second network',
      clientId: 'our-other-id',
    },
  ];
  for (const { create, base, name, clientId } of networks) {
    const created = await admin(
      create,
      {
        $A: DEMO_ACCOUNT_ID,
        'https://fhir.network.example/r4': base,
        'https://login.network.example/token': login.tokenUrl,
        'our-id': clientId,
        'First network': name,
        './secret': join(folder, 'secret'),
      },
      ...tls,
    );
    const id = /\(([0-9a-f-]{36})\)/.exec(created)?.[1] ?? '';
    if (create === byKey) {
      const checked = await admin(check, { '<connection>': id });
      expect(checked).toContain(
        'works  token: the authorization server issued one',
      );
      expect(checked).toContain('works  metadata');
    }
    const looked = await admin(checkPatient, {
      '<connection>': id,
      '<patientId>': patientId,
    });
    expect(looked).toContain(
      'works  patient: the source knows this patient (1 record)',
    );
    await admin(resume, { '<connection>': id });
  }

  const [query] = await guide('npm run starter -- query');
  const [status] = await guide('npm run starter -- status');
  expect([query, status]).toEqual([
    'npm run starter -- query <patientId> --sources hie',
    'npm run starter -- status <requestId>',
  ]);
  const of = ['--data-dir', stack.dataDir];
  const ran = await starter([
    'query',
    patientId,
    '--sources',
    'hie',
    '--json',
    ...of,
  ]);
  const requestId = String(ran.json().requestId);
  const text = await vi.waitFor(async () => {
    const { stdout } = await starter(['status', requestId, ...of]);
    expect(stdout).toContain('completed');
    return stdout;
  }, 240_000);
  expect(text).toContain(
    'First network: 2 resources and 0 documents collected',
  );
  expect(text).toContain(
    'Second network: 2 resources and 0 documents collected',
  );
  const stored = await stack.rows<{ text: string }>(
    "select content->'code'->>'text' as text from delivered_resource where resource_type = 'Observation' order by 1",
  );
  expect(stored).toEqual([{ text: 'iron' }, { text: 'sugar' }]);

  const words = [
    SECRET,
    ...servers.flatMap(({ tokens }) => tokens),
    ...login.calls.flatMap(
      ({ body }) => new URLSearchParams(body).get('client_assertion') ?? [],
    ),
    ...clientKey.split('\n').filter((each) => each.length > 40),
  ];
  expect(words.length).toBeGreaterThan(6);
  const left: Record<string, string> = {
    ...(await stack.logs()),
    Temporal: await dumpTemporal(stack.temporal),
    PostgreSQL: await dumpDatabase(),
  };
  for (const [where, all] of Object.entries(left)) {
    expect(all.length, where).toBeGreaterThan(0);
    for (const word of words) {
      expect(all.includes(word), `${where} holds ${word.slice(0, 12)}…`).toBe(
        false,
      );
      expect(
        all.includes(Buffer.from(word).toString('hex')),
        `${where} holds it in a column of bytes`,
      ).toBe(false);
    }
  }
  // The search finds what is there.
  expect(left.PostgreSQL).toContain('First network');
});

/** Every row of every table, as text; bytes are in hex. */
async function dumpDatabase(): Promise<string> {
  const tables = await stack.rows<{ name: string }>(
    "select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
  );
  expect(tables.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['source_token', 'network_connection']),
  );
  const rows = await Promise.all(
    tables.map(({ name }) =>
      stack.rows<{ row: string }>(`select t::text as row from "${name}" t`),
    ),
  );
  return rows
    .flat()
    .map(({ row }) => row)
    .join('\n');
}
