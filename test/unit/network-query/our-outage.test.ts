import { ApplicationFailure } from '@temporalio/activity';
import { expect, test, vi } from 'vitest';
import { describeFailure } from '../../../src/activities/exchange/network-query.ts';
import { OUR_OUTAGE_TYPES } from '../../../src/contract/network-query-workflow.ts';
import { BlobStoreUnavailableError } from '../../../src/shared/blobs/blob-store.ts';

const MINUTE_MS = 60_000;
const refused = () =>
  Object.assign(new Error('connect ECONNREFUSED 10.0.0.5'), {
    code: 'ECONNREFUSED',
  });
const described = (error: Error) => {
  const failure = describeFailure(error);
  if (!(failure instanceof ApplicationFailure))
    throw new Error('not described');
  const { type, message, nonRetryable, details } = failure;
  return { type, message, nonRetryable, since: details?.[0] };
};

test('a step that fails because our database or file store is away names it, and since when it has been', () => {
  vi.useFakeTimers({ now: new Date('2026-11-22T14:02:00Z') });
  try {
    const first = described(refused());
    expect(first).toEqual({
      type: OUR_OUTAGE_TYPES.database,
      message: 'Our database is away',
      nonRetryable: false,
      since: '2026-11-22T14:02:00.000Z',
    });
    vi.advanceTimersByTime(5 * MINUTE_MS);
    expect(described(refused())).toEqual(first);
    expect(described(new BlobStoreUnavailableError('full'))).toMatchObject({
      type: OUR_OUTAGE_TYPES['file store'],
      since: '2026-11-22T14:07:00.000Z',
    });
    // An hour later it is another outage.
    vi.advanceTimersByTime(60 * MINUTE_MS);
    expect(described(refused()).since).toBe('2026-11-22T15:07:00.000Z');
  } finally {
    vi.useRealTimers();
  }
});
