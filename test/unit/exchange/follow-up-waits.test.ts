import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { createFollowUpActivities } from '../../../src/activities/exchange/discharge-follow-up.ts';
import {
  type FollowUpRounds,
  NoRoomError,
} from '../../../src/exchange/messaging/notifications/follow-up/rounds.ts';

const OF = { accountId: 'a', notificationId: 'n', round: 1 };
const refusing = (error: Error) => {
  const refuse = () => Promise.reject(error);
  return createFollowUpActivities({
    rounds: { ask: refuse, look: refuse, end: refuse } as FollowUpRounds,
  });
};
const waitAfter = async (retryAfterMs: number): Promise<number> => {
  const failure = await refusing(new NoRoomError(retryAfterMs))
    .askAfterDischarge(OF)
    .catch((error: unknown) => error);
  if (!(failure instanceof ApplicationFailure)) throw failure;
  return Number(failure.nextRetryDelay);
};

describe('a follow-up for which a source has no room', () => {
  test('waits as long as the limit or the source says, and up to five seconds more, not all at the same moment', async () => {
    for (const retryAfterMs of [0, 7_000, 45 * 60_000]) {
      const waits = await Promise.all(
        Array.from({ length: 20 }, () => waitAfter(retryAfterMs)),
      );
      expect(Math.min(...waits)).toBeGreaterThanOrEqual(retryAfterMs);
      expect(Math.max(...waits)).toBeLessThanOrEqual(retryAfterMs + 5_000);
      expect(new Set(waits).size).toBeGreaterThan(1);
    }
  });

  test('leaves the wait after any other failure to the retry policy', async () => {
    const error = new Error('the database is away');
    await expect(refusing(error).askAfterDischarge(OF)).rejects.toBe(error);
  });
});
