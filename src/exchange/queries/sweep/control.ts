import type { Client } from '@temporalio/client';
import {
  QUERY_SWEEP_MESSAGES as MESSAGES,
  type QuerySweepProgress,
} from '../../../contract/bulk-create-workflow.ts';
import { querySweepWorkflowId } from '../../../contract/temporal.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import { ConflictError, NotFoundError } from '../../platform/errors.ts';
import { commandWorkflow, endStuckWorkflow, unavailable } from '../../platform/workflows/workflow-command.ts';
import { launchSweep } from './launcher.ts';
import { readSweepCounts, setSweepState } from './sweep-store.ts';
import type { SweepState } from './tables.ts';

/** Control of the post-import queries. Each function returns the progress afterwards, and throws 404, 409 or 503. */
export interface SweepControl {
  /** Starts no further queries; queries that run continue. */
  pauseSweep(accountId: string, requestId: string): Promise<QuerySweepProgress>;
  resumeSweep(accountId: string, requestId: string): Promise<QuerySweepProgress>;
  /** Starts no further queries, for good; queries that run continue. */
  cancelSweep(accountId: string, requestId: string): Promise<QuerySweepProgress>;
  /** Progress of the post-import queries; undefined before they have begun, and for a dry run. */
  readCounts(tx: AccountTx, requestId: string): Promise<QuerySweepProgress | undefined>;
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
    });

  /**
   * Sends a command to the workflow, which commits the new state before it responds. Starts the workflow if none runs. For a
   * stuck one, the state is committed here, and a new workflow reads it.
   */
  async function steer(
    accountId: string,
    requestId: string,
    name: string,
    wanted: SweepState,
  ): Promise<QuerySweepProgress> {
    const { state } = await view(accountId, requestId);
    if (state === 'completed' || state === 'cancelled')
      throw new ConflictError(`The post-import queries have ended (${state})`);
    let outcome = await command(requestId, name);
    if (outcome === 'closed') {
      await launchSweep(deps, accountId, requestId).catch(unavailable);
      outcome = await command(requestId, name);
    }
    if (outcome === 'closed') throw new ConflictError('The post-import queries have ended');
    if (outcome === 'stuck') {
      if (state === wanted) throw new ConflictError(`The post-import queries are already ${wanted}`);
      await deps.store.asAccount(accountId, (tx) => setSweepState(tx, requestId, wanted));
      if (wanted === 'cancelled')
        await endStuckWorkflow(deps.temporal, querySweepWorkflowId(requestId)).catch(unavailable);
      else await launchSweep(deps, accountId, requestId, true).catch(unavailable);
    }
    return view(accountId, requestId);
  }

  return {
    readCounts: readSweepCounts,
    pauseSweep: (accountId, requestId) => steer(accountId, requestId, MESSAGES.pause, 'paused'),
    resumeSweep: (accountId, requestId) => steer(accountId, requestId, MESSAGES.resume, 'running'),
    cancelSweep: (accountId, requestId) => steer(accountId, requestId, MESSAGES.cancel, 'cancelled'),
  };
}
