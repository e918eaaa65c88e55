import type { Client } from '@temporalio/client';
import { BULK_CREATE_MESSAGES, type BulkPatientCreateInput } from '../../contract/bulk-create-workflow.ts';
import { bulkPatientCreateWorkflowId, PRIORITY, WORKFLOW_TYPES } from '../../contract/temporal.ts';
import type { Logger } from '../../lib/logger.ts';
import { searchAttribute } from '../../temporal/search-attributes.ts';
import type { Store } from '../platform/database/database.ts';
import { createBackground, startOnce } from '../platform/workflows/start-workflow.ts';
import { markStarted, markTold, readBulkRequest } from './request-store.ts';

const SIGNAL_TIMEOUT_MS = 5_000;

/** Brings a committed bulk create and its workflow together; what fails in the background `reconcile` does again. */
export interface BulkLauncher {
  /** Starts the workflow, soon and in the background. */
  launch(accountId: string, requestId: string): void;
  /** Tells the workflow of the upload, soon and in the background. */
  announceUpload(accountId: string, requestId: string): void;
  /** `launch`, awaited. Starting twice is harmless; `closed` when the workflow has run to its end before. */
  start(accountId: string, requestId: string): Promise<'open' | 'closed'>;
  /** `announceUpload`, awaited; it starts the workflow too if need be. */
  signalUpload(accountId: string, requestId: string): Promise<'open' | 'closed'>;
  /** Resolves when nothing is under way in the background. */
  drain(): Promise<void>;
}

export function createBulkLauncher(deps: { store: Store; temporal: Client; logger: Logger }): BulkLauncher {
  const { store, temporal } = deps;
  const background = createBackground(deps.logger);

  async function start(accountId: string, requestId: string): Promise<'open' | 'closed'> {
    const request = await store.asAccount(accountId, (tx) => readBulkRequest(tx, requestId));
    if (request === undefined) return 'closed';
    const input: BulkPatientCreateInput = {
      accountId,
      requestId,
      uploadExpiresAt: request.uploadExpiresAt.toISOString(),
    };
    const state = await startOnce(temporal, {
      type: WORKFLOW_TYPES.bulkPatientCreate,
      id: bulkPatientCreateWorkflowId(requestId),
      input,
      accountId,
      requestId,
      priority: PRIORITY.bulk,
      searchAttributes: [{ key: searchAttribute.queryStatus, value: request.status }],
      summary: request.dryRun ? 'Bulk create, only checking' : 'Bulk create',
      details: STORY,
    });
    await store.asAccount(accountId, (tx) => markStarted(tx, requestId));
    return state;
  }

  async function signalUpload(accountId: string, requestId: string): Promise<'open' | 'closed'> {
    const state = await start(accountId, requestId);
    if (state === 'closed') return state;
    await temporal.withDeadline(Date.now() + SIGNAL_TIMEOUT_MS, () =>
      temporal.workflow
        .getHandle(bulkPatientCreateWorkflowId(requestId))
        .signal(BULK_CREATE_MESSAGES.uploaded),
    );
    await store.asAccount(accountId, (tx) => markTold(tx, requestId));
    return state;
  }

  return {
    start,
    signalUpload,
    launch: (accountId, requestId) =>
      background.run('bulk create not started yet; reconcile will', { bulkRequestId: requestId }, () =>
        start(accountId, requestId),
      ),
    announceUpload: (accountId, requestId) =>
      background.run('upload not told yet; reconcile will', { bulkRequestId: requestId }, () =>
        signalUpload(accountId, requestId),
      ),
    drain: () => background.drain(),
  };
}

/** Shown on the workflow's page in the Temporal UI. */
const STORY = [
  'Makes patients of the rows of one CSV.',
  '',
  '1. Waits ten minutes for the upload (signal `uploaded`); without one the request is **expired**.',
  '2. **checkUpload** reads the whole file once; a file not in the expected format ends the request as **failed**.',
  '3. **handleRows** creates or updates patients, some seconds at a time, and goes on from the last committed row.',
  '4. **finishBulkCreate** joins the result CSV; then `querySweep` starts the queries of all its patients.',
  '',
  'Steer it with the updates `pause`, `resume` and `cancel`.',
].join('\n');
