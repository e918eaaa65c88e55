import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import {
  findClient,
  insertClient,
} from '../../src/exchange/access/fhir-clients/client-store.ts';
import { createAssertionCheck } from '../../src/exchange/delivery/fhir-tokens/feature.ts';
import {
  listClientsCommand,
  registerClientCommand,
  revokeClientCommand,
} from '../../src/exchange/operations/admin/clients.ts';
import type { AdminTarget } from '../../src/exchange/operations/admin/command.ts';
import { samples } from '../support/deliveries.ts';
import {
  createFhirDoor,
  diagnosticsIn,
  FHIR_BASE,
  type FhirDoor,
  inMode,
} from '../support/fhir-door.ts';

const [sample] = samples;
if (sample === undefined) throw new Error('there is no sample');
const TOKEN_URL = `${FHIR_BASE}/auth/token`;
const ALGORITHMS = ['RS384', 'ES384'] as const;

let door: FhirDoor;
let patientId: string;
let target: AdminTarget;
const pairs = new Map<string, Awaited<ReturnType<typeof generateKeyPair>>>();
let jwksFile: string;

beforeAll(async () => {
  door = await createFhirDoor();
  patientId = await door.addSample(sample);
  target = { store: door.store } as AdminTarget;
  const keys = [];
  for (const alg of ALGORITHMS) {
    const pair = await generateKeyPair(alg, { extractable: true });
    pairs.set(alg, pair);
    keys.push({
      ...(await exportJWK(pair.publicKey)),
      alg,
      kid: alg,
      key_ops: ['verify'],
    });
  }
  jwksFile = join(tmpdir(), `jwks-${uuidv7()}.json`);
  await writeFile(jwksFile, JSON.stringify({ keys }));
});
afterAll(() => door.close());

async function register(scopes: string): Promise<string> {
  const { document } = await registerClientCommand(target, {
    account: door.accountId,
    jwksFile,
    scopes,
  });
  return String(document.clientId);
}

async function assertion(
  clientId: string,
  alg = 'ES384',
  claims: JWTPayload = {},
  header = {},
): Promise<string> {
  const key = pairs.get(alg)?.privateKey;
  if (key === undefined) throw new Error('no such key');
  const seconds = Math.floor(Date.now() / 1_000);
  return new SignJWT({
    iss: clientId,
    sub: clientId,
    aud: TOKEN_URL,
    jti: uuidv7(),
    exp: seconds + 240,
    ...claims,
  })
    .setProtectedHeader({ alg, kid: alg, typ: 'JWT', ...header })
    .sign(key);
}

const ask = (
  client_assertion: string,
  scope = 'system/*.rs',
  changes: Record<string, string> = {},
) =>
  door.call(
    'POST',
    'auth/token',
    { 'content-type': 'application/x-www-form-urlencoded', 'x-api-key': '' },
    new URLSearchParams({
      grant_type: 'client_credentials',
      client_assertion_type:
        'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion,
      scope,
      ...changes,
    }).toString(),
  );
async function tokenOf(clientId: string, scope?: string): Promise<string> {
  const response = await ask(await assertion(clientId), scope);
  expect(response.statusCode, response.body).toBe(200);
  return response.json().access_token;
}
const by = (token: string, url: string, headers = {}) =>
  door.gateway.app.inject({
    url,
    headers: { authorization: `Bearer ${token}`, ...headers },
  });

