import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import {
  createTestGateway,
  newPerson,
  type TestGateway,
} from '../support/gateway.ts';

let behindProxy: TestGateway;
let open: TestGateway;
beforeAll(async () => {
  behindProxy = await createTestGateway({
    trustedProxies: ['loopback', '10.1.0.0/16'],
  });
  open = await createTestGateway();
});
afterAll(() => Promise.all([behindProxy.close(), open.close()]));

async function addressInAudit(
  gateway: TestGateway,
  forwardedFor: string,
): Promise<string | null | undefined> {
  const account = await gateway.addAccount();
  await account.call(
    'POST',
    `patient?facilityId=${account.facilityId}`,
    newPerson(),
    {
      'x-forwarded-for': forwardedFor,
    },
  );
  const entry = await gateway.store.asAccount(account.accountId, (tx) =>
    tx.db.selectFrom('audit_entry').select('remote_address').executeTakeFirst(),
  );
  return entry?.remote_address;
}

test('the audit names the caller behind trusted proxies, not the address that the caller claims', async () => {
  expect(await addressInAudit(behindProxy, '198.51.100.7')).toBe(
    '198.51.100.7',
  );
  expect(
    await addressInAudit(behindProxy, '203.0.113.9, 198.51.100.7, 10.1.2.3'),
  ).toBe('198.51.100.7');
  expect(await addressInAudit(behindProxy, 'Jane Sample')).toBeNull();
});

test('a forwarded address is ignored unless a trusted proxy sends it', async () => {
  expect(await addressInAudit(open, '198.51.100.7')).toBe('127.0.0.1');
});

test.each([
  ['10.0.0.0/8 ::1 uniquelocal', true],
  ['10.0.0.0/33', false],
  ['proxy.example.org', false],
])('TRUSTED_PROXIES=%s: %s', (value, isRight) => {
  const read = () =>
    readConfig(['TRUSTED_PROXIES'], { TRUSTED_PROXIES: value });
  if (isRight) expect(read().TRUSTED_PROXIES).toHaveLength(3);
  else expect(read).toThrow(/each must be an address, a range/);
});
