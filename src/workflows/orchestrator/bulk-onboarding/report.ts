import type {
  BulkOnboardingInput,
  BulkOnboardingStatus,
  BulkOnboardingSummary,
} from '../../../contract/bulk-onboarding.ts';
import { instant } from '../../shared/work-in-pages.ts';
import type { BulkState } from './bulk-onboarding.ts';

/** The answer to the query `status`. */
export function bulkOnboardingStatus(
  state: BulkState,
  { dryRun, file }: BulkOnboardingInput,
): BulkOnboardingStatus {
  const waits = state.phase === 'processing';
  return {
    phase: state.phase,
    dryRun,
    fileSha256: file.sha256,
    requestIds: state.requestIds,
    paused: state.paused,
    counts: state.counts,
    rowsPerSecond: waits ? state.rowsPerSecond : undefined,
    secondsLeft: waits ? state.secondsLeft : undefined,
    webhooksReceived: state.webhooksReceived,
    polls: state.polls,
    nextPollAt: waits ? instant(state.nextPollAtMs) : undefined,
    deadlineAt: new Date(state.deadlineAtMs).toISOString(),
    problem: state.problem,
  };
}

/** The workflow's result. */
export function bulkOnboardingSummary(
  state: BulkState,
  { dryRun }: BulkOnboardingInput,
): BulkOnboardingSummary {
  const { ending, outcome, requestIds, webhooksReceived } = state;
  return {
    status: bulkOnboardingOutcome(state),
    dryRun,
    requestIds,
    outcome,
    reason: outcome === undefined ? ending?.reason : undefined,
    via: ending?.via,
    webhooksReceived,
  };
}

/**
 * Completed, partial, failed or timed out. A file without rows is completed as
 * soon as its result was read.
 */
export function bulkOnboardingOutcome({
  ending,
  outcome,
}: BulkState): BulkOnboardingSummary['status'] {
  if (ending?.status === 'timed-out') return 'timed-out';
  if (outcome === undefined) return 'failed';
  const { rows, failed } = outcome.counts;
  if (failed === 0) return 'completed';
  return failed < rows ? 'partial' : 'failed';
}
