import type { BulkCounts } from '../../contract/bulk-create.ts';
import {
  BULK_ONBOARDING_MESSAGES,
  type BulkOnboardingStatus,
  type BulkOnboardingSummary,
} from '../../contract/bulk-onboarding.ts';
import type { OverallState } from '../../lib/exit-codes.ts';
import type { LiveLines } from '../../lib/live-lines.ts';
import type { BulkOnboardingHandle } from '../../orchestrator/bulk-onboarding/start-bulk-onboarding.ts';
import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import type { BulkStatusResponse } from '../../orchestrator/client/responses.ts';
import { terminalText } from './plain-text.ts';
import type { FollowOptions } from './poll-exchange.ts';
import { coloured } from './rows.ts';
import {
  askWorkflow,
  type Following,
  followWorkflow,
  readWorkflowOnce,
  type WorkflowEnd,
} from './workflow-state.ts';

export type BulkView = ReturnType<typeof bulkView>;

/**
 * What is known of a bulk onboarding. Each part has its own source and may be
 * missing.
 */
export interface KnownOfBulk {
  status?: BulkOnboardingStatus;
  /**
   * The request's state at the exchange: newer than what the workflow has
   * received.
   */
  request?: BulkStatusResponse;
  end?: WorkflowEnd<BulkOnboardingSummary>;
  problem?: string;
}

/**
 * State of a bulk onboarding: the workflow's own status, completed by the
 * exchange's state of the request.
 */
export function bulkView({ status, request, end, problem }: KnownOfBulk) {
  const summary = end?.state === 'ended' ? end.summary : undefined;
  const isRunning = end === undefined;
  const requestId = summary?.requestIds.at(-1) ?? status?.requestIds.at(-1);
  const isCurrent = request !== undefined && request.requestId === requestId;
  const current = isRunning && isCurrent ? request : undefined;
  return {
    state: bulkState(end),
    phase: isRunning ? status?.phase : ('ended' as const),
    dryRun: summary?.dryRun ?? status?.dryRun,
    requestId,
    paused: isRunning && (current?.paused ?? status?.paused ?? false),
    counts: endCounts(summary) ?? runningCounts(status, current),
    rowsPerSecond: current?.rowsPerSecond,
    secondsLeft: current?.secondsLeft,
    webhooksReceived:
      summary?.webhooksReceived ?? status?.webhooksReceived ?? 0,
    /**
     * A problem that the work waits for, or the reason why there is no newer
     * state.
     */
    problem: isRunning ? (problem ?? status?.problem) : undefined,
    /** Why it ended without a result. */
    failure: end?.state === 'failed' ? end.reason : failureOf(summary),
    /** At the end: where the files are. */
    outcome: summary?.outcome,
  };
}

function bulkState(end: KnownOfBulk['end']): OverallState {
  if (end === undefined) return 'running';
  if (end.state !== 'ended') return end.state;
  return end.summary.status === 'timed-out' ? 'failed' : end.summary.status;
}

const endCounts = (
  summary: BulkOnboardingSummary | undefined,
): BulkCounts | undefined =>
  summary?.outcome && {
    ...summary.outcome.counts,
    handled: summary.outcome.counts.rows,
  };

function runningCounts(
  status: BulkOnboardingStatus | undefined,
  request: BulkStatusResponse | undefined,
): BulkCounts | undefined {
  if (status === undefined || request?.counts === undefined)
    return status?.counts;
  // Until the exchange has checked the file, it counts 0 rows.
  return {
    ...status.counts,
    ...request.counts,
    rows: request.counts.rows || status.counts.rows,
  };
}

const failureOf = (
  summary: BulkOnboardingSummary | undefined,
): string | undefined =>
  summary?.reason === undefined ? undefined : terminalText(summary.reason);

const BAR_WIDTH = 30;

/**
 * One row: the phase, with a progress bar while the exchange processes the CSV.
 * Where lines cannot be redrawn, the row changes only every 10 %, so that a log
 * stays short.
 */
