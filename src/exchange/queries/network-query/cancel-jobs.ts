import type { SourceStepInput } from '../../../contract/network-query-workflow.ts';
import type { Store } from '../../platform/database/database.ts';
import { itemRecovery, type Recovery } from '../../platform/recovery/recovery.ts';
import { type Connectors, connectorFor } from '../../sources/connections/connections.ts';
import {
  type AbandonedJob,
  abandonedJobsOf,
  jobsToCancel,
  noteFailedTry,
  removeAbandonedJob,
} from './abandoned-job-store.ts';

export interface JobCancellation extends Connectors {
  store: Pick<Store, 'asAccount'>;
}

/** How long to wait for a source to acknowledge a cancellation. */
export const CANCEL_TIMEOUT_MS = 5_000;
const JOBS_PER_ROUND = 20;
/** Concurrent cancellations, because a source that does not answer takes the whole time. */
const AT_ONCE = 10;

/**
 * Cancels what an attempt left at its source. A job is forgotten once the source has acknowledged that, so that the others are
 * taken up by `abandonedJobCancellation`. Safe to repeat: a source that no longer knows a job acknowledges, too.
 */
export async function cancelJobsOf(deps: JobCancellation, step: SourceStepInput): Promise<void> {
  const jobs = await deps.store.asAccount(step.accountId, (tx) => abandonedJobsOf(tx, step));
  await Promise.all(jobs.map((job) => cancel(deps, job)));
}

/** Cancels the jobs whose step was killed before it did, or whose source was down. */
export const abandonedJobCancellation = (
  deps: JobCancellation & { store: Pick<Store, 'asAccount' | 'asSystem'> },
): Recovery =>
  itemRecovery({
    name: 'jobs left at sources',
    limit: JOBS_PER_ROUND,
    atOnce: AT_ONCE,
    find: (limit) => deps.store.asSystem((tx) => jobsToCancel(tx, limit)),
    heal: (job) => cancel(deps, job),
  });

/** Returns whether the source has acknowledged the cancellation. */
async function cancel(deps: JobCancellation, of: AbandonedJob): Promise<boolean> {
  const isAcknowledged = await connectorFor(deps, of)
    .then((connector) => connector.cancel(of.job, AbortSignal.timeout(CANCEL_TIMEOUT_MS)))
    .then(
      () => true,
      () => false,
    );
  await deps.store.asAccount(of.accountId, (tx) =>
    isAcknowledged ? removeAbandonedJob(tx, of.id) : noteFailedTry(tx, of.id),
  );
  return isAcknowledged;
}
