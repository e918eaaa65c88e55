import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  insertApiKey,
  revokeApiKey,
} from '../../src/exchange/access/accounts/api-key-store.ts';
import {
  generateApiKey,
  parseApiKey,
} from '../../src/exchange/access/accounts/rules/api-key.ts';
import { signEmbedToken } from '../../src/exchange/access/embed-tokens/embed-token.ts';
import { createRefusalAudit } from '../../src/exchange/platform/http/refusals.ts';
import { signLink } from '../../src/exchange/platform/links/signed-link.ts';
import { createLogger } from '../../src/lib/logger.ts';
import {
  createTestGateway,
  TEST_INTERNAL_KEY,
  TEST_LINK_KEY,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await createTestGateway();
});
afterAll(() => gateway.close());

const entriesOf = ({ accountId }: Pick<TestAccount, 'accountId'>) =>
  gateway.store.asAccount(accountId, (tx) =>
    tx.db.selectFrom('audit_entry').selectAll().orderBy('id').execute(),
  );

async function addKey(
  account: TestAccount,
  options: { expiresAt?: Date } = {},
) {
  const id = uuidv7();
  const apiKey = generateApiKey();
  const parts = parseApiKey(apiKey);
  if (parts === undefined) throw new Error('not a key');
  await gateway.store.asSystem((tx) =>
    insertApiKey(tx, {
      id,
      accountId: account.accountId,
      ...parts,
      ...options,
    }),
  );
  return { id, headers: { 'x-api-key': apiKey } };
}
const get = (url: string, headers: Record<string, string> = {}) =>
  gateway.app.inject({ url, headers });
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe('a refusal is in the audit', () => {
  test('of a key that was revoked, or has expired', async () => {
    const account = await gateway.addAccount();
    const revoked = await addKey(account);
    await gateway.store.asSystem((tx) => revokeApiKey(tx, revoked.id));
    const expired = await addKey(account, {
      expiresAt: new Date(Date.now() - 1_000),
    });
    const patient = uuidv7();
    expect(
      (await get(`/medical/v1/patient/${patient}`, revoked.headers)).statusCode,
    ).toBe(401);
    expect(
      (await get('/medical/v1/facility', expired.headers)).statusCode,
    ).toBe(401);
    expect(await entriesOf(account)).toMatchObject([
      {
        actor: `key:${revoked.id}`,
        operation: 'getPatient',
        outcome: '401 revoked',
        patient_id: patient,
        remote_address: '127.0.0.1',
      },
      {
        actor: `key:${expired.id}`,
        operation: 'listFacilities',
        outcome: '401 expired',
      },
    ]);
  });

  test('of an embed token that has expired, or whose key was revoked', async () => {
    const account = await gateway.addAccount();
    const { id: keyId } = await addKey(account);
    const token = { accountId: account.accountId, keyId };
    const old = uuidv7();
    const young = uuidv7();
    const at = (ms: number) => new Date(Date.now() + ms);
    const expired = await signEmbedToken(TEST_INTERNAL_KEY, {
      ...token,
      tokenId: old,
      expiresAt: at(-2_000),
    });
    const orphan = await signEmbedToken(TEST_INTERNAL_KEY, {
      ...token,
      tokenId: young,
      expiresAt: at(60_000),
    });
    await gateway.store.asSystem((tx) => revokeApiKey(tx, keyId));
    for (const each of [expired, orphan]) {
      expect((await get('/medical/v1/facility', bearer(each))).statusCode).toBe(
        401,
      );
      const page = `/embed/${account.accountId}/patient/${uuidv7()}/summary`;
      expect((await get(page, bearer(each))).statusCode).toBe(401);
    }
    expect(
      (await entriesOf(account)).map(({ actor, outcome }) => [actor, outcome]),
    ).toEqual([
      [`embed:${old}`, '401 expired'],
      [`embed:${old}`, '401 expired'],
      [`embed:${young}`, '401 revoked'],
      [`embed:${young}`, '401 revoked'],
    ]);
  });

  test('of a thing that is not there or is somebody else’s, of a wrong request, and above the limit', async () => {
    const account = await gateway.addAccount({
      settings: { limits: { requestsPerMinute: 3 } },
    });
    const query = uuidv7();
    expect(
      (await account.call('GET', `network/query/${query}`)).statusCode,
    ).toBe(404);
    expect((await account.call('GET', `patient/${query}?x=1`)).statusCode).toBe(
      404,
    );
    expect((await account.call('POST', 'cohort', { name: 7 })).statusCode).toBe(
      400,
    );
    expect((await account.call('GET', 'cohort')).statusCode).toBe(429);
    const entries = await entriesOf(account);
    expect(
      entries.map(({ operation, outcome, target_id: target }) => [
        operation,
        outcome,
        target,
      ]),
    ).toEqual([
      ['getNetworkQuery', '404', query],
      ['getPatient', '404', query],
      ['createCohort', '400', null],
      ['listCohorts', '429', null],
    ]);
  });

  test('of a link that has expired', async () => {
    const account = await gateway.addAccount();
    const target = { accountId: account.accountId, targetId: uuidv7() };
    const token = signLink(TEST_LINK_KEY, 'document', target, Date.now() - 1);
    expect((await get(`/links/document/${token}`)).statusCode).toBe(410);
    expect(await entriesOf(account)).toMatchObject([
      {
        actor: 'link',
        operation: 'readDocument',
        outcome: '410',
        target_id: target.targetId,
      },
    ]);
  });

  test('without a word of what was sent', async () => {
    const account = await gateway.addAccount();
    const scoped = await addKey(account);
    for (const url of [
      'patient/Jane%20Sample',
      'patient/Jane%20Sample/cohort',
      'document?patientId=Jane',
    ])
      expect((await get(`/medical/v1/${url}`, scoped.headers)).statusCode).toBe(
        400,
      );
    const entries = await entriesOf(account);
    expect(entries).toHaveLength(3);
    expect(JSON.stringify(entries)).not.toContain('Jane');
  });
});