test('the discovery document names the token endpoint', async () => {
  const response = await door.gateway.app.inject({
    url: '/fhir/R4/.well-known/smart-configuration',
  });
  expect(response.json()).toMatchObject({
    token_endpoint: TOKEN_URL,
    token_endpoint_auth_methods_supported: ['private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: ['RS384', 'ES384'],
  });
});

test.each(ALGORITHMS)(
  'a client gets a token with an assertion signed by %s, and reads with it',
  async (alg) => {
    const clientId = await register('system/*.rs');
    const response = await ask(await assertion(clientId, alg));
    expect(response.json()).toMatchObject({
      token_type: 'bearer',
      expires_in: 300,
      scope: 'system/*.rs',
    });
    expect(response.headers['cache-control']).toBe('no-store');
    const read = await by(
      response.json().access_token,
      `/fhir/R4/Patient/${patientId}`,
    );
    expect(read.json()).toMatchObject({
      resourceType: 'Patient',
      id: patientId,
    });
  },
);

test('a token without a scope for reading reads no record, whole or exported, nor how complete it is', async () => {
  for (const scope of ['network-query.start', 'system/Subscription.cruds']) {
    const token = await tokenOf(await register(scope), scope);
    for (const path of [
      `Patient/${patientId}/$everything`,
      'Patient/$export',
    ]) {
      const refused = await by(token, `/fhir/R4/${path}`, {
        prefer: 'respond-async',
      });
      expect([scope, path, refused.statusCode]).toEqual([scope, path, 403]);
      expect(refused.body).not.toContain('incomplete');
    }
  }
});

test('a token permits the types of its scopes only, and the FHIR API only', async () => {
  const clientId = await register('system/Condition.rs system/Patient.rs');
  const token = await tokenOf(clientId);
  const status = async (path: string, headers = {}) =>
    (await by(token, `/fhir/R4/${path}`, headers)).statusCode;
  expect(await status(`Condition?patient=${patientId}`)).toBe(200);
  const refused = await by(token, `/fhir/R4/Observation?patient=${patientId}`);
  expect(refused.statusCode).toBe(403);
  expect(diagnosticsIn(refused.json())).toContain('system/Observation.rs');
  expect(
    await status(`Patient/${patientId}/$everything?_type=Observation`),
  ).toBe(403);
  // It would say that what the token may not read was not delivered.
  expect(await status(`Patient/${patientId}/$summary`)).toBe(403);
  expect(await status(`Binary/${patientId}`)).toBe(403);
  expect(
    await status('Patient/$export?_type=Observation', {
      prefer: 'respond-async',
    }),
  ).toBe(403);
  const everything = (
    await by(token, `/fhir/R4/Patient/${patientId}/$everything`)
  ).json();
  expect(
    new Set(
      everything.entry.map(
        ({ resource }: { resource: { resourceType: string } }) =>
          resource.resourceType,
      ),
    ),
  ).toEqual(new Set(['Condition', 'Patient']));
  const including = (
    await by(
      token,
      `/fhir/R4/Condition?patient=${patientId}&_include=*&_revinclude=Provenance:target`,
    )
  ).json();
  expect(
    inMode(including, 'include').filter(
      ({ resourceType }) => resourceType !== 'Patient',
    ),
  ).toEqual([]);
  const started = await by(token, '/fhir/R4/Patient/$export', {
    prefer: 'respond-async',
  });
  expect(started.statusCode).toBe(202);
  const row = await door.store.asAccount(door.accountId, (tx) =>
    tx.db.selectFrom('bulk_export').select('types').executeTakeFirst(),
  );
  expect(row?.types).toEqual(['Condition', 'Patient']);
  // Another client of the account cannot see it.
  const other = await tokenOf(await register('system/*.rs'));
  const path = new URL(String(started.headers['content-location'])).pathname;
  expect((await by(token, path)).statusCode).toBe(202);
  expect((await by(other, path)).statusCode).toBe(404);
  expect((await by(token, `/medical/v1/patient/${patientId}`)).statusCode).toBe(
    403,
  );
});

test('a token can be restricted to some of the registered scopes, and not extended', async () => {
  const all = await register('system/*.rs');
  expect(
    (
      await ask(await assertion(all), 'system/Condition.read system/Colour.rs')
    ).json().scope,
  ).toBe('system/Condition.rs');
  const some = await register('system/Condition.rs');
  expect((await ask(await assertion(some), 'system/*.rs')).json().scope).toBe(
    'system/Condition.rs',
  );
  expect(
    (await ask(await assertion(some), 'system/Patient.rs')).json().error,
  ).toBe('invalid_scope');
});

test('an assertion is accepted once', async () => {
  const clientId = await register('system/*.rs');
  const used = await assertion(clientId);
  const answers = await Promise.all([ask(used), ask(used), ask(used)]);
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([
    200, 401, 401,
  ]);
  expect((await ask(used)).json()).toMatchObject({ error: 'invalid_client' });
});

test.each([
  ['of another audience', { aud: 'https://elsewhere.example.org/token' }],
  ['of another issuer', { iss: 'someone' }],
  ['that has expired', { exp: Math.floor(Date.now() / 1_000) - 120 }],
  [
    'that is valid for too long',
    { exp: Math.floor(Date.now() / 1_000) + 3_600 },
  ],
  ['without an id', { jti: undefined }],
])('an assertion %s is refused', async (_, claims) => {
  const clientId = await register('system/*.rs');
  const response = await ask(
    await assertion(clientId, 'ES384', claims as JWTPayload),
  );
  expect(response.statusCode).toBe(401);
  expect(response.json().error).toBe('invalid_client');
});

test('an assertion with a key that is not registered, or of no client, is refused', async () => {
  const clientId = await register('system/*.rs');
  const own = pairs.get('ES384');
  pairs.set('ES384', await generateKeyPair('ES384', { extractable: true }));
  const forged = await assertion(clientId);
  if (own !== undefined) pairs.set('ES384', own);
  expect((await ask(forged)).statusCode).toBe(401);
  expect((await ask(await assertion(uuidv7()))).statusCode).toBe(401);
  expect((await ask('nonsense')).statusCode).toBe(401);
  expect(
    (
      await ask(await assertion(clientId), 'system/*.rs', {
        grant_type: 'password',
      })
    ).json().error,
  ).toBe('unsupported_grant_type');
});

test('refused assertions are in the audit of the account, and a used one is as well', async () => {
  const clientId = await register('system/*.rs');
  const used = await assertion(clientId);
  await ask(used);
  await ask(used);
  await ask(
    await assertion(clientId, 'ES384', {
      aud: 'https://elsewhere.example.org/token',
    }),
  );
  await ask(await assertion(clientId), 'system/Colour.rs');
  const entries = await door.store.asAccount(door.accountId, (tx) =>
    tx.db
      .selectFrom('audit_entry')
      .select(['operation', 'outcome'])
      .where('actor', '=', `client:${clientId}`)
      .orderBy('id')
      .execute(),
  );
  expect(entries).toEqual(
    ['200', '401', '401', '400'].map((outcome) => ({
      operation: 'fhirToken',
      outcome,
    })),
  );
});

test('tokens count towards the limit of requests of the account; refused assertions do not', async () => {
  const other = uuidv7();
  const limits = { requestsPerMinute: 2 };
  await door.store.asSystem((tx) =>
    insertAccount(tx, { id: other, name: 'Limited', settings: { limits } }),
  );
  const { document } = await registerClientCommand(target, {
    account: other,
    jwksFile,
    scopes: 'system/*.rs',
  });
  const clientId = String(document.clientId);
  for (let times = 0; times < 3; times += 1)
    expect(
      (
        await ask(
          await assertion(clientId, 'ES384', {
            aud: 'https://elsewhere.example.org',
          }),
        )
      ).statusCode,
    ).toBe(401);
  const statuses: number[] = [];
  // Five exceed the limit even if a new minute begins in between.
  for (let times = 0; times < 5; times += 1)
    statuses.push((await ask(await assertion(clientId))).statusCode);
  expect(statuses[0]).toBe(200);
  expect(statuses).toContain(429);
});

test('revoking a client ends its tokens at once', async () => {
  const clientId = await register('system/*.rs');
  const token = await tokenOf(clientId);
  expect((await by(token, `/fhir/R4/Patient/${patientId}`)).statusCode).toBe(
    200,
  );
  await revokeClientCommand(target, clientId);
  expect((await by(token, `/fhir/R4/Patient/${patientId}`)).statusCode).toBe(
    401,
  );
  expect((await ask(await assertion(clientId))).statusCode).toBe(401);
  const { document } = await listClientsCommand(target, door.accountId);
  expect(document.clients).toContainEqual(
    expect.objectContaining({ clientId, revokedAt: expect.any(Date) }),
  );
});

describe('keys at an address', () => {
  const bomb = gzipSync(`{"keys": [${' '.repeat(50_000_000)}]}`);
  let served: () => Buffer;
  let asked = 0;
  const server = createServer((_, response) => {
    asked += 1;
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(served());
  });
  beforeAll(
    () =>
      new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)),
  );
  afterAll(() => void server.close());

  async function registerAt(path: string): Promise<string> {
    const id = uuidv7();
    const jwksUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${path}`;
    const client = {
      id,
      accountId: door.accountId,
      keys: { jwksUrl },
      scopes: ['system/*.rs'],
    };
    await door.store.asSystem((tx) => insertClient(tx, client));
    return id;
  }
  /**
   * The gateway of the embedded stack, whose clients may be on this machine.
   */
  const onThisMachine = async (clientId: string) => {
    const check = createAssertionCheck(TOKEN_URL, { allowLoopback: true });
    const client = await door.store.asSystem((tx) => findClient(tx, clientId));
    if (client === undefined) throw new Error('no such client');
    return {
      verify: async () => check.verify(await assertion(clientId), client),
    };
  };

  test('are read up to a bound after decompression, and a failed address rests', async () => {
    served = () => bomb;
    asked = 0;
    const { verify } = await onThisMachine(await registerAt('bomb'));
    await expect(verify()).rejects.toThrow('more than 65536 bytes');
    await expect(verify()).rejects.toThrow('a moment ago');
    expect(asked).toBe(1);
  });

  test('are accepted below the bound', async () => {
    const keys = gzipSync(await readFile(jwksFile));
    served = () => keys;
    const { verify } = await onThisMachine(await registerAt('keys'));
    expect(await verify()).toHaveProperty('jti');
  });

  test('are not fetched from a private address', async () => {
    asked = 0;
    const response = await ask(await assertion(await registerAt('private')));
    expect(response.statusCode).toBe(401);
    expect(response.json().error_description).toContain(
      'the keys cannot be fetched',
    );
    expect(asked).toBe(0);
  });
});

test.each([[['a', 'b']], [{ a: 1 }], [7], [true]])(
  'an assertion with %j as its subject is refused like one of an unknown client',
  async (sub) => {
    const response = await ask(
      await assertion(uuidv7(), 'ES384', { sub } as unknown as JWTPayload),
    );
    expect(response.statusCode).toBe(401);
    expect(response.json().error).toBe('invalid_client');
  },
);

test('the public keys are registered, never a private one, and the address of keys must be https', async () => {
  const options = { account: door.accountId, scopes: 'system/*.rs' };
  const file = join(tmpdir(), `jwks-${uuidv7()}.json`);
  const key = pairs.get('ES384')?.privateKey;
  await writeFile(
    file,
    JSON.stringify({ keys: [key && (await exportJWK(key))] }),
  );
  await expect(
    registerClientCommand(target, { ...options, jwksFile: file }),
  ).rejects.toThrow('private key');
  await expect(
    registerClientCommand(target, { ...options, jwksUrl: 'http://a.example' }),
  ).rejects.toThrow('https');
  await expect(registerClientCommand(target, options)).rejects.toThrow(
    'either',
  );
  await expect(
    registerClientCommand(target, {
      ...options,
      jwksFile,
      scopes: 'user/*.rs',
    }),
  ).rejects.toThrow('system/');
});

test('what a client reads is in the audit under its name', async () => {
  const clientId = await register('system/*.rs');
  await by(await tokenOf(clientId), `/fhir/R4/Patient/${patientId}`);
  const rows = await door.store.asAccount(door.accountId, (tx) =>
    tx.db
      .selectFrom('audit_entry')
      .select(['operation', 'patient_id'])
      .where('actor', '=', `client:${clientId}`)
      .orderBy('at')
      .execute(),
  );
  expect(rows).toEqual([
    { operation: 'fhirToken', patient_id: null },
    { operation: 'fhirRead', patient_id: patientId },
  ]);
});
