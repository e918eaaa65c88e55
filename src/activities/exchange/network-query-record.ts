import { setTimeout as delay } from 'node:timers/promises';
import type { FailedAttempt, SourceStepInput } from '../../contract/network-query-workflow.ts';
import { cancelJobsOf, type JobCancellation } from '../../exchange/queries/network-query/cancel-jobs.ts';
import { failAttempt } from '../../exchange/queries/network-query/endings.ts';
import { openNextAttempt } from '../../exchange/queries/network-query/step.ts';
import { QueryGone } from '../../exchange/queries/network-query/step-errors.ts';

/** A cancellation at a source takes up to 5 s and goes on after the step; what the process cannot finish, `reconcile` does. */
const CANCEL_AWAITED_MS = 500;

export type RecordActivities = ReturnType<typeof createRecordActivities>;

/** What the workflow itself records. Each activity may run twice and takes effect once. */
export function createRecordActivities(deps: JobCancellation & { callbackKey: string }) {
  const { store } = deps;

  return {
    /** Ends an attempt as failed. Without `retryAfterMs`, this is the end of the source, and a webhook announces it. */
    async recordFailedAttempt(failed: FailedAttempt): Promise<void> {
      await store.asAccount(failed.accountId, (tx) => failAttempt(tx, failed, failed));
      // Also those of a query that was deleted. A job that is accepted from here on is cancelled by the step that asked for it.
      // Not waited for long: a source that hangs must not hold the queue of everybody's small steps.
      await Promise.race([cancelJobsOf(deps, failed), delay(CANCEL_AWAITED_MS, undefined, { ref: false })]);
    },

    /** Opens the next attempt at a source, so that readers see it at once. */
    async openNextAttempt(of: SourceStepInput): Promise<{ attempt: number }> {
      const opened = store.asAccount(of.accountId, (tx) => openNextAttempt(tx, of, deps.callbackKey));
      // The query was deleted: the first step of the attempt will find that too, and end the source.
      return opened.catch((error: unknown) => {
        if (error instanceof QueryGone) return { attempt: of.attempt };
        throw error;
      });
    },
  };
}
