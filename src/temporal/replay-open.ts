import {
  type Client,
  type HistoryAndWorkflowId,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { type ReplayWorkerOptions, Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { OPEN_RUNS } from './open-runs.ts';
import { WORKFLOW_QUEUES } from './task-queues.ts';

/** The outcome for the open runs of one workflow type. */
export interface ReplayedType {
  workflowType: string;
  replayed: number;
  /** Further open runs, which were not replayed because of `perTypeMax`. */
  left: number;
  /**
   * The runs that did not replay. The reason names commands and events, never
   * payloads.
   */
  failures: { workflowId: string; runId: string; reason: string }[];
}

export interface ReplayOpenOptions
  extends Pick<ReplayWorkerOptions, 'workflowBundle' | 'dataConverter'> {
  /**
   * How many open runs of each workflow type are replayed at most, the oldest:
   * they have the most code behind them.
   */
  perTypeMax?: number | undefined;
  /** Leaves out runs that are pinned to a build. */
  unpinnedOnly?: boolean;
}

const OPEN = `${OPEN_RUNS} AND TaskQueue IN (${WORKFLOW_QUEUES.map((queue) => `'${queue}'`).join(', ')})`;
const UNPINNED =
  " AND (TemporalWorkflowVersioningBehavior IS NULL OR TemporalWorkflowVersioningBehavior != 'Pinned')";
const REASON_LENGTH_MAX = 300;

/**
 * Replays the histories of the open runs on our task queues with the given
 * code. It only reads: histories stay in memory, and nothing is written to
 * Temporal. A run that ends meanwhile is skipped. Throws when Temporal cannot
 * be reached, or cannot list runs.
 */
export async function replayOpenRuns(
  client: Client,
  {
    perTypeMax = Number.POSITIVE_INFINITY,
    unpinnedOnly = false,
    ...options
  }: ReplayOpenOptions,
): Promise<ReplayedType[]> {
  const types = new Map<string, ReplayedType>();
  const query = unpinnedOnly ? OPEN + UNPINNED : OPEN;
  // Histories are replayed one after the other, in this order.
  let current: ReplayedType | undefined;

  async function* histories(): AsyncGenerator<HistoryAndWorkflowId> {
    const oldest = new Map<
      ReplayedType,
      { workflowId: string; runId: string }[]
    >();
    // Temporal lists the newest first.
    for await (const {
      type: workflowType,
      workflowId,
      runId,
    } of client.workflow.list({ query })) {
      const row = types.get(workflowType) ?? {
        workflowType,
        replayed: 0,
        left: 0,
        failures: [],
      };
      types.set(workflowType, row);
      const runs = oldest.get(row) ?? [];
      oldest.set(row, runs);
      runs.push({ workflowId, runId });
      if (runs.length <= perTypeMax) continue;
      runs.shift();
      row.left += 1;
    }
    for (const [row, runs] of oldest)
      for (const { workflowId, runId } of runs) {
        const history = await openHistory(client, workflowId, runId);
        if (history === undefined) continue;
        current = row;
        yield { workflowId, history };
      }
  }

  for await (const { workflowId, runId, error } of Worker.runReplayHistories(
    options,
    histories(),
  )) {
    if (error === undefined) (current as ReplayedType).replayed += 1;
    else current?.failures.push({ workflowId, runId, reason: reasonOf(error) });
  }
  return [...types.values()].sort((a, b) =>
    a.workflowType.localeCompare(b.workflowType),
  );
}

async function openHistory(client: Client, workflowId: string, runId: string) {
  try {
    return await client.workflow.getHandle(workflowId, runId).fetchHistory();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/**
 * Core writes ids and types into the message of a violation; any other message
 * may come from our own code.
 */
const reasonOf = (error: Error): string =>
  error instanceof DeterminismViolationError
    ? error.message.slice(0, REASON_LENGTH_MAX)
    : `${error.name}: the code throws where it did not before`;
