import {
  BULK_CREATE_MESSAGES,
  type BulkPatientCreateInput,
} from '../../../contract/bulk-create-workflow.ts';
import {
  bulkPatientCreateWorkflowId,
  PRIORITY,
  WORKFLOW_TYPES,
} from '../../../contract/temporal.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  createBackground,
  startOnce,
  type WorkflowStart,
} from '../../platform/workflows/start-workflow.ts';
import {
  markUploadSignalled,
  readBulkRequest,
  requestRows,
} from './request-store.ts';

export type BulkLauncher = ReturnType<typeof createBulkLauncher>;

/**
 * Starts and signals the workflow of a committed bulk create. What fails in the
 * background is repeated by `reconcile`.
 */
export function createBulkLauncher(
  deps: Pick<Platform, 'store' | 'temporal' | 'logger'>,
) {
  const { store, temporal } = deps;
  const background = createBackground(deps.logger);

  async function start(
    accountId: string,
    requestId: string,
    how: Pick<WorkflowStart, 'replacesRunning' | 'wasSeen' | 'signal'> = {},
  ): Promise<'open' | 'closed'> {
    const request = await store.asAccount(accountId, (tx) =>
      readBulkRequest(tx, requestId),
    );
    if (request === undefined) return 'closed';
    const input: BulkPatientCreateInput = {
      accountId,
      requestId,
      // A file that has been uploaded is not waited for, whatever an earlier
      // execution was signalled.
      uploadExpiresAt: (request.status === 'processing'
        ? new Date()
        : request.uploadExpiresAt
      ).toISOString(),
    };
    const state = await startOnce(temporal, {
      type: WORKFLOW_TYPES.bulkPatientCreate,
      id: bulkPatientCreateWorkflowId(requestId),
      input,
      accountId,
      requestId,
      priority: PRIORITY.bulk,
      searchAttributes: [
        { key: searchAttribute.queryStatus, value: request.status },
      ],
      summary: request.dryRun ? 'Bulk create (dry run)' : 'Bulk create',
      isOpen: () =>
        store.asAccount(accountId, (tx) =>
          requestRows.isOpen(tx, { requestId }),
        ),
      ...how,
    });
    await store.asAccount(accountId, (tx) =>
      requestRows.markSeen(tx, { requestId }),
    );
    return state;
  }

  /** Signals the upload and waits for it; starts the workflow if none runs. */
  async function signalUpload(
    accountId: string,
    requestId: string,
  ): Promise<'open' | 'closed'> {
    const state = await start(accountId, requestId, {
      signal: BULK_CREATE_MESSAGES.uploaded,
    });
    if (state === 'closed') return state;
    await store.asAccount(accountId, (tx) =>
      markUploadSignalled(tx, requestId),
    );
    return state;
  }

  return {
    /**
     * Starts the workflow and waits for the start. Safe to repeat. Returns
     * `closed` when the workflow has already ended.
     */
    start: (accountId: string, requestId: string, wasSeen = false) =>
      start(accountId, requestId, { wasSeen }),
    /** Starts a stuck workflow anew; it goes on from the request's row. */
    async replace(accountId: string, requestId: string): Promise<void> {
      await start(accountId, requestId, { replacesRunning: true });
    },
    signalUpload,
    /** Starts the workflow in the background. */
    launch: (accountId: string, requestId: string): void =>
      background.run(
        'the workflow of a bulk create could not be started; reconcile starts it later',
        { bulkRequestId: requestId },
        () => start(accountId, requestId),
      ),
    /** Signals the upload to the workflow in the background. */
    announceUpload: (accountId: string, requestId: string): void =>
      background.run(
        'an upload could not be signalled to its workflow; reconcile repeats it later',
        { bulkRequestId: requestId },
        () => signalUpload(accountId, requestId),
      ),
    /** Resolves when all background work has finished. */
    drain: () => background.drain(),
  };
}
