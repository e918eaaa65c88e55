import type { bulkCreateEndpoints } from '../../../../../contract/bulk-create-endpoints.ts';
import type { querySweepEndpoints } from '../../../../../contract/query-sweep-endpoints.ts';
import { AT, IDS, link, ONE_ITEM, type OperationExamples } from './example.ts';

const requestId = IDS.bulkCreate;
const bulkCreate = { requestId, facilityId: IDS.facility, params: { dryRun: false }, createdAt: AT };
const processing = {
  ...bulkCreate,
  status: 'processing',
  counts: { rows: 1200, handled: 400, created: 371, updated: 26, failed: 3 },
};
const completed = {
  ...bulkCreate,
  status: 'completed',
  counts: { rows: 1200, handled: 1200, created: 1109, updated: 84, failed: 7 },
};
const sweep = { requestId, patients: 1193, started: 240, skipped: 2, failed: 0, open: 18 };

export const bulkCreateExamples: OperationExamples<keyof typeof bulkCreateEndpoints> = {
  startBulkCreate: {
    query: { facilityId: IDS.facility, dryRun: false },
    answer: { ...bulkCreate, status: 'waiting', uploadUrl: link('bulk-upload') },
  },
  getBulkCreate: { params: { requestId }, answer: { ...completed, result: link('bulk-result') } },
  listBulkCreates: { query: { count: 50 }, answer: { bulkCreates: [completed], meta: ONE_ITEM } },
  pauseBulkCreate: { params: { requestId }, answer: { ...processing, paused: true } },
  resumeBulkCreate: { params: { requestId }, answer: processing },
  cancelBulkCreate: {
    params: { requestId },
    answer: { ...processing, status: 'failed', reason: 'cancelled' },
  },
};

export const querySweepExamples: OperationExamples<keyof typeof querySweepEndpoints> = {
  pauseQuerySweep: { params: { requestId }, answer: { ...sweep, state: 'paused' } },
  resumeQuerySweep: { params: { requestId }, answer: { ...sweep, state: 'running' } },
  cancelQuerySweep: { params: { requestId }, answer: { ...sweep, state: 'cancelled' } },
};
