import { X509Certificate } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { sql } from 'kysely';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
} from 'vitest';
import {
  createStore,
  type Store,
} from '../../src/exchange/platform/database/database.ts';
import { createSharedTokens } from '../../src/exchange/sources/connections/shared-tokens.ts';
import {
  createAssertionSigner,
  ensureSigningKeys,
  readJwks,
  rotateSigningKeys,
} from '../../src/exchange/sources/connections/signing-keys.ts';
import { createFhirConnector } from '../../src/exchange/sources/connectors/fhir-connector.ts';
import { pinOf } from '../../src/exchange/sources/connectors/http/tls.ts';
import type { SourceConfig } from '../../src/exchange/sources/connectors/source-config.ts';
import { ada, adaAtSource } from '../support/ada.ts';
import { createAuthority } from '../support/authority.ts';
import { startAuthorizationServer } from '../support/authorization-server.ts';
import { searchset, startFhirServer } from '../support/fhir-server.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { testKeyRing } from '../support/test-keys.ts';

const SECRET = 'a-client-secret-of-the-tests-only';
const SCOPE = 'system/Patient.rs';
const keyRing = testKeyRing();
let database: TestDatabase;
let store: Store;
let authority: Awaited<ReturnType<typeof createAuthority>>;
let site: { cert: string; key: string };
let jwksServer: Server;
let login: Awaited<ReturnType<typeof startAuthorizationServer>>;
let fhir: Awaited<ReturnType<typeof startFhirServer>>;

beforeAll(async () => {
  authority = await createAuthority();
  site = await authority.issue('DNS:localhost');
  jwksServer = createServer((_request, response) => {
    void store.asSystem(readJwks).then((jwks) => {
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(jwks));
    });
  });
  await new Promise<void>((resolve) =>
    jwksServer.listen(0, '127.0.0.1', resolve),
  );
});
afterAll(async () => {
  await new Promise((resolve) => jwksServer.close(resolve));
  await authority.remove();
});

beforeEach(async () => {
  database = await createTestDatabase();
  store = createStore({ databaseUrl: database.databaseUrl, poolMax: 4 });
  const jwks_uri = `http://127.0.0.1:${(jwksServer.address() as AddressInfo).port}/jwks.json`;
  const byKey = {
    token_endpoint_auth_method: 'private_key_jwt' as const,
    jwks_uri,
    scope: SCOPE,
  };
  login = await startAuthorizationServer(site, {
    scopes: [SCOPE, 'system/*.cruds'],
    clients: [
      { client_id: 'rsa', ...byKey, token_endpoint_auth_signing_alg: 'RS384' },
      // The server caches the JWKS of each client for a minute: the later ones
      // stand for later times.
      ...['curve', 'curve-a-day-later', 'curve-at-once'].map((client_id) => ({
        client_id,
        ...byKey,
        token_endpoint_auth_signing_alg: 'ES384' as const,
      })),
      {
        client_id: 'post',
        client_secret: SECRET,
        token_endpoint_auth_method: 'client_secret_post',
        scope: SCOPE,
      },
      {
        client_id: 'basic',
        client_secret: SECRET,
        token_endpoint_auth_method: 'client_secret_basic',
        scope: SCOPE,
      },
    ],
  });
  fhir = await startFhir();
});
afterEach(async () => {
  await Promise.all([fhir.stop(), login.stop()]);
  await store.close();
  await database.drop();
});

const startFhir = (smart: Record<string, unknown> = {}, clientCa?: string) =>
  startFhirServer(site, {
    isActive: login.isActive,
    smartConfiguration: { token_endpoint: login.tokenUrl, ...smart },
    resources: {
      'Patient/$match': searchset(adaAtSource),
      'Patient/p1/$everything': searchset(),
    },
    clientCa,
  });

