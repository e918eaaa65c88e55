import { log } from '@temporalio/activity';
import type { FailedAttempt, SourceStepInput } from '../../contract/network-query-steps.ts';
import type { SourceType } from '../../contract/primitives.ts';
import { takeAbandonedJobs } from '../../exchange/network-query/abandoned-job-store.ts';
import { newestAttempt, readAttempt } from '../../exchange/network-query/attempt-store.ts';
import { callbackHash, callbackToken } from '../../exchange/network-query/callback-token.ts';
import { failAttempt } from '../../exchange/network-query/endings.ts';
import { openAttempt, QueryGone } from '../../exchange/network-query/open-attempt.ts';
import type { Store } from '../../exchange/platform/database/database.ts';
import type { SourceConnections } from '../../exchange/source-connections/connections.ts';
import type { SourceConnector } from '../../exchange/sources/connector.ts';
import type { PurposeOfUse } from '../../exchange/sources/source-config.ts';
import { cancelParts } from './network-query-parts.ts';

export type RecordActivities = ReturnType<typeof createRecordActivities>;

/** How long to wait for a source to acknowledge a cancellation, which is only a courtesy to it. */
const CANCEL_TIMEOUT_MS = 5_000;

/** What the workflow itself records. Each activity may run twice and takes effect once. */
export function createRecordActivities(deps: {
  store: Store;
  connectors: Record<SourceType, SourceConnector>;
  /** Connections of accounts that have their own. */
  connections?: SourceConnections;
  callbackKey: string;
}) {
  const { store, connections } = deps;

  async function stopSource(failed: FailedAttempt): Promise<void> {
    const work = await store.asAccount(failed.accountId, (tx) => readAttempt(tx, failed));
    if (work !== undefined && connections !== undefined)
      await cancelParts({ store, connections }, failed, work);
    if (work?.job == null) return;
    try {
      await deps.connectors[failed.source].cancel(work.job, AbortSignal.timeout(CANCEL_TIMEOUT_MS));
    } catch {
      log.info('the source did not accept the cancellation', { source: failed.source });
    }
  }

  /** Cancels the jobs of an attempt that was deleted with its patient. */
  async function stopAbandonedJobs(step: SourceStepInput): Promise<void> {
    const abandoned = await store.asAccount(step.accountId, (tx) => takeAbandonedJobs(tx, step));
    const connectorTo = async (id: string | null, purpose: PurposeOfUse) =>
      id === null ? deps.connectors[step.source] : connections?.connector(step.accountId, id, purpose);
    for (const { connectionId, purpose, job } of abandoned) {
      try {
        const connector = await connectorTo(connectionId, purpose);
        await connector?.cancel(job, AbortSignal.timeout(CANCEL_TIMEOUT_MS));
      } catch {
        log.info('the source did not accept the cancellation', { source: step.source });
      }
    }
  }

  return {
    /** Ends an attempt as failed. Without `retryAfterMs`, this is the end of the source, and a webhook announces it. */
    async recordFailedAttempt(failed: FailedAttempt): Promise<void> {
      await store.asAccount(failed.accountId, (tx) => failAttempt(tx, failed, failed));
      // After the end: a job that is accepted from here on is cancelled by the step that asked for it (`keepJob`).
      if (failed.abandoned) await stopSource(failed);
      await stopAbandonedJobs(failed);
    },

    /** Opens the next attempt at a source, so that readers see it at once. */
    async openNextAttempt(of: SourceStepInput): Promise<{ attempt: number }> {
      const opened = store.asAccount(of.accountId, async (tx) => {
        const newest = await newestAttempt(tx, of.requestId, of.source);
        // A running attempt was opened by an earlier execution of this step.
        const attempt = newest?.status === 'running' ? newest.attempt : (newest?.attempt ?? 0) + 1;
        const token = callbackToken(deps.callbackKey, of.requestId, of.source, attempt);
        await openAttempt(tx, { ...of, attempt }, callbackHash(token));
        return { attempt };
      });
      // The query was deleted: the first step of the attempt will find that too, and end the source.
      return opened.catch((error: unknown) => {
        if (error instanceof QueryGone) return { attempt: of.attempt };
        throw error;
      });
    },
  };
}
