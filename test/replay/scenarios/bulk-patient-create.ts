import { ApplicationFailure } from '@temporalio/common';
import type { BulkActivities } from '../../../src/activities/exchange/bulk-create.ts';
import type { BulkCounts } from '../../../src/contract/bulk-create.ts';
import {
  BULK_CREATE_MESSAGES,
  BULK_FAILURE_TYPES,
  type BulkPatientCreateInput,
  type RowsHandled,
  type UploadState,
} from '../../../src/contract/bulk-create-workflow.ts';
import {
  bulkPatientCreateWorkflowId,
  WORKFLOW_TYPES,
} from '../../../src/contract/temporal.ts';
import { ACCOUNT_ID, inTurn, REQUEST_ID, type Scenario } from './scenario.ts';

const IN_TIME = '2100-01-01T00:00:00.000Z';
const counts = (handled: number): BulkCounts => ({
  rows: 30,
  handled,
  created: handled,
  updated: 0,
  failed: 0,
});
const uploaded: UploadState = { state: 'uploaded' };
const stretch = (
  handled: number,
  more: Partial<RowsHandled> = {},
): RowsHandled => ({
  done: false,
  counts: counts(handled),
  rowsPerSecond: 10,
  secondsLeft: 3,
  ...more,
});

const bulkCreate = (
  activities: Partial<BulkActivities>,
  uploadExpiresAt = IN_TIME,
): Omit<Scenario, 'meanwhile'> => ({
  workflowType: WORKFLOW_TYPES.bulkPatientCreate,
  workflowId: bulkPatientCreateWorkflowId(REQUEST_ID),
  args: [
    {
      accountId: ACCOUNT_ID,
      requestId: REQUEST_ID,
      uploadExpiresAt,
    } satisfies BulkPatientCreateInput,
  ],
  activities: {
    exchange: {
      lookForUpload: inTurn<UploadState>(uploaded),
      checkUpload: async () => ({ kind: 'ok', rows: 30 }),
      handleRows: inTurn(stretch(10), stretch(30, { done: true })),
      finishBulkCreate: async () => ({
        kind: 'completed',
        counts: counts(30),
        sweep: true,
      }),
      setBulkPaused: async () => undefined,
      endBulkCreate: async ({ reason }) => ({ status: 'failed', reason }),
      ...activities,
    } satisfies Partial<BulkActivities>,
  },
});
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export const bulkPatientCreateScenarios: Record<string, Scenario> = {
  /** Looked at once in vain; paused and resumed; its sweep is started. */
  'bulk-patient-create/uploaded-paused-completed-v1': {
    ...bulkCreate({
      lookForUpload: inTurn<UploadState>(
        { state: 'waiting', waitMs: 60_000 },
        uploaded,
      ),
    }),
    async meanwhile(handle) {
      await handle.signal(BULK_CREATE_MESSAGES.uploaded);
      await pause(500);
      await handle.executeUpdate(BULK_CREATE_MESSAGES.pause);
      await handle.signal(BULK_CREATE_MESSAGES.uploaded);
      await pause(500);
      await handle.executeUpdate(BULK_CREATE_MESSAGES.resume);
    },
  },
  /**
   * The row is paused, and no command of this workflow did it: PostgreSQL or
   * Temporal was restored.
   */
  'bulk-patient-create/found-paused-v1': {
    ...bulkCreate({
      handleRows: inTurn(
        stretch(10, { stopped: 'paused' }),
        stretch(30, { done: true }),
      ),
    }),
    async meanwhile(handle) {
      await handle.signal(BULK_CREATE_MESSAGES.uploaded);
      await pause(1_000);
      await handle.executeUpdate(BULK_CREATE_MESSAGES.resume);
    },
  },
  'bulk-patient-create/expired-v1': bulkCreate(
    {
      lookForUpload: inTurn<UploadState>(
        { state: 'waiting', waitMs: 1_000 },
        { state: 'expired' },
      ),
    },
    '2026-11-21T12:00:00.000Z',
  ),
  'bulk-patient-create/refused-v1': bulkCreate(
    {
      checkUpload: async () => ({
        kind: 'refused',
        reason: 'a column is missing',
      }),
    },
    '2026-11-21T12:00:00.000Z',
  ),
  'bulk-patient-create/unreadable-v1': bulkCreate(
    {
      handleRows: inTurn<RowsHandled>(
        stretch(10),
        ApplicationFailure.nonRetryable(
          'cannot be read',
          BULK_FAILURE_TYPES.unreadableUpload,
        ),
      ),
    },
    '2026-11-21T12:00:00.000Z',
  ),
  'bulk-patient-create/cancelled-v1': {
    ...bulkCreate({}),
    async meanwhile(handle) {
      await handle.executeUpdate(BULK_CREATE_MESSAGES.cancel);
    },
  },
  'bulk-patient-create/cancelled-by-operator-v1': {
    ...bulkCreate({}),
    async meanwhile(handle) {
      await pause(500);
      await handle.cancel();
    },
  },
};