function connector(
  auth: SourceConfig['auth'],
  { now = Date.now, tls = {} } = {},
) {
  return createFhirConnector(
    {
      source: 'hie',
      baseUrl: fhir.baseUrl,
      auth,
      tls: { ca: authority.cert, ...tls },
    },
    {
      signer: createAssertionSigner(store, keyRing),
      sharedTokens: createSharedTokens(store, keyRing),
      clock: { now },
    },
  );
}
const ask = (each: ReturnType<typeof connector>) =>
  each.begin(ada, {}, new AbortController().signal).then(({ kind }) => kind);
const lastAssertion = () =>
  new URLSearchParams(login.calls.at(-1)?.body ?? '').get('client_assertion') ??
  '';

describe('a source that knows us by our key (SMART Backend Services)', () => {
  test.each([
    ['RS384', 'rsa'],
    ['ES384', 'curve'],
  ] as const)(
    'is asked with a token for an assertion signed with %s',
    async (algorithm, clientId) => {
      await fhir.stop();
      fhir = await startFhir({
        token_endpoint_auth_signing_alg_values_supported: [algorithm],
      });
      expect(
        await ask(connector({ kind: 'smart-backend', clientId, scope: SCOPE })),
      ).toBe('ready');
      const assertion = lastAssertion();
      expect(decodeProtectedHeader(assertion)).toMatchObject({
        alg: algorithm,
        typ: 'JWT',
      });
      const { iss, sub, aud, exp = 0, iat = 0, jti } = decodeJwt(assertion);
      expect({ iss, sub, aud }).toEqual({
        iss: clientId,
        sub: clientId,
        aud: login.tokenUrl,
      });
      expect(exp - iat).toBeLessThanOrEqual(300);
      expect(jti).toMatch(/^[0-9a-f-]{36}$/);
      expect(await login.scopeOf(fhir.tokens[0] ?? '')).toBe(SCOPE);
    },
  );

  test('is asked though our clock is ten minutes wrong, in either direction', async () => {
    for (const minutes of [-10, 10]) {
      const wrong = connector(
        { kind: 'smart-backend', clientId: 'curve', scope: SCOPE },
        { now: () => Date.now() + minutes * 60_000 },
      );
      await store.asSystem((tx) =>
        sql`delete from source_token`.execute(tx.db),
      );
      expect(await ask(wrong)).toBe('ready');
    }
    // The first assertion had expired by the server's clock.
    expect(login.calls.map(({ status }) => status)).toEqual([401, 200, 200]);
  });

  test('needs no change when our keys are rotated, and no longer accepts a key that was replaced at once', async () => {
    const auth = {
      kind: 'smart-backend' as const,
      clientId: 'curve',
      scope: SCOPE,
    };
    expect(await ask(connector(auth))).toBe('ready');
    const old = decodeProtectedHeader(lastAssertion()).kid;
    await store.asSystem((tx) => rotateSigningKeys(tx, keyRing, false));
    // The new key is published, and does not sign yet.
    expect(kids(await store.asSystem(readJwks))).toHaveLength(3);
    await renewed();
    expect(await ask(connector(auth))).toBe('ready');
    expect(decodeProtectedHeader(lastAssertion()).kid).toBe(old);

    // A day later the new key signs while the old one is still published.
    await store.asSystem((tx) =>
      sql`update source_signing_key set signs_from = signs_from - interval '25 hours',
        published_until = published_until - interval '25 hours'`.execute(tx.db),
    );
    await renewed();
    expect(
      await ask(connector({ ...auth, clientId: 'curve-a-day-later' })),
    ).toBe('ready');
    const next = decodeProtectedHeader(lastAssertion()).kid;
    expect(next).not.toBe(old);
    expect(kids(await store.asSystem(readJwks))).toEqual(
      expect.arrayContaining([old, next]),
    );

    await store.asSystem((tx) => rotateSigningKeys(tx, keyRing, true));
    const published = kids(await store.asSystem(readJwks));
    expect(published).toHaveLength(2);
    expect(published).not.toContain(next);
    expect(await ask(connector({ ...auth, clientId: 'curve-at-once' }))).toBe(
      'ready',
    );
  });

  test('gets a JWKS of public keys only, and the private ones are not readable in the database', async () => {
    await store.asSystem((tx) => ensureSigningKeys(tx, keyRing));
    const { keys } = await store.asSystem(readJwks);
    expect(keys.map(({ alg }) => alg).sort()).toEqual(['ES384', 'RS384']);
    for (const key of keys)
      expect(Object.keys(key)).not.toEqual(expect.arrayContaining(['d']));
    const { rows } = await store.asSystem((tx) =>
      sql<{
        key: Buffer;
      }>`select private_key as key from source_signing_key`.execute(tx.db),
    );
    for (const { key } of rows)
      expect(key.toString('latin1')).not.toMatch(/"d":|"kty"/);
  });

  test('without discovery, or without private_key_jwt, says what to do', async () => {
    const auth = {
      kind: 'smart-backend' as const,
      clientId: 'curve',
      scope: SCOPE,
    };
    await fhir.stop();
    fhir = await startFhir({
      token_endpoint_auth_methods_supported: ['client_secret_basic'],
    });
    await expect(ask(connector(auth))).rejects.toMatchObject({
      kind: 'denied',
      message:
        'hie does not offer private_key_jwt (.well-known/smart-configuration)',
    });
    await fhir.stop();
    fhir = await startFhirServer(site, { isActive: login.isActive });
    await expect(ask(connector(auth))).rejects.toMatchObject({
      kind: 'denied',
      message:
        'hie has no .well-known/smart-configuration; configure its token endpoint',
    });
  });
});

