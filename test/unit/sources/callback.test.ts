import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  readCallback,
  verifySourceCallback,
} from '../../../src/exchange/platform/http/signed-callback.ts';

const secret = `whsec_${Buffer.from('a callback secret for tests').toString('base64')}`;
const other = `whsec_${Buffer.from('another secret').toString('base64')}`;
const body = '{"status":"completed"}';

function signed(at = new Date(), key = secret) {
  return {
    'Webhook-Id': 'msg_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(key).sign('msg_1', at, body),
  };
}

test('a signed callback is genuine, also while the secret is rotated, and whatever its body is', () => {
  expect(verifySourceCallback(secret, signed(), Buffer.from(body))).toEqual({
    isGenuine: true,
    messageId: 'msg_1',
  });
  expect(verifySourceCallback([other, secret], signed(), body).isGenuine).toBe(
    true,
  );
  const at = new Date();
  const headers = {
    ...signed(at),
    'webhook-signature': new Webhook(secret).sign('msg_1', at, 'no json'),
  };
  expect(verifySourceCallback(secret, headers, 'no json').isGenuine).toBe(true);
});

test.each([
  ['unsigned', {}, body],
  ['signed by another', signed(new Date(), other), body],
  ['of another body', signed(), '{"status":"failed"}'],
  ['old', signed(new Date(Date.now() - 600_000)), body],
  ['of the future', signed(new Date(Date.now() + 600_000)), body],
  [
    'with doubled headers',
    { ...signed(), 'webhook-signature': ['v1,a', 'v1,b'] },
    body,
  ],
])('a callback that is %s is not', (_, headers, text) => {
  expect(verifySourceCallback(secret, headers, text)).toMatchObject({
    isGenuine: false,
    reason: expect.any(String),
  });
});

test('a source without a secret has no genuine callbacks, and a secret that is none is a fault of ours', () => {
  expect(verifySourceCallback([], signed(), body).isGenuine).toBe(false);
  expect(() => verifySourceCallback('whsec_%%%', signed(), body)).toThrow(
    'not valid base64',
  );
});

test('the body of a callback is read whole, or not at all', () => {
  const schema = z.object({ name: z.string() });
  const read = (encoding: 'utf8' | 'latin1', text: string) =>
    readCallback(schema, Buffer.from(text, encoding));
  expect(read('utf8', '{"name":"Núñez"}')).toEqual({ name: 'Núñez' });
  // Its accents would be lost.
  expect(read('latin1', '{"name":"Núñez"}')).toBeUndefined();
  for (const other of ['', '{"name":', '{"name":5}', 'null'])
    expect(read('utf8', other)).toBeUndefined();
});