test('an unknown key is counted and logged with its address, and is in no audit', async () => {
  const before = gateway.logLines.length;
  await get('/medical/v1/facility', { 'x-api-key': generateApiKey() });
  await get('/medical/v1/facility');
  const lines = gateway.logLines.slice(before).map((line) => JSON.parse(line));
  expect(
    lines.map(({ reason, remoteAddress }) => [reason, remoteAddress]),
  ).toEqual([
    ['unknown', '127.0.0.1'],
    ['missing', '127.0.0.1'],
  ]);
  const metrics = (await get('/metrics')).body;
  expect(metrics).toMatch(
    /authentication_failures_total\{reason="unknown",process="gateway"\} 1/,
  );
});

describe('a flood of refusals', () => {
  test('is a few entries and one that counts, written at the latest when the gateway closes', async () => {
    const second = await createTestGateway({ store: gateway.store });
    const account = await gateway.addAccount();
    const headers = { 'x-api-key': account.apiKey };
    const url = () => `/medical/v1/patient/${uuidv7()}`;
    await Promise.all(
      Array.from({ length: 60 }, () =>
        second.app.inject({ url: url(), headers }),
      ),
    );
    await second.app.inject({ method: 'DELETE', url: url(), headers });
    expect(await entriesOf(account)).toHaveLength(11);
    await second.app.close();
    const entries = await entriesOf(account);
    expect(entries).toHaveLength(12);
    expect(entries.at(-1)).toMatchObject({
      operation: 'getPatient',
      outcome: '404',
      times: 50,
    });
    expect(entries.at(-1)?.patient_id).toBeNull();
    expect(entries.at(-1)?.since).toBeInstanceOf(Date);
  });

  test('of ever other kinds is bounded too, and none of it is lost', async () => {
    const { accountId } = await gateway.addAccount();
    const audit = createRefusalAudit({
      store: gateway.store,
      logger: createLogger('test', 'silent'),
    });
    const refusal = (n: number) => ({
      accountId,
      actor: `embed:${n}`,
      operation: 'getPatient',
      outcome: '404',
    });
    for (let n = 0; n < 1_000; n += 1) await audit.note(refusal(n));
    await audit.close();
    const entries = await entriesOf({ accountId });
    expect(entries.length).toBeLessThanOrEqual(401);
    expect(entries.reduce((sum, { times }) => sum + times, 0)).toBe(1_000);
    expect(entries.filter(({ actor }) => actor === 'several')).toMatchObject([
      { times: 600 },
    ]);
  });

  test('outlives an outage of the database, as a count', async () => {
    const { accountId } = await gateway.addAccount();
    let isAway = true;
    const store = {
      ...gateway.store,
      asAccount: ((...args) =>
        isAway
          ? Promise.reject(
              Object.assign(new Error('away'), { code: 'ECONNREFUSED' }),
            )
          : gateway.store.asAccount(...args)) as typeof gateway.store.asAccount,
    };
    const audit = createRefusalAudit({
      store,
      logger: createLogger('test', 'silent'),
    });
    const refusal = {
      accountId,
      actor: 'key:1',
      operation: 'getPatient',
      outcome: '503',
    };
    audit.count(refusal);
    await audit.note({ ...refusal, outcome: '404' });
    await audit.flush();
    isAway = false;
    await audit.close();
    expect(
      (await entriesOf({ accountId })).map(({ outcome, times }) => [
        outcome,
        times,
      ]),
    ).toEqual([
      ['503', 1],
      ['404', 1],
    ]);
  });
});
