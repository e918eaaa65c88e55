import { ApplicationFailure } from '@temporalio/activity';
import type { FollowUpStep } from '../../contract/discharge-follow-up-workflow.ts';
import {
  type FollowUpRounds,
  NoRoomError,
} from '../../exchange/messaging/notifications/follow-up/rounds.ts';

export type FollowUpActivities = ReturnType<typeof createFollowUpActivities>;

/**
 * Added to the wait for the source's limit, at random, so that the waiting
 * follow-ups do not all ask at the same moment.
 */
const JITTER_MAX_MS = 5_000;

/**
 * The steps of a `dischargeFollowUp`. Each reads the follow-up's state from
 * PostgreSQL, so each may run twice.
 */
export function createFollowUpActivities({
  rounds,
}: {
  rounds: FollowUpRounds;
}) {
  return {
    async askAfterDischarge(of: {
      accountId: string;
      notificationId: string;
      round: number;
    }): Promise<FollowUpStep> {
      try {
        return await rounds.ask(of);
      } catch (error) {
        if (!(error instanceof NoRoomError)) throw error;
        throw ApplicationFailure.create({
          type: 'NoRoom',
          message: error.message,
          nextRetryDelay: Math.ceil(
            error.retryAfterMs + JITTER_MAX_MS * Math.random(),
          ),
        });
      }
    },

    lookAfterDischarge: (of: {
      accountId: string;
      notificationId: string;
    }): Promise<FollowUpStep> => rounds.look(of),

    endFollowUp: (of: {
      accountId: string;
      notificationId: string;
      state: 'no-new-data' | 'cancelled';
      reason: string;
    }): Promise<FollowUpStep> => rounds.end(of, of.state, of.reason),
  };
}