describe('a source that knows us by a secret', () => {
  test.each([
    ['basic', 'header'],
    ['post', 'form'],
  ] as const)(
    '%s: is asked with a token for the secret in the %s',
    async (clientId, secretIn) => {
      const auth = {
        kind: 'client-credentials' as const,
        tokenUrl: login.tokenUrl,
        clientId,
        secretIn,
      };
      expect(
        await ask(connector({ ...auth, clientSecret: SECRET, scope: SCOPE })),
      ).toBe('ready');
      expect(await login.scopeOf(fhir.tokens[0] ?? '')).toBe(SCOPE);
    },
  );

  test.each([
    [
      { clientSecret: 'wrong-secret-wrong-secret' },
      /^hie answered 401 \(invalid_client: check/,
    ],
    [
      { scope: 'system/*.cruds' },
      /^hie answered 400 \(invalid_scope: check the scope\)/,
    ],
  ])(
    'that rejects %j gives the OAuth error code, and nothing secret',
    async (changes, message) => {
      const auth = {
        kind: 'client-credentials' as const,
        tokenUrl: login.tokenUrl,
        clientId: 'basic',
      };
      const failed = ask(
        connector({ ...auth, clientSecret: SECRET, scope: SCOPE, ...changes }),
      );
      await expect(failed).rejects.toMatchObject({
        kind: 'denied',
        message: expect.stringMatching(message),
      });
      await failed.catch((error: Error) =>
        expect(JSON.stringify([error, error.stack])).not.toMatch(/secret-/),
      );
    },
  );
});

describe('the token of a source', () => {
  const auth = () => ({
    kind: 'client-credentials' as const,
    tokenUrl: login.tokenUrl,
    clientId: 'basic',
    clientSecret: SECRET,
    scope: SCOPE,
  });

  test('is requested once for all workers, and stored encrypted', async () => {
    const workers = Array.from({ length: 5 }, () => connector(auth()));
    expect(await Promise.all(workers.map(ask))).toEqual(Array(5).fill('ready'));
    expect(login.calls).toHaveLength(1);
    const { rows } = await store.asSystem((tx) =>
      sql`select * from source_token`.execute(tx.db),
    );
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain(fhir.tokens[0]);
  });

  test('is renewed before it ends, and the old one serves while the token server is down', async () => {
    let aheadMs = 0;
    const late = connector(auth(), { now: () => Date.now() + aheadMs });
    await ask(late);
    await renewed();
    aheadMs = 280_000;
    await login.stop();
    expect(await ask(late)).toBe('ready');
    aheadMs = 301_000;
    await expect(ask(late)).rejects.toMatchObject({
      kind: 'transport',
      message: 'hie did not answer the token request',
    });
  });

  test('is replaced for all workers when the source rejects it', async () => {
    const one = connector(auth());
    const other = connector(auth());
    await Promise.all([ask(one), ask(other)]);
    await login.revoke(fhir.tokens[0] ?? '');
    expect(await ask(one)).toBe('ready');
    expect(await ask(other)).toBe('ready');
    expect(login.calls).toHaveLength(2);
  });

  test('does not outlive a change of the credentials, or of the key ring', async () => {
    await ask(connector(auth()));
    expect(
      await ask(
        connector({ ...auth(), clientId: 'post', secretIn: 'form' as const }),
      ),
    ).toBe('ready');
    expect(login.calls).toHaveLength(2);
    await store.asSystem((tx) =>
      sql`update source_token set sealed = 'another key'`.execute(tx.db),
    );
    expect(
      await ask(
        connector({ ...auth(), clientId: 'post', secretIn: 'form' as const }),
      ),
    ).toBe('ready');
    expect(login.calls).toHaveLength(3);
  });

  test('is requested by another worker when the one that asked for it died', async () => {
    await store.asSystem((tx) =>
      sql`insert into source_token (name, requested_until) values ('hie', now() + interval '1 second')`.execute(
        tx.db,
      ),
    );
    expect(await ask(connector(auth()))).toBe('ready');
  });
});

describe('a source over TLS', () => {
  const auth = () => ({
    kind: 'smart-backend' as const,
    clientId: 'curve',
    scope: SCOPE,
  });

  test('is not trusted on the word of an authority that is not its own, and is not asked again', async () => {
    const stranger = await createAuthority('another');
    await expect(
      ask(connector(auth(), { tls: { ca: stranger.cert } })),
    ).rejects.toMatchObject({
      kind: 'denied',
      message: expect.stringMatching(
        /^hie is not trusted: its certificate is not valid \(\w+\)$/,
      ),
    });
    await stranger.remove();
  });

  test('is verified even where NODE_TLS_REJECT_UNAUTHORIZED says not to', async () => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    try {
      await expect(
        ask(connector(auth(), { tls: { ca: undefined } })),
      ).rejects.toMatchObject({
        kind: 'denied',
      });
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    }
  });

  test('is asked if its key is pinned, and not if another one is', async () => {
    const pins = [pinOf(new X509Certificate(site.cert).raw)];
    expect(await ask(connector(auth(), { tls: { pins } }))).toBe('ready');
    const other = await authority.issue('DNS:localhost');
    const wrong = { pins: [pinOf(new X509Certificate(other.cert).raw)] };
    await expect(ask(connector(auth(), { tls: wrong }))).rejects.toMatchObject({
      kind: 'denied',
      message:
        'hie is not trusted: its certificate is not valid (CERT_NOT_PINNED)',
    });
  });

  test('that asks for a client certificate gets ours, and says so where there is none', async () => {
    await fhir.stop();
    fhir = await startFhir({}, authority.cert);
    const client = await authority.issue('DNS:exchange.example.org');
    expect(await ask(connector(auth(), { tls: client }))).toBe('ready');
    await expect(ask(connector(auth()))).rejects.toMatchObject({
      message: expect.stringContaining('refused or dropped the connection'),
    });
  });
});

const kids = ({ keys }: { keys: { kid?: string }[] }) =>
  keys.map(({ kid }) => kid);

/** Makes the stored token due for renewal. */
const renewed = () =>
  store.asSystem((tx) =>
    sql`update source_token set renew_at = now() - interval '1 second'`.execute(
      tx.db,
    ),
  );
