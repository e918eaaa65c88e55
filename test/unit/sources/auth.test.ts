import { expect, test } from 'vitest';
import { missingScopes } from '../../../src/exchange/sources/connectors/http/auth/token-request.ts';
import { ada, bundle, connect, FakeSource, never } from '../../support/fake-source.ts';

let source: FakeSource;

let issued = 0;
let accepted = '';
const tokenRoute = () => {
  issued += 1;
  accepted = `Bearer token-${issued}`;
  return {
    json: { access_token: `token-${issued}`, token_type: 'bearer', expires_in: 3600 },
    headers: { 'content-type': 'application/json' },
  };
};

async function start(routes: FakeSource['routes'] = {}): Promise<void> {
  issued = 0;
  source = await new FakeSource({
    'POST token': tokenRoute,
    'POST Patient/$match': ({ headers }) =>
      headers.authorization === accepted ? { json: bundle([]) } : { status: 401 },
    ...routes,
  }).start();
}

function connector() {
  const auth = {
    kind: 'client-credentials' as const,
    tokenUrl: `${source.baseUrl}/token`,
    clientId: 'ex:change',
    clientSecret: 'sécret',
    scope: 'system/*.read',
  };
  return connect(source, { auth });
}

test('one token serves all calls, those that start together too', async () => {
  await start();
  const shared = connector();
  await Promise.all([1, 2, 3].map(() => shared.begin(ada, {}, never)));
  expect(issued).toBe(1);
  const [request] = source.askedFor('POST token');
  expect(request?.body).toBe('grant_type=client_credentials&scope=system%2F*.read');
  const login = Buffer.from(request?.headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString();
  expect(login.split(':').map(decodeURIComponent)).toEqual(['ex:change', 'sécret']);
});

test.each([
  ['system/Patient.rs system/Observation.rs', 'system/Patient.read', ['system/Observation.rs']],
  ['system/*.read', 'system/Patient.rs', ['system/*.read']],
  ['system/Patient.read openid', 'system/*.r system/*.s', ['openid']],
  ['system/Patient.rs', 'system/*.cruds', []],
  ['system/Patient.rs', undefined, []],
])('of %s the server grants %s', (asked, granted, missing) => {
  expect(missingScopes(asked, granted)).toEqual(missing);
});

test('fewer scopes than asked are said', async () => {
  await start({
    'POST token': () => ({ ...tokenRoute(), json: { ...tokenRoute().json, scope: 'system/Patient.rs' } }),
  });
  expect(await connector().begin(ada, {}, never)).toEqual({
    kind: 'unknown-patient',
    notice: 'the authorization server did not grant all scopes that were asked for: system/*.read',
  });
});

test('a token that is no longer taken is replaced once', async () => {
  await start();
  const shared = connector();
  await shared.begin(ada, {}, never);
  accepted = 'Bearer something new';
  source.routes['POST token'] = () => ({ ...tokenRoute(), headers: { 'content-type': 'application/json' } });
  expect(await shared.begin(ada, {}, never)).toEqual({ kind: 'unknown-patient' });
  expect(issued).toBe(2);
  source.routes['POST Patient/$match'] = { status: 401 };
  await expect(shared.begin(ada, {}, never)).rejects.toMatchObject({
    kind: 'denied',
    options: { httpStatus: 401 },
  });
  expect(issued).toBe(3);
});

test.each([
  [{ status: 400 }, 'denied', 'hie answered 400 to the token request'],
  [{ status: 401 }, 'denied', 'hie answered 401 to the token request'],
  [{ status: 503 }, 'transport', 'hie answered 503 to the token request'],
  [{ status: 429 }, 'rate-limited', 'hie answered 429 to the token request'],
  [{ text: 'no' }, 'bad-answer', 'hie answered the token request without a token'],
])('a token endpoint that answers %j fails as %s', async (reply, kind, message) => {
  await start({ 'POST token': reply });
  await expect(connector().begin(ada, {}, never)).rejects.toMatchObject({ kind, message });
});

test('a fixed token that is refused is asked with once', async () => {
  await start();
  await expect(
    connect(source, { auth: { kind: 'bearer', token: 'old' } }).begin(ada, {}, never),
  ).rejects.toMatchObject({
    kind: 'denied',
    message: 'hie answered 401 to Patient/$match',
  });
  expect(source.askedFor('POST Patient/$match')).toHaveLength(1);
});
