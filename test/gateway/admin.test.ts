import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createTestGateway,
  newPerson,
  type TestGateway,
} from '../support/gateway.ts';
import { runAdminOn } from '../support/run-admin.ts';

let gateway: TestGateway;
let accountId: string;
beforeAll(async () => {
  gateway = await createTestGateway();
  const created = await admin(
    'accounts',
    'create',
    '--name',
    'Harborview',
    '--sources',
    'hie,lab',
  );
  accountId = created.document.account.id;
});
afterAll(() => gateway.close());

/** One command line, as a program gives it. */
const admin = (...argv: string[]) => runAdminOn(gateway.store, ...argv);

const makeKey = async (...options: string[]) =>
  (await admin('keys', 'create', '--account', accountId, ...options))
    .document as {
    key: string;
    id: string;
    prefix: string;
  };
const call = (key: string, url = '/medical/v1/facility') =>
  gateway.app.inject({ url, headers: { 'x-api-key': key } });

describe('an account made by the CLI', () => {
  test('works with its first key and facility: a patient is created', async () => {
    const { key } = await makeKey();
    const address = [
      '--address-line1',
      '1 Main St',
      '--city',
      'Boston',
      '--state',
      'ma',
      '--zip',
      '02108',
    ];
    const { document } = await admin(
      'facilities',
      'create',
      '--account',
      accountId,
      '--name',
      'Clinic',
      '--npi',
      '1234567893',
      ...address,
    );
    const answer = await gateway.app.inject({
      method: 'POST',
      url: `/medical/v1/patient?facilityId=${document.facility.id}`,
      headers: { 'x-api-key': key },
      payload: newPerson(),
    });
    expect(answer.statusCode).toBe(201);
  });

  test('has the settings it was given, and keeps those that a change does not name', async () => {
    const changed = await admin(
      'accounts',
      'set',
      accountId,
      '--requests-per-minute',
      '500',
      '--dialect',
      'published',
      '--monitoring-hours',
      '22-4',
      '--frame-ancestors',
      'https://ehr.example.org',
    );
    expect(changed.document.account).toMatchObject({
      name: 'Harborview',
      dialect: 'published',
      settings: {
        sources: {
          hie: { enabled: true },
          pharmacy: { enabled: false },
          lab: { enabled: true },
        },
        limits: { requestsPerMinute: 500 },
        monitoring: { fromHour: 22, toHour: 4 },
        embed: { frameAncestors: ['https://ehr.example.org'] },
      },
    });
    const answer = await call((await makeKey()).key);
    expect(answer.headers['ratelimit-policy']).toContain('q=500');
  });
});

describe('an embed token', () => {
  test('is ended by the CLI, by itself or by its id, once', async () => {
    const { key } = await makeKey('--scopes', 'read');
    const make = async (): Promise<string> =>
      (
        await gateway.app.inject({
          method: 'POST',
          url: '/medical/v1/token/embed',
          headers: { 'x-api-key': key },
        })
      ).json().token;
    const read = async (token: string) =>
      (
        await gateway.app.inject({
          url: `/medical/v1/patient/${accountId}`,
          headers: { authorization: `Bearer ${token}` },
        })
      ).statusCode;
    const first = await make();
    const second = await make();
    expect([await read(first), await read(second)]).toEqual([404, 404]);
    expect((await admin('embed-tokens', 'revoke', first)).exitCode).toBe(0);
    expect([await read(first), await read(second)]).toEqual([401, 404]);
    const { jti = '' } = decodeJwt(second);
    expect((await admin('embed-tokens', 'revoke', jti)).exitCode).toBe(0);
    expect(await read(second)).toBe(401);
    expect((await admin('embed-tokens', 'revoke', jti)).err).toContain(
      'has already been revoked',
    );
    expect((await admin('embed-tokens', 'revoke', accountId)).exitCode).toBe(2);
  });
});

describe('a key made by the CLI', () => {
  test('is shown once and stored nowhere', async () => {
    const { key, prefix } = await makeKey('--label', 'EHR');
    expect(key).toMatch(/^mdx_[0-9a-f]{8}_/);
    const listed = await admin('keys', 'list', '--account', accountId);
    expect(listed.out).toContain(prefix);
    expect(listed.out).not.toContain(key.slice(-43));
  });

  test('is replaced without a gap, and refused from the moment of its revocation', async () => {
    const old = await makeKey('--scopes', 'read');
    const successor = await makeKey('--expires', '90d');
    expect([
      (await call(old.key)).statusCode,
      (await call(successor.key)).statusCode,
    ]).toEqual([200, 200]);
    expect((await admin('keys', 'revoke', old.prefix)).exitCode).toBe(0);
    expect([
      (await call(old.key)).statusCode,
      (await call(successor.key)).statusCode,
    ]).toEqual([401, 200]);
    const { document } = await admin('keys', 'list', '--account', accountId);
    const states = document.keys.map(
      ({ id, state }: { id: string; state: string }) => [id, state],
    );
    expect(Object.fromEntries(states)).toMatchObject({
      [old.id]: 'revoked',
      [successor.id]: 'active',
    });
  });

  test('is audited with its making and its end', async () => {
    const { id } = await makeKey();
    await admin('keys', 'revoke', id);
    const entries = await gateway.store.asAccount(accountId, (tx) =>
      tx.db
        .selectFrom('audit_entry')
        .select(['actor', 'operation'])
        .where('target_id', '=', id)
        .orderBy('id')
        .execute(),
    );
    expect(entries).toEqual([
      { actor: 'admin', operation: 'createKey' },
      { actor: 'admin', operation: 'revokeKey' },
    ]);
  });
});

describe('what the CLI cannot do', () => {
  test.each([
    [['keys', 'revoke', 'mdx_00000000'], 'Key not found'],
    [['keys', 'list', '--account', 'nonsense'], 'Account nonsense not found'],
    [['accounts', 'create', '--name', ' '], '1 to 200 characters'],
    [
      ['accounts', 'create', '--name', 'X', '--sources', 'fax'],
      '"fax" is not a source; expected hie',
    ],
    [
      [
        'accounts',
        'create',
        '--name',
        'X',
        '--frame-ancestors',
        'ehr.example.org',
      ],
      'is not an origin',
    ],
    [
      ['accounts', 'create', '--name', 'X', '--monitoring-hours', '25-3'],
      'not a valid range of monitoring hours',
    ],
    [
      ['accounts', 'create', '--name', 'X', '--requests-per-minute', '-1'],
      '"-1" is not a valid limit',
    ],
  ])('%j is refused with what would be right', async (argv, message) => {
    const { exitCode, err } = await admin(...argv);
    expect(err).toContain(message);
    expect(exitCode).toBe(2);
  });

  test.each([
    [
      ['--scopes', 'everything'],
      '"everything" is not a scope; expected read, write',
    ],
    [['--expires', 'soon'], '"soon" is not a time'],
    [['--expires', '2099-02-30'], '"2099-02-30" is not a time'],
    [['--expires', '2020-01-31'], 'is in the past'],
  ])('a key with %j is not made', async (options, message) => {
    const { exitCode, err } = await admin(
      'keys',
      'create',
      '--account',
      accountId,
      ...options,
    );
    expect(err).toContain(message);
    expect(exitCode).toBe(2);
  });
});
