import type { BulkCounts } from '../../../contract/bulk-create.ts';
import type { BulkOnboardingStatus, BulkResult } from '../../../contract/bulk-onboarding.ts';
import type { LearnedBy } from '../../../contract/patient-onboarding.ts';

/** How the request ended, according to a webhook or a poll. */
export interface BulkEnding {
  status: 'completed' | 'failed' | 'timed-out';
  via?: LearnedBy;
  /** Link to the result CSV, if a webhook contained one. */
  link?: string;
  reason?: string;
}

/** The complete state of an orchestration: plain data of a few KB, carried over a continue-as-new. */
export interface BulkState {
  phase: BulkOnboardingStatus['phase'];
  requestIds: string[];
  /** How many of these requests expired because the exchange could not take the file. Absent: none. */
  outages?: number;
  uploadUrl?: string;
  paused: boolean;
  /** Number of pauses and resumes requested. */
  commands: number;
  counts: BulkCounts;
  rowsPerSecond?: number;
  secondsLeft?: number;
  ending?: BulkEnding;
  outcome?: BulkResult;
  seenMessageIds: string[];
  webhooksReceived: number;
  polls: number;
  pollsSinceUpload: number;
  nextPollAtMs?: number;
  deadlineAtMs: number;
  problem?: string;
}

export const newBulkState = (rows: number, deadlineAtMs: number): BulkState => ({
  phase: 'requesting',
  requestIds: [],
  paused: false,
  commands: 0,
  counts: { rows, handled: 0, created: 0, updated: 0, failed: 0 },
  seenMessageIds: [],
  webhooksReceived: 0,
  polls: 0,
  pollsSinceUpload: 0,
  deadlineAtMs,
});
