import type { Client } from '@temporalio/client';
import {
  QUERY_SWEEP_MESSAGES as MESSAGES,
  type QuerySweepProgress,
} from '../../contract/bulk-create-workflow.ts';
import { querySweepWorkflowId } from '../../contract/temporal.ts';
import type { Store } from '../platform/database/database.ts';
import { ConflictError, NotFoundError, UnavailableError } from '../platform/errors.ts';
import { commandWorkflow } from '../platform/workflows/workflow-command.ts';
import { launchSweep } from './launcher.ts';
import { readSweepCounts } from './sweep-store.ts';

/** Control of the post-import queries. Each function returns the progress afterwards, and throws 404, 409 or 503. */
export interface SweepControl {
  /** Starts no further queries; queries that run continue. */
  pauseSweep(accountId: string, requestId: string): Promise<QuerySweepProgress>;
  resumeSweep(accountId: string, requestId: string): Promise<QuerySweepProgress>;
  /** Starts no further queries, for good; queries that run continue. */
  cancelSweep(accountId: string, requestId: string): Promise<QuerySweepProgress>;
}

export function createSweepControl(deps: {
  store: Store;
  temporal: Client;
  commandTimeoutMs?: number;
}): SweepControl {
  const view = async (accountId: string, requestId: string): Promise<QuerySweepProgress> => {
    const sweep = await deps.store.asAccount(accountId, (tx) => readSweepCounts(tx, requestId));
    if (sweep === undefined) throw new NotFoundError('Post-import queries of this bulk create');
    return sweep;
  };
  const command = (requestId: string, name: string) =>
    commandWorkflow(deps.temporal, querySweepWorkflowId(requestId), name, {
      timeoutMs: deps.commandTimeoutMs,
      endIfStuck: name === MESSAGES.cancel,
    });

  /** Sends a command to the workflow, which commits the new state before it responds. Starts the workflow if none runs. */
  async function steer(accountId: string, requestId: string, name: string): Promise<QuerySweepProgress> {
    const { state } = await view(accountId, requestId);
    if (state === 'completed' || state === 'cancelled')
      throw new ConflictError(`The post-import queries have ended (${state})`);
    if (!(await command(requestId, name))) {
      await launchSweep(deps, accountId, requestId).catch((cause: unknown) => {
        throw new UnavailableError('The workflow service cannot be reached now; try again later', { cause });
      });
      if (!(await command(requestId, name))) throw new ConflictError('The post-import queries have ended');
    }
    return view(accountId, requestId);
  }

  return {
    pauseSweep: (accountId, requestId) => steer(accountId, requestId, MESSAGES.pause),
    resumeSweep: (accountId, requestId) => steer(accountId, requestId, MESSAGES.resume),
    cancelSweep: (accountId, requestId) => steer(accountId, requestId, MESSAGES.cancel),
  };
}
