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

/** Each answers the sweep as it is then. 404, 409, 503. */
export interface SweepControl {
  /** No further query is started; those under way go on. */
  pauseSweep(accountId: string, requestId: string): Promise<QuerySweepProgress>;
  resumeSweep(accountId: string, requestId: string): Promise<QuerySweepProgress>;
  /** For good. */
  cancelSweep(accountId: string, requestId: string): Promise<QuerySweepProgress>;
}

export function createSweepControl(deps: {
  store: Store;
  temporal: Client;
  commandTimeoutMs?: number;
}): SweepControl {
  const view = async (accountId: string, requestId: string): Promise<QuerySweepProgress> => {
    const sweep = await deps.store.asAccount(accountId, (tx) => readSweepCounts(tx, requestId));
    if (sweep === undefined) throw new NotFoundError('Sweep of queries of this bulk create');
    return sweep;
  };
  const command = (requestId: string, name: string) =>
    commandWorkflow(deps.temporal, querySweepWorkflowId(requestId), name, {
      timeoutMs: deps.commandTimeoutMs,
    });

  /** The workflow writes the new state before it answers. Where none runs it is started now. */
  async function steer(accountId: string, requestId: string, name: string): Promise<QuerySweepProgress> {
    const { state } = await view(accountId, requestId);
    if (state === 'completed' || state === 'cancelled')
      throw new ConflictError(`The sweep has ended (${state})`);
    if (!(await command(requestId, name))) {
      await launchSweep(deps, accountId, requestId).catch((cause: unknown) => {
        throw new UnavailableError('The workflow service cannot be reached now; try again', { cause });
      });
      if (!(await command(requestId, name))) throw new ConflictError('The sweep has ended');
    }
    return view(accountId, requestId);
  }

  return {
    pauseSweep: (accountId, requestId) => steer(accountId, requestId, MESSAGES.pause),
    resumeSweep: (accountId, requestId) => steer(accountId, requestId, MESSAGES.resume),
    cancelSweep: (accountId, requestId) => steer(accountId, requestId, MESSAGES.cancel),
  };
}
