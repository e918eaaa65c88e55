import type { Client } from '@temporalio/client';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import type { Store } from '../../../src/exchange/platform/database/database.ts';
import { provenToken } from '../../../src/exchange/queries/network-query/attempt-store.ts';
import { createSourceCallbacks } from '../../../src/exchange/queries/network-query/source-callback.ts';
import { testKeyRing } from '../../support/test-keys.ts';

const secretOf = (text: string): string =>
  `whsec_${Buffer.from(text).toString('base64')}`;
const body = Buffer.from('{}');

function headers(secret: string) {
  const at = new Date();
  return {
    'webhook-id': 'm1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign('m1', at, body),
  };
}

test('a callback reaches the database only if a source signed it and its token has the right form', async () => {
  let lookUps = 0;
  const asSystem = async (): Promise<void> => {
    lookUps += 1;
  };
  const store = { asSystem } as unknown as Store;
  const callbacks = createSourceCallbacks({
    store,
    temporal: {} as Client,
    logger: pino({ level: 'silent' }),
    callbackSecrets: {
      hie: secretOf('of the hie'),
      lab: secretOf('of the lab'),
    },
    keyRing: testKeyRing(),
    callbackKey: 'key',
  });
  const token = 'a'.repeat(43);
  const call = async (of: string, signed: object) =>
    (await callbacks.handle(of, { ...signed }, body)).status;
  expect(await call(token, {})).toBe(401);
  expect(await call(token, headers(secretOf('of a stranger')))).toBe(401);
  expect(await call(`${token}x`, headers(secretOf('of the lab')))).toBe(404);
  expect(await call('%00', headers(secretOf('of the lab')))).toBe(404);
  // As a connection gets it, but not made by us.
  expect(
    await call(
      provenToken('another key', token),
      headers(secretOf('of a stranger')),
    ),
  ).toBe(401);
  expect(lookUps).toBe(0);
  expect(await call(token, headers(secretOf('of the lab')))).toBe(404);
  expect(lookUps).toBe(1);
  expect(
    await call(provenToken('key', token), headers(secretOf('of a connection'))),
  ).toBe(404);
  expect(lookUps).toBe(2);
});
