import type { Client } from '@temporalio/client';
import { BULK_END_REASONS } from '../../contract/bulk-create-steps.ts';
import { BULK_CREATE_MESSAGES as MESSAGES } from '../../contract/bulk-create-workflow.ts';
import { bulkPatientCreateWorkflowId } from '../../contract/temporal.ts';
import type { Store } from '../platform/database/database.ts';
import { ConflictError, NotFoundError, UnavailableError } from '../platform/errors.ts';
import { commandWorkflow } from '../platform/workflows/workflow-command.ts';
import type { BulkLauncher } from './launcher.ts';
import { type BulkRequestView, readBulkRequest } from './request-store.ts';
import { failBulkCreate } from './transitions.ts';

/** Control of a bulk create. Each function returns the request afterwards, and throws 404, 409 or 503. */
export interface BulkControl {
  /** Processes no further rows; rows already processed stay. */
  pauseBulkCreate(accountId: string, requestId: string): Promise<BulkRequestView>;
  resumeBulkCreate(accountId: string, requestId: string): Promise<BulkRequestView>;
  /** Ends the request as failed; also while it waits for its file. */
  cancelBulkCreate(accountId: string, requestId: string): Promise<BulkRequestView>;
}

export function createBulkControl(deps: {
  store: Store;
  temporal: Client;
  launcher: BulkLauncher;
  commandTimeoutMs?: number;
}): BulkControl {
  const { store, launcher } = deps;
  const command = (requestId: string, name: string) =>
    commandWorkflow(deps.temporal, bulkPatientCreateWorkflowId(requestId), name, {
      timeoutMs: deps.commandTimeoutMs,
      endIfStuck: name === MESSAGES.cancel,
    });

  /** Sends a command to the workflow, starting it if none runs. Returns false when the workflow has ended. */
  async function steer(accountId: string, requestId: string, name: string): Promise<boolean> {
    if (await command(requestId, name)) return true;
    const state = await launcher.start(accountId, requestId).catch((cause: unknown) => {
      throw new UnavailableError('The workflow service cannot be reached now; try again later', { cause });
    });
    return state === 'open' && command(requestId, name);
  }

  const view = (accountId: string, requestId: string): Promise<BulkRequestView> =>
    store.asAccount(accountId, async (tx) => {
      const request = await readBulkRequest(tx, requestId);
      if (request === undefined) throw new NotFoundError('Bulk create');
      return request;
    });

  async function openRequest(accountId: string, requestId: string): Promise<BulkRequestView> {
    const request = await view(accountId, requestId);
    if (request.status === 'waiting' || request.status === 'processing') return request;
    throw new ConflictError(`The bulk create has ended (${request.status})`);
  }

  /** Ends a request whose workflow has ended without it, and which would otherwise stay open. */
  async function end(accountId: string, requestId: string, reason: string): Promise<void> {
    await store.asAccount(accountId, (tx) => failBulkCreate(tx, requestId, reason));
  }

  async function pauseOrResume(accountId: string, requestId: string, paused: boolean) {
    const request = await openRequest(accountId, requestId);
    if (request.status === 'waiting' && paused)
      throw new ConflictError('No file has been uploaded yet, so there is nothing to pause');
    if (request.paused === paused)
      throw new ConflictError(paused ? 'The bulk create is already paused' : 'The bulk create is not paused');
    const taken = await steer(accountId, requestId, paused ? MESSAGES.pause : MESSAGES.resume);
    if (!taken) {
      await end(accountId, requestId, BULK_END_REASONS.workflowGone);
      await openRequest(accountId, requestId);
    }
    return view(accountId, requestId);
  }

  return {
    pauseBulkCreate: (accountId, requestId) => pauseOrResume(accountId, requestId, true),
    resumeBulkCreate: (accountId, requestId) => pauseOrResume(accountId, requestId, false),
    async cancelBulkCreate(accountId, requestId) {
      await openRequest(accountId, requestId);
      if (!(await steer(accountId, requestId, MESSAGES.cancel)))
        await end(accountId, requestId, BULK_END_REASONS.cancelled);
      return view(accountId, requestId);
    },
  };
}
