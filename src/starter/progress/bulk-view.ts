import type { BulkCounts } from '../../contract/bulk-create.ts';
import type {
  BulkOnboardingStatus,
  BulkOnboardingSummary,
  BulkResult,
} from '../../contract/bulk-onboarding.ts';
import type { BulkStatusAnswer } from '../../orchestrator/client/answers.ts';
import { plainText } from './plain-text.ts';
import type { WorkflowEnd } from './workflow-state.ts';

/** State of a bulk onboarding: the workflow's own status, completed by the exchange's state of the request. */
export interface BulkView {
  state: 'running' | 'completed' | 'partial' | 'failed' | 'cancelled';
  phase?: BulkOnboardingStatus['phase'];
  dryRun?: boolean;
  requestId?: string;
  paused: boolean;
  counts?: BulkCounts;
  rowsPerSecond?: number;
  secondsLeft?: number;
  webhooksReceived: number;
  /** A problem that the work waits for, or the reason why there is no newer state. */
  problem?: string;
  /** Why it ended without a result. */
  failure?: string;
  /** At the end: where the files are. */
  outcome?: BulkResult;
}

/** What is known of a bulk onboarding. Each part has its own source and may be missing. */
export interface KnownOfBulk {
  status?: BulkOnboardingStatus;
  /** The request's state at the exchange: newer than what the workflow has received. */
  request?: BulkStatusAnswer;
  end?: WorkflowEnd<BulkOnboardingSummary>;
  problem?: string;
}

export function bulkView({ status, request, end, problem }: KnownOfBulk): BulkView {
  const summary = end?.state === 'ended' ? end.summary : undefined;
  const isRunning = end === undefined;
  const requestId = summary?.requestIds.at(-1) ?? status?.requestIds.at(-1);
  const isCurrent = request !== undefined && request.requestId === requestId;
  const current = isRunning && isCurrent ? request : undefined;
  return {
    state: stateOf(end),
    phase: isRunning ? status?.phase : 'ended',
    dryRun: summary?.dryRun ?? status?.dryRun,
    requestId,
    paused: isRunning && (current?.paused ?? status?.paused ?? false),
    counts: endCounts(summary) ?? runningCounts(status, current),
    rowsPerSecond: current?.rowsPerSecond,
    secondsLeft: current?.secondsLeft,
    webhooksReceived: summary?.webhooksReceived ?? status?.webhooksReceived ?? 0,
    problem: isRunning ? (problem ?? status?.problem) : undefined,
    failure: end?.state === 'failed' ? end.reason : failureOf(summary),
    outcome: summary?.outcome,
  };
}

function stateOf(end: KnownOfBulk['end']): BulkView['state'] {
  if (end === undefined) return 'running';
  if (end.state !== 'ended') return end.state;
  return end.summary.status === 'timed-out' ? 'failed' : end.summary.status;
}

const endCounts = (summary: BulkOnboardingSummary | undefined): BulkCounts | undefined =>
  summary?.outcome && { ...summary.outcome.counts, handled: summary.outcome.counts.rows };

function runningCounts(
  status: BulkOnboardingStatus | undefined,
  request: BulkStatusAnswer | undefined,
): BulkCounts | undefined {
  if (status === undefined || request?.counts === undefined) return status?.counts;
  // Until the exchange has checked the file, it counts 0 rows.
  return { ...status.counts, ...request.counts, rows: request.counts.rows || status.counts.rows };
}

const failureOf = (summary: BulkOnboardingSummary | undefined): string | undefined =>
  summary?.reason === undefined ? undefined : plainText(summary.reason);
