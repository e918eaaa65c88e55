import { expect } from 'vitest';
import { missingScopes } from '../../../src/exchange/sources/connectors/http/auth/token-request.ts';
import {
  ada,
  bundle,
  connect,
  never,
  type Reply,
  type Routes,
  sourceTest,
} from '../../support/fake-source.ts';

const test = sourceTest
  .extend('tokens', () => {
    const tokens = { issued: 0, accepted: '' };
    const issue = () => {
      tokens.issued += 1;
      tokens.accepted = `Bearer token-${tokens.issued}`;
      return {
        json: {
          access_token: `token-${tokens.issued}`,
          token_type: 'bearer',
          expires_in: 3600,
        },
        headers: { 'content-type': 'application/json' },
      };
    };
    return Object.assign(tokens, { issue });
  })
  .extend(
    'routes',
    ({ tokens }): Routes => ({
      'POST token': tokens.issue,
      'POST Patient/$match': ({ headers }) =>
        headers.authorization === tokens.accepted
          ? { json: bundle([]) }
          : { status: 401 },
    }),
  )
  .extend('connector', ({ source }) => {
    const auth = {
      kind: 'client-credentials' as const,
      tokenUrl: `${source.baseUrl}/token`,
      clientId: 'ex:change',
      clientSecret: 'sécret',
      scope: 'system/*.read',
    };
    return connect(source, { auth });
  });

test('one token serves all calls, those that start together too', async ({
  source,
  tokens,
  connector,
}) => {
  await Promise.all([1, 2, 3].map(() => connector.begin(ada, {}, never)));
  expect(tokens.issued).toBe(1);
  const [request] = source.askedFor('POST token');
  expect(request?.body).toBe(
    'grant_type=client_credentials&scope=system%2F*.read',
  );
  const login = Buffer.from(
    request?.headers.authorization?.replace('Basic ', '') ?? '',
    'base64',
  ).toString();
  expect(login.split(':').map(decodeURIComponent)).toEqual([
    'ex:change',
    'sécret',
  ]);
});

test.each([
  [
    'system/Patient.rs system/Observation.rs',
    'system/Patient.read',
    ['system/Observation.rs'],
  ],
  ['system/*.read', 'system/Patient.rs', ['system/*.read']],
  ['system/Patient.read openid', 'system/*.r system/*.s', ['openid']],
  ['system/Patient.rs', 'system/*.cruds', []],
  ['system/Patient.rs', undefined, []],
])('of %s the server grants %s', (asked, granted, missing) => {
  expect(missingScopes(asked, granted)).toEqual(missing);
});

test('fewer scopes than asked are said', async ({
  source,
  tokens,
  connector,
}) => {
  source.serve({
    'POST token': () => ({
      ...tokens.issue(),
      json: { ...tokens.issue().json, scope: 'system/Patient.rs' },
    }),
  });
  expect(await connector.begin(ada, {}, never)).toEqual({
    kind: 'unknown-patient',
    notice:
      'the authorization server did not grant all scopes that were asked for: system/*.read',
  });
});

test('a token that is no longer taken is replaced once', async ({
  source,
  tokens,
  connector,
}) => {
  await connector.begin(ada, {}, never);
  tokens.accepted = 'Bearer something new';
  expect(await connector.begin(ada, {}, never)).toEqual({
    kind: 'unknown-patient',
  });
  expect(tokens.issued).toBe(2);
  source.routes['POST Patient/$match'] = { status: 401 };
  await expect(connector.begin(ada, {}, never)).rejects.toMatchObject({
    kind: 'denied',
    options: { httpStatus: 401 },
  });
  expect(tokens.issued).toBe(3);
});

test.for<[Reply, string, string]>([
  [{ status: 400 }, 'denied', 'hie answered 400 to the token request'],
  [{ status: 401 }, 'denied', 'hie answered 401 to the token request'],
  [{ status: 503 }, 'transport', 'hie answered 503 to the token request'],
  [{ status: 429 }, 'rate-limited', 'hie answered 429 to the token request'],
  [
    { text: 'no' },
    'bad-answer',
    'hie answered the token request without a token',
  ],
])(
  'a token endpoint that answers %j fails as %s',
  async ([reply, kind, message], { source, connector }) => {
    source.serve({ 'POST token': reply });
    await expect(connector.begin(ada, {}, never)).rejects.toMatchObject({
      kind,
      message,
    });
  },
);

test('a fixed token that is refused is asked with once', async ({ source }) => {
  await expect(
    connect(source, { auth: { kind: 'bearer', token: 'old' } }).begin(
      ada,
      {},
      never,
    ),
  ).rejects.toMatchObject({
    kind: 'denied',
    message: 'hie answered 401 to Patient/$match',
  });
  expect(source.askedFor('POST Patient/$match')).toHaveLength(1);
});
