import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { generateWebhookKey } from '../../../src/exchange/platform/outbox/webhook-key.ts';
import { isSigned } from '../../../src/orchestrator/receiver/signatures.ts';

const MINUTE = 60_000;
const HOUR = 3_600_000;
const key = generateWebhookKey();
const bodyOf = (meta: object) =>
  JSON.stringify({ meta: { messageId: 'm-1', type: 'ping', ...meta } });
const whenAgo = (ageMs: number) => ({
  when: new Date(Date.now() - ageMs).toISOString(),
});
const plainly = (body: string) => ({
  'x-metriport-signature': createHmac('sha256', key).update(body).digest('hex'),
});
const isTaken = (body: string, headers: Record<string, string>) =>
  isSigned(Buffer.from(body), headers, [key]);

test.each([
  ['now', 0],
  ['as late as the last repeat of a sender', 80 * HOUR],
  ['by a clock that is a little ahead', -4 * MINUTE],
])('the older signature alone is taken %s', (_, ageMs) => {
  const body = bodyOf(whenAgo(ageMs));
  expect(isTaken(body, plainly(body))).toBe(true);
});

test.each([
  ['after every repeat', whenAgo(97 * HOUR)],
  ['from the future', whenAgo(-6 * MINUTE)],
  ['without a time', {}],
  ['with a time that is none', { when: 'yesterday' }],
])('the older signature alone is refused %s', (_, meta) => {
  const body = bodyOf(meta);
  expect(isTaken(body, plainly(body))).toBe(false);
});

test('the older signature does not stand in for a Standard Webhooks one that is too old', () => {
  const body = bodyOf(whenAgo(0));
  const sentAt = new Date(Date.now() - 6 * MINUTE);
  const standard = {
    'webhook-id': 'm-1',
    'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
    'webhook-signature': new Webhook(key).sign('m-1', sentAt, body),
  };
  expect(isTaken(body, { ...standard, ...plainly(body) })).toBe(false);
});

test('a Standard Webhooks signature is taken whatever the age of what it tells', () => {
  const body = bodyOf(whenAgo(1_000 * HOUR));
  const now = new Date();
  const standard = {
    'webhook-id': 'm-1',
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': new Webhook(key).sign('m-1', now, body),
  };
  expect(isTaken(body, standard)).toBe(true);
});
