import { expect, test } from 'vitest';
import { checkWebhooks } from '../../../bench/soak/mixed/check-webhooks.ts';

const line = (messageId: string, type = 'message.status', requestId = 'q') => ({
  at: '2026-11-23T08:00:00.000Z',
  messageId,
  type,
  requestId,
  repeat: false,
  signalled: false,
});
const expected = [{ requestId: 'q', type: 'message.status', atMost: 1 }];

test('a webhook that came twice under its id is one message', () => {
  const facts = checkWebhooks(
    [line('1'), line('1'), line('2', 'message.status', 'other')],
    expected,
  );
  expect(facts).toEqual({ faults: [], messages: 1, repeats: 1 });
});

test.each([
  ['a lost one', [], 'message.status of q: 0 messages'],
  [
    'one fact under two ids',
    [line('1'), line('2')],
    'message.status of q: 2 messages',
  ],
  [
    'one that nothing led to',
    [line('1'), line('2', 'webhook.test')],
    'webhook.test of q: 1 messages, none expected',
  ],
  [
    'first data announced twice',
    [
      line('1'),
      line('2', 'network-query.hie.first-data-ready'),
      line('3', 'network-query.hie.first-data-ready'),
    ],
    'network-query.hie.first-data-ready of q: 2 messages, none expected',
  ],
])('finds %s', (_what, received, fault) => {
  expect(checkWebhooks(received, expected).faults).toEqual([
    `webhook ${fault}`,
  ]);
});
