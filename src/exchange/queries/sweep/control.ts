import {
  DEFAULT_SWEEP_PACE,
  QUERY_SWEEP_MESSAGES as MESSAGES,
  type QuerySweepInput,
  type QuerySweepProgress,
} from '../../../contract/bulk-create-workflow.ts';
import {
  PRIORITY,
  querySweepWorkflowId,
  WORKFLOW_TYPES,
} from '../../../contract/temporal.ts';
import { ConflictError, NotFoundError } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { healEach, type Recovery } from '../../platform/recovery/recovery.ts';
import {
  startOnce,
  type WorkflowStart,
  wasEndedByHand,
} from '../../platform/workflows/start-workflow.ts';
import {
  commandWorkflow,
  endStuckWorkflow,
  unavailable,
} from '../../platform/workflows/workflow-command.ts';
import {
  markSweepSeen,
  openSweep,
  readSweepCounts,
  recentlyUnswept,
  type SweepToEnsure,
  setSweepState,
  sweepsToCheck,
  unsweptInSlice,
} from './sweep-store.ts';
import type { SweepState } from './tables.ts';

type SweepDeps = Pick<Platform, 'store' | 'temporal'>;

/**
 * Control of the post-import queries. Each function returns the progress
 * afterwards, and throws 404, 409 or 503.
 */
export type SweepControl = ReturnType<typeof createSweepControl>;

export function createSweepControl(
  deps: SweepDeps & { commandTimeoutMs?: number },
) {
  const view = async (
    accountId: string,
    requestId: string,
  ): Promise<QuerySweepProgress> => {
    const sweep = await deps.store.asAccount(accountId, (tx) =>
      readSweepCounts(tx, requestId),
    );
    if (sweep === undefined)
      throw new NotFoundError('Post-import queries of this bulk create');
    return sweep;
  };
  const command = (requestId: string, name: string) =>
    commandWorkflow(deps.temporal, querySweepWorkflowId(requestId), name, {
      timeoutMs: deps.commandTimeoutMs,
    });

  /**
   * Sends a command to the workflow, which commits the new state before it
   * responds. Starts the workflow if none runs. For a stuck one, the state is
   * committed here, and a new workflow reads it.
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
      await launchSweep(deps, accountId, requestId, { wasSeen: true }).catch(
        unavailable,
      );
      outcome = await command(requestId, name);
    }
    if (outcome === 'closed')
      throw new ConflictError('The post-import queries have ended');
    if (outcome === 'stuck') {
      if (state === wanted)
        throw new ConflictError(
          `The post-import queries are already ${wanted}`,
        );
      await steerStuck(accountId, requestId, wanted);
    }
    return view(accountId, requestId);
  }

  /** Commits the new state here, and ends or replaces the workflow. */
  async function steerStuck(
    accountId: string,
    requestId: string,
    wanted: SweepState,
  ): Promise<void> {
    await deps.store.asAccount(accountId, (tx) =>
      setSweepState(tx, requestId, wanted),
    );
    const done =
      wanted === 'cancelled'
        ? endStuckWorkflow(deps.temporal, querySweepWorkflowId(requestId))
        : launchSweep(deps, accountId, requestId, { replacesRunning: true });
    await done.catch(unavailable);
  }

  return {
    readCounts: readSweepCounts,
    /** Starts no further queries; queries that run continue. */
    pauseSweep: (accountId: string, requestId: string) =>
      steer(accountId, requestId, MESSAGES.pause, 'paused'),
    resumeSweep: (accountId: string, requestId: string) =>
      steer(accountId, requestId, MESSAGES.resume, 'running'),
    /** Starts no further queries, for good; queries that run continue. */
    cancelSweep: (accountId: string, requestId: string) =>
      steer(accountId, requestId, MESSAGES.cancel, 'cancelled'),
  };
}

/**
 * Starts the workflow of a bulk create's post-import queries. A workflow that
 * was terminated is started again under the same id and continues from the
 * outcomes in PostgreSQL. Safe to call when it runs or has nothing left to do.
 *
 * @param how `replacesRunning` starts a stuck workflow anew
 */
async function launchSweep(
  deps: SweepDeps,
  accountId: string,
  requestId: string,
  how: Pick<WorkflowStart, 'replacesRunning' | 'wasSeen'> = {},
): Promise<void> {
  const input: QuerySweepInput = {
    accountId,
    requestId,
    pace: DEFAULT_SWEEP_PACE,
  };
  await startOnce(deps.temporal, {
    type: WORKFLOW_TYPES.querySweep,
    id: querySweepWorkflowId(requestId),
    input,
    accountId,
    requestId,
    priority: PRIORITY.bulk,
    summary: 'Queries for the patients of a bulk create',
    againAfterItsEnd: true,
    isOpen: async () => true,
    ...how,
  });
  await deps.store.asAccount(accountId, (tx) => markSweepSeen(tx, requestId));
}

/** Older bulk creates examined per round. */
const SLICE = 500;
const AT_ONCE = 4;

/**
 * Starts the workflow of post-import queries where it was never started, or no
 * longer runs.
 */
export const sweepRecovery = (deps: SweepDeps): Recovery => ({
  name: 'query sweeps',
  async takeUp({ limit, signal, cursor, recheckBefore }) {
    const after = new Date(cursor ?? 0);
    const { recent, older, open } = await deps.store.asSystem(async (tx) => ({
      recent: await recentlyUnswept(tx, limit),
      older: await unsweptInSlice(tx, { after, slice: SLICE }),
      open: await sweepsToCheck(tx, { recheckBefore, limit }),
    }));
    const launch = async ({ accountId, requestId }: SweepToEnsure) => {
      // An operator who cancels or terminates it in Temporal has decided.
      if (
        !(await wasEndedByHand(deps.temporal, querySweepWorkflowId(requestId)))
      )
        return launchSweep(deps, accountId, requestId, { wasSeen: true });
      await deps.store.asAccount(accountId, async (tx) => {
        await openSweep(tx, requestId);
        await setSweepState(tx, requestId, 'cancelled');
      });
    };
    const started = await healEach([...recent, ...older.unswept], {
      signal,
      atOnce: AT_ONCE,
      heal: (sweep) => launch(sweep).then(() => true),
    });
    const checked = await healEach(open, {
      signal,
      atOnce: AT_ONCE,
      heal: (sweep) => launch(sweep).then(() => false),
    });
    return {
      ...started,
      found: started.found + checked.found,
      failures: [...started.failures, ...checked.failures],
      isBehind: recent.length === limit && started.healed > 0,
      cursor: older.next?.toISOString(),
    };
  },
});
