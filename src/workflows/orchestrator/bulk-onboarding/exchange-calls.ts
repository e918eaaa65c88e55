import { ActivityCancellationType, type ActivityOptions, proxyActivities } from '@temporalio/workflow';
import type { BulkFileActivities } from '../../../activities/orchestrator/bulk-onboarding.ts';
import type { EndpointActivities } from '../../../activities/orchestrator/endpoints.ts';
import type { BulkOnboardingInput } from '../../../contract/bulk-onboarding.ts';
import { TASK_QUEUES } from '../../../contract/temporal.ts';

const shared: ActivityOptions = {
  taskQueue: TASK_QUEUES.orchestrator,
  // The client gives up a call after 20 s and says why.
  startToCloseTimeout: '30s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' },
};
/** Exchanges keep an idempotency key for 24 h. */
const writes = proxyActivities<EndpointActivities>({
  ...shared,
  scheduleToCloseTimeout: '23h',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});
/** Somebody waits for the answer. */
const commands = proxyActivities<EndpointActivities>({ ...shared, scheduleToCloseTimeout: '1m' });
/** They can be left at any time, and the next poll makes up for a failed one. */
const reads = proxyActivities<EndpointActivities>({
  ...shared,
  scheduleToCloseTimeout: '2m',
  cancellationType: ActivityCancellationType.TRY_CANCEL,
});
/** Best effort, within a bounded time. */
const cleanUps = proxyActivities<EndpointActivities & BulkFileActivities>({
  ...shared,
  scheduleToCloseTimeout: '2m',
});

/** Without a byte moved for 45 s the transfer gives itself up. */
const moving: ActivityOptions = {
  ...shared,
  startToCloseTimeout: '30m',
  heartbeatTimeout: '1m',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '15s' },
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
};
/** Repeated while the upload URL lives (10 minutes; an upload begun in time counts). */
const uploads = proxyActivities<BulkFileActivities>({ ...moving, scheduleToCloseTimeout: '40m' });
const downloads = proxyActivities<BulkFileActivities>({
  ...moving,
  retry: { ...moving.retry, maximumInterval: '5m' },
  scheduleToCloseTimeout: '24h',
});

/**
 * The calls of one bulk onboarding. The ids of the writes are ours, not counted by Temporal: they are what idempotency
 * keys are made of, and must mean the same call after a reset or continue-as-new.
 */
export function bulkCalls({ exchange, facilityId, dryRun, file }: BulkOnboardingInput) {
  return {
    /** `attempt` counts the requests of this onboarding from 1. */
    startBulkCreate: (attempt: number) =>
      writes.startBulkCreate.executeWithOptions(
        { activityId: `start-bulk-create-${attempt}`, summary: 'Ask the exchange for an upload URL' },
        [{ exchange, query: { facilityId, dryRun } }],
      ),
    upload: (requestId: string, uploadUrl: string) =>
      uploads.uploadBulkFile.executeWithOptions(
        { summary: `Upload the file (${Math.ceil(file.sizeBytes / 1024)} KB)` },
        [{ exchange, requestId, uploadUrl, file }],
      ),
    getBulkCreate: (requestId: string) =>
      reads.getBulkCreate.executeWithOptions({ summary: 'No webhook yet: look at the request' }, [
        { exchange, params: { requestId } },
      ]),
    takeResult: (requestId: string, link: string | undefined) =>
      downloads.takeBulkResult.executeWithOptions(
        { summary: 'Read the result CSV, sort out the rows to correct' },
        [{ exchange, requestId, file, link }],
      ),
    /** `number` counts the commands of this onboarding from 1. */
    pause: (requestId: string, number: number) =>
      commands.pauseBulkCreate.executeWithOptions(
        { activityId: `pause-${number}`, summary: 'Pause the request' },
        [{ exchange, params: { requestId } }],
      ),
    resume: (requestId: string, number: number) =>
      commands.resumeBulkCreate.executeWithOptions(
        { activityId: `resume-${number}`, summary: 'Resume the request' },
        [{ exchange, params: { requestId } }],
      ),
    cancel: (requestId: string) =>
      cleanUps.cancelBulkCreate.executeWithOptions(
        { activityId: `cancel-${requestId}`, summary: 'Cancel the request' },
        [{ exchange, params: { requestId } }],
      ),
    discardUpload: () =>
      cleanUps.discardFiles.executeWithOptions({ summary: 'Delete our copy of the file' }, [
        { refs: [file.ref] },
      ]),
  };
}

export type BulkCalls = ReturnType<typeof bulkCalls>;
