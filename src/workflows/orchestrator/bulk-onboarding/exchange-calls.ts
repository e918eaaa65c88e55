import {
  ActivityCancellationType,
  type ActivityOptions,
  proxyActivities,
} from '@temporalio/workflow';
import type { BulkFileActivities } from '../../../activities/orchestrator/bulk-onboarding.ts';
import type { BulkOnboardingInput } from '../../../contract/bulk-onboarding.ts';
import { proxyEndpoints } from '../endpoint-proxies.ts';

const { reads, writes } = proxyEndpoints();

/** For calls whose caller waits for the answer. */
const SOON: ActivityOptions = { scheduleToCloseTimeout: '1m' };

/** The transfer itself fails when no byte has moved for 45 s. */
const transfers: ActivityOptions = {
  startToCloseTimeout: '30m',
  heartbeatTimeout: '1m',
  retry: {
    initialInterval: '1s',
    backoffCoefficient: 2,
    maximumInterval: '15s',
  },
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
};

/**
 * Retried while the upload URL is valid: 10 minutes, and an upload that has
 * begun in time may finish.
 */
const uploads = proxyActivities<BulkFileActivities>({
  ...transfers,
  scheduleToCloseTimeout: '40m',
});

const downloads = proxyActivities<BulkFileActivities>({
  ...transfers,
  retry: { ...transfers.retry, maximumInterval: '5m' },
  scheduleToCloseTimeout: '24h',
});

const deletions = proxyActivities<BulkFileActivities>({
  retry: {
    initialInterval: '1s',
    backoffCoefficient: 2,
    maximumInterval: '1m',
  },
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '2m',
});

/**
 * The exchange operations and file transfers of one bulk onboarding. A failed
 * read is made up for by the next poll. The ids of the writes are our own, not
 * Temporal's counter: idempotency keys are made of them, and they must name the
 * same call after a reset or a continue-as-new.
 */
export function bulkCalls({
  exchange,
  facilityId,
  dryRun,
  file,
}: BulkOnboardingInput) {
  return {
    /** `attempt` counts the requests of this onboarding from 1. */
    startBulkCreate: (attempt: number) =>
      writes(`start-bulk-create-${attempt}`, {
        summary: 'Request an upload URL from the exchange',
      }).startBulkCreate({ exchange, query: { facilityId, dryRun } }),
    upload: (requestId: string, uploadUrl: string) =>
      uploads.uploadBulkFile.executeWithOptions(
        { summary: `Upload the file (${Math.ceil(file.sizeBytes / 1024)} KB)` },
        [{ exchange, requestId, uploadUrl, file }],
      ),
    getBulkCreate: (requestId: string) =>
      reads.getBulkCreate.executeWithOptions(
        { summary: 'No webhook yet: poll the request' },
        [{ exchange, params: { requestId } }],
      ),
    takeResult: (requestId: string, link: string | undefined) =>
      downloads.takeBulkResult.executeWithOptions(
        { summary: 'Read the result CSV and collect the rows to correct' },
        [{ exchange, requestId, file, link }],
      ),
    /** `number` counts the pauses and resumes of this onboarding from 1. */
    pause: (requestId: string, number: number) =>
      writes(`pause-${number}`, {
        ...SOON,
        summary: 'Pause the request',
      }).pauseBulkCreate({
        exchange,
        params: { requestId },
      }),
    resume: (requestId: string, number: number) =>
      writes(`resume-${number}`, {
        ...SOON,
        summary: 'Resume the request',
      }).resumeBulkCreate({
        exchange,
        params: { requestId },
      }),
    cancel: (requestId: string) =>
      writes(`cancel-${requestId}`, {
        summary: 'Cancel the request',
        scheduleToCloseTimeout: '2m',
      }).cancelBulkCreate({ exchange, params: { requestId } }),
    discardUpload: () =>
      deletions.discardFiles.executeWithOptions(
        { summary: 'Delete our copy of the file' },
        [{ refs: [file.ref] }],
      ),
  };
}

export type BulkCalls = ReturnType<typeof bulkCalls>;
