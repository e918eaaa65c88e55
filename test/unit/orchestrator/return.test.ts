import { expect, test } from 'vitest';
import { createTestReceiver } from './test-receiver.ts';

test('a person who comes back is thanked, and their onboarding told; the session never leaves the address', async () => {
  const told: unknown[] = [];
  const app = await createTestReceiver({
    signalReturned: async (id, event) => {
      if (id === 'away') throw new Error('Temporal is away');
      told.push([id, event]);
      return id === 'job-key';
    },
  });
  const open = async (path: string) =>
    app.inject({ method: 'GET', url: `/return/${path}` });

  expect((await open('job-key?sessionId=s&status=verified')).body).toMatch(
    /Thank you.*collects your medical records/,
  );
  const second = await open('job-key?aal2SessionId=aal2_x&status=verified');
  expect([second.statusCode, second.headers['referrer-policy']]).toEqual([
    200,
    'no-referrer',
  ]);
  expect(second.body).not.toContain('aal2_x');
  expect(
    (await open('job-key?aal2SessionId=aal2_x&status=failed')).body,
  ).toMatch(
    /Not confirmed.*cannot be requested on your behalf.*ask the organization/,
  );
  expect(told).toEqual([
    ['job-key', { aal2SessionId: undefined }],
    ['job-key', { aal2SessionId: 'aal2_x' }],
    ['job-key', {}],
  ]);
  expect((await open('another?status=verified')).statusCode).toBe(404);
  expect((await open('no%20id')).statusCode).toBe(404);
  // The onboarding looks by itself then.
  expect((await open('away?status=verified')).statusCode).toBe(200);
});
