import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { createTestReceiver } from './test-receiver.ts';

const KEY = `whsec_${Buffer.from('intake key of the tests, long enough').toString('base64')}`;

test('a signed confirmation reaches the onboarding of its job; others are refused', async () => {
  const told: unknown[] = [];
  const app = await createTestReceiver(
    {
      signalConfirmed: async (jobId, event) => {
        if (jobId === 'away') throw new Error('Temporal is away');
        told.push([jobId, event]);
        return jobId.trim() === 'job-1';
      },
    },
    [KEY],
  );
  const post = async (content: object, key = KEY) => {
    const payload = JSON.stringify(content);
    const now = new Date();
    const answer = await app.inject({
      method: 'POST',
      url: '/intake/confirmation',
      payload,
      headers: {
        'content-type': 'application/json',
        'webhook-id': 'msg_1',
        'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
        'webhook-signature': new Webhook(key).sign('msg_1', now, payload),
      },
    });
    return answer.statusCode;
  };
  const aal2SessionId = 'aal2_session';
  expect(await post({ jobId: 'job-1', aal2SessionId })).toBe(202);
  expect(told).toEqual([['job-1', { aal2SessionId }]]);
  expect(await post({ jobId: 'job-2', aal2SessionId })).toBe(404);
  expect(await post({ jobId: 'away', aal2SessionId })).toBe(503);
  expect(await post({ jobId: 'job-1' })).toBe(400);
  expect(await post({ jobId: 'x'.repeat(256), aal2SessionId })).toBe(400);
  expect(await post({ jobId: ' ', aal2SessionId })).toBe(400);
  // The onboarding was started under the id as the form gave it.
  told.length = 0;
  expect(await post({ jobId: 'job-1 ', aal2SessionId })).toBe(202);
  expect(told).toEqual([['job-1 ', { aal2SessionId }]]);
  const other = `whsec_${Buffer.from('a key of somebody else altogether').toString('base64')}`;
  expect(await post({ jobId: 'job-1', aal2SessionId }, other)).toBe(401);
});