export function bulkRows(
  view: BulkView,
  { colors, redraws }: LiveLines,
): string[] {
  if (view.state !== 'running') {
    const why = view.failure === undefined ? '' : `: ${view.failure}`;
    return [`${coloured(view.state, colors)}${why}`];
  }
  const problem =
    view.problem === undefined
      ? ''
      : colors.yellow(` (${terminalText(view.problem)})`);
  const { counts } = view;
  if (view.phase !== 'processing' || counts === undefined || counts.rows === 0)
    return [`${phaseOf(view)}${problem}`];
  const fraction = Math.min(1, counts.handled / counts.rows);
  const of = `of ${number(counts.rows)} rows`;
  if (!redraws)
    return [
      `${phaseOf(view)}: ${Math.floor(fraction * 10) * 10} % ${of}${problem}`,
    ];
  const full = Math.round(fraction * BAR_WIDTH);
  const bar = `${colors.green('█'.repeat(full))}${colors.dim('░'.repeat(BAR_WIDTH - full))}`;
  const failed =
    counts.failed === 0
      ? ''
      : colors.yellow(`, ${number(counts.failed)} failed`);
  return [
    `${phaseOf(view)}  ${bar} ${Math.floor(fraction * 100)} %  ${number(counts.handled)} ${of}${speedOf(view)}${failed}${problem}`,
  ];
}

function speedOf({ rowsPerSecond, secondsLeft }: BulkView): string {
  const speed =
    rowsPerSecond === undefined
      ? ''
      : `, ${number(Math.round(rowsPerSecond))} rows/s`;
  return `${speed}${secondsLeft === undefined ? '' : `, ${duration(secondsLeft)} left`}`;
}

function duration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5_400
    ? `${Math.round(seconds / 60)} min`
    : `${(seconds / 3_600).toFixed(1)} h`;
}

const phaseOf = ({ paused, phase }: BulkView): string => {
  if (paused) return 'paused';
  return phase === undefined ? 'starting' : PHASES[phase];
};

const PHASES: Readonly<Record<NonNullable<BulkView['phase']>, string>> = {
  requesting: 'requesting an upload URL',
  uploading: 'uploading the file',
  processing: 'processing',
  'reading-result': 'reading the result',
  cancelling: 'cancelling the request at the exchange',
  ended: 'ended',
};

export const number = (value: number): string => value.toLocaleString('en-US');

const NO_WORKER = 'no worker answers; the work continues when one is available';

/** Follows a bulk onboarding until it ends; see `followWorkflow`. */
export const followBulk = (
  handle: BulkOnboardingHandle,
  onChange: (view: BulkView) => void,
  { client, ...options }: FollowOptions & { client: ExchangeClient },
): Promise<BulkView> =>
  followWorkflow(bulkFollowing(handle, client), onChange, options);

/** Reads the state of a bulk onboarding once; see `readWorkflowOnce`. */
export const readBulk = (
  handle: BulkOnboardingHandle,
  client: ExchangeClient,
): Promise<BulkView> => readWorkflowOnce(bulkFollowing(handle, client));

const bulkFollowing = (
  handle: BulkOnboardingHandle,
  client: ExchangeClient,
): Following<KnownOfBulk, BulkOnboardingSummary, BulkView> => ({
  handle,
  nothing: {},
  read: (_, signal) => read(handle, client, signal),
  addEnd: async (known, end) => ({ ...known, end }),
  view: bulkView,
});

async function read(
  handle: BulkOnboardingHandle,
  client: ExchangeClient,
  signal?: AbortSignal,
): Promise<KnownOfBulk> {
  const status = await askWorkflow<BulkOnboardingStatus>(
    handle,
    BULK_ONBOARDING_MESSAGES.status,
  );
  if (status === undefined) return { problem: NO_WORKER };
  const requestId = status.requestIds.at(-1);
  const isProcessing = status.phase === 'processing' && requestId !== undefined;
  return {
    status,
    request: isProcessing
      ? await requestOf(client, requestId, signal)
      : undefined,
  };
}

/**
 * The request's state at the exchange; undefined when the exchange does not
 * return it. The workflow has counts of its own.
 */
async function requestOf(
  client: ExchangeClient,
  requestId: string,
  signal?: AbortSignal,
): Promise<BulkStatusResponse | undefined> {
  try {
    return (
      await client.call('getBulkCreate', { params: { requestId } }, { signal })
    ).answer;
  } catch (error) {
    if (error instanceof ExchangeCallError || signal?.aborted === true)
      return undefined;
    throw error;
  }
}
