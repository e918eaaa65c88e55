import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  defineUpdate,
  isCancellation,
  log,
  setCurrentDetails,
  setHandler,
  TemporalFailure,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import {
  type BulkCreateSignal,
  type BulkOnboardingInput,
  type BulkOnboardingStatus,
  type BulkOnboardingSummary,
  BULK_ONBOARDING_MESSAGES as MESSAGES,
} from '../../../contract/bulk-onboarding.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { callFailure, essential } from '../../shared/failures.ts';
import { instant } from '../../shared/work-in-pages.ts';
import {
  type BulkCalls,
  BulkOnboarding,
  type BulkState,
  bulkCalls,
} from './bulk-onboarding.ts';

/**
 * A signal, the query for the status, and updates that return it. What each
 * means is in the contract.
 */
export const bulkOnboardingMessages = {
  bulkCreateEvent: defineSignal<[BulkCreateSignal]>(MESSAGES.bulkCreateEvent),
  status: defineQuery<BulkOnboardingStatus>(MESSAGES.status),
  pause: defineUpdate<BulkOnboardingStatus>(MESSAGES.pause),
  resume: defineUpdate<BulkOnboardingStatus>(MESSAGES.resume),
};

/**
 * Imports a panel into an exchange: requests an upload URL, uploads the file,
 * waits for up to seven days and reads the result.
 *
 * Durable because processing takes seconds to days, while upload URLs expire,
 * webhooks get lost and processes restart. Keyed by an id derived from the
 * caller's job id, so a job runs once. The file may be uploaded twice, and
 * under two requests if the exchange lost one; that is harmless, because each
 * row creates or updates. The history contains counts and references to files,
 * never rows.
 */
export async function bulkOnboarding(
  input: BulkOnboardingInput,
  carried?: BulkState,
): Promise<BulkOnboardingSummary> {
  const bulk = new BulkOnboarding(input, Date.now(), carried);
  const calls = bulkCalls(input);
  const snapshot = () => bulkOnboardingStatus(bulk.state, input);
  const show = () => setCurrentDetails(bulkOnboardingDetails(snapshot()));
  setHandler(bulkOnboardingMessages.status, snapshot);
  setHandler(bulkOnboardingMessages.bulkCreateEvent, (event) => {
    bulk.webhook(event);
    show();
  });
  for (const [how, update] of [
    ['pause', bulkOnboardingMessages.pause],
    ['resume', bulkOnboardingMessages.resume],
  ] as const)
    setHandler(
      update,
      async () => {
        await pauseOrResume(bulk, calls, how);
        show();
        return snapshot();
      },
      { validator: () => assertProcessing(bulk) },
    );

  try {
    while (bulk.state.phase !== 'ended') {
      show();
      // An outage may take days of requests.
      if (
        bulk.state.phase === 'requesting' &&
        bulk.state.outages !== undefined
      ) {
        if (workflowInfo().continueAsNewSuggested)
          await continueOnceHandled(input, bulk.state);
      }
      await step(bulk, calls, input, show);
    }
  } catch (error) {
    // A bug in our code fails only the workflow task: a corrected worker
    // continues from here, and needs the panel.
    if (!(error instanceof TemporalFailure)) throw error;
    // Under a cancellation, a failed call is not the reason for the end.
    if (
      !isCancellation(error) &&
      !CancellationScope.current().consideredCancelled
    ) {
      // The file stays, so that nothing is lost by a failure; what is left for
      // 30 days is deleted with other old files.
      throw error;
    }
    bulk.state.phase = 'cancelling';
    show();
    await CancellationScope.nonCancellable(async () => {
      await cancelRequest(bulk, calls);
      await discardUpload(calls);
    });
    throw isCancellation(error) ? error : new CancelledFailure('Cancelled');
  }
  await CancellationScope.nonCancellable(() => discardUpload(calls));
  await condition(allHandlersFinished);
  upsertSearchAttributes([
    {
      key: searchAttribute.queryStatus,
      value: bulkOnboardingOutcome(bulk.state),
    },
  ]);
  show();
  return bulkOnboardingSummary(bulk.state, input);
}

async function step(
  bulk: BulkOnboarding,
  calls: BulkCalls,
  input: BulkOnboardingInput,
  show: () => void,
): Promise<void> {
  switch (bulk.state.phase) {
    case 'requesting':
      return requestUploadUrl(bulk, calls);
    case 'uploading':
      return uploadFile(bulk, calls);
    case 'processing':
      return waitForExchange(bulk, calls, input, show);
    case 'reading-result':
      return readResult(bulk, calls);
    case 'cancelling':
    case 'ended':
      return;
  }
}

async function waitForExchange(
  bulk: BulkOnboarding,
  calls: BulkCalls,
  input: BulkOnboardingInput,
  show: () => void,
): Promise<void> {
  for (;;) {
    show();
    const next = bulk.next(Date.now());
    switch (next.kind) {
      case 'done':
        return bulk.closeWaiting();
      case 'wait':
        if (workflowInfo().continueAsNewSuggested)
          await continueOnceHandled(input, bulk.state);
        await condition(() => bulk.isSettled, next.ms, {
          summary: WAITS[next.for],
        });
        break;
      case 'poll':
        await pollBulkCreate(bulk, calls);
        break;
      case 'give-up':
        bulk.giveUp();
        break;
    }
  }
}

/** A pause or resume that was begun is answered first. */
async function continueOnceHandled(
  input: BulkOnboardingInput,
  state: BulkState,
): Promise<never> {
  await condition(allHandlersFinished);
  return continueAsNew<typeof bulkOnboarding>(input, state);
}

function assertProcessing({ state }: BulkOnboarding): void {
  if (state.phase === 'processing' && state.ending === undefined) return;
  throw ApplicationFailure.nonRetryable(
    'The exchange is not processing the file now',
    'conflict',
  );
}

const WAITS = {
  status: 'Wait for the webhook, then poll the status',
  deadline: 'Wait for the webhook until the deadline',
} as const;

/**
 * Markdown for the workflow's page in the Temporal UI: ids, states and counts.
 */
function bulkOnboardingDetails(status: BulkOnboardingStatus): string {
  const { counts, requestIds, problem, rowsPerSecond, secondsLeft } = status;
  const heading = status.paused ? 'Paused' : PHASES[status.phase];
  return [
    `**${heading}**${problem === undefined ? '' : ` (${problem})`}`,
    '',
    `\`${bar(counts.rows === 0 ? 0 : counts.handled / counts.rows)}\` ${counts.handled} of ${counts.rows} rows`,
    rowsPerSecond === undefined
      ? ''
      : `${Math.round(rowsPerSecond)} rows/s, ${secondsLeft ?? '?'} s left`,
    '',
    `Created: ${counts.created}. Updated: ${counts.updated}. Failed: ${counts.failed}.`,
    '',
    `Request: ${requestIds.at(-1) ?? '–'}${requestIds.length > 1 ? ` (number ${requestIds.length})` : ''}`,
    `Dry run: ${status.dryRun ? 'yes' : 'no'}. Webhooks: ${status.webhooksReceived}. Polls: ${status.polls}.`,
    status.nextPollAt === undefined
      ? ''
      : `Next poll, unless a webhook arrives: ${status.nextPollAt}`,
  ].join('\n');
}

const WIDTH = 30;
function bar(fraction: number): string {
  const full = Math.round(Math.min(1, fraction) * WIDTH);
  return `${'█'.repeat(full)}${'░'.repeat(WIDTH - full)} ${Math.floor(fraction * 100)} %`;
}

const PHASES: Readonly<Record<BulkOnboardingStatus['phase'], string>> = {
  requesting: 'Requesting an upload URL',
  uploading: 'Uploading the file',
  processing: 'The exchange is processing the rows',
  'reading-result': 'Reading the result',
  cancelling: 'Cancelled; cancelling the request at the exchange',
  ended: 'Ended',
};

/** The answer to the query `status`. */
function bulkOnboardingStatus(
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
function bulkOnboardingSummary(
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
function bulkOnboardingOutcome({
  ending,
  outcome,
}: BulkState): BulkOnboardingSummary['status'] {
  if (ending?.status === 'timed-out') return 'timed-out';
  if (outcome === undefined) return 'failed';
  const { rows, failed } = outcome.counts;
  if (failed === 0) return 'completed';
  return failed < rows ? 'partial' : 'failed';
}

/**
 * Requests an upload URL (E5); repeated when the URL of the previous request
 * expired unused.
 */
async function requestUploadUrl(
  bulk: BulkOnboarding,
  calls: BulkCalls,
): Promise<void> {
  if (!bulk.mayRequestAgain(Date.now())) {
    const { requestIds, outages = 0 } = bulk.state;
    const inOutage =
      outages === 0
        ? ''
        : `, ${outages} of them while the exchange could not take it`;
    throw ApplicationFailure.nonRetryable(
      `The file could not be uploaded: ${requestIds.length} upload URLs expired unused${inOutage}`,
      'file-not-uploaded',
    );
  }
  const { requestId, uploadUrl } = await essential(
    () => calls.startBulkCreate(bulk.state.requestIds.length + 1),
    'bulk-not-started',
    'The bulk create could not be started',
  );
  bulk.requested(requestId, uploadUrl);
  // The receiver finds this workflow by the request id, the only id that
  // webhooks of a bulk create carry.
  upsertSearchAttributes([
    { key: searchAttribute.requestId, value: requestId },
    { key: searchAttribute.queryStatus, value: 'processing' },
  ]);
}

async function uploadFile(
  bulk: BulkOnboarding,
  calls: BulkCalls,
): Promise<void> {
  const { requestId = '' } = bulk;
  const { uploadUrl = '' } = bulk.state;
  try {
    const outcome = await calls.upload(requestId, uploadUrl);
    if (outcome === 'taken') bulk.uploaded(Date.now());
    else if (outcome === 'gone-in-outage') bulk.urlExpiredInOutage();
    else bulk.urlExpired();
  } catch (error) {
    const failure = callFailure(error);
    if (failure === undefined) throw error;
    // A webhook has reported the end, so the exchange must have received the
    // file.
    if (bulk.state.ending !== undefined) bulk.uploaded(Date.now());
    // The failure was temporary, but lasted longer than the URL was valid.
    else if (failure.kind === 'unavailable' || failure.kind === 'rate-limited')
      bulk.urlExpiredInOutage();
    else
      throw ApplicationFailure.nonRetryable(
        `The file could not be uploaded: ${failure.message}`,
        'file-not-uploaded',
        { kind: failure.kind },
      );
  }
}

/**
 * Reads the request's status. A failure is only noted: the next poll makes up
 * for it.
 */
async function pollBulkCreate(
  bulk: BulkOnboarding,
  calls: BulkCalls,
): Promise<void> {
  try {
    bulk.polled(await calls.getBulkCreate(bulk.requestId ?? ''), Date.now());
  } catch (error) {
    const failure = callFailure(error);
    if (failure === undefined) throw error;
    bulk.pollFailed(failure.message, Date.now());
  }
}

async function readResult(
  bulk: BulkOnboarding,
  calls: BulkCalls,
): Promise<void> {
  bulk.resultTaken(
    await essential(
      () => calls.takeResult(bulk.requestId ?? '', bulk.state.ending?.link),
      'result-not-read',
      'The exchange has processed the file, but its result could not be read',
    ),
  );
}

/**
 * Pauses or resumes the request at the exchange. A refusal, such as for a
 * request that has ended, fails the update.
 */
async function pauseOrResume(
  bulk: BulkOnboarding,
  calls: BulkCalls,
  how: 'pause' | 'resume',
): Promise<void> {
  const number = bulk.nextCommand();
  try {
    const answer = await calls[how](bulk.requestId ?? '', number);
    bulk.state.paused = answer.paused ?? how === 'pause';
  } catch (error) {
    const failure = callFailure(error);
    if (failure === undefined) throw error;
    throw ApplicationFailure.nonRetryable(
      `The exchange could not ${how} the request: ${failure.message}`,
      failure.kind,
    );
  }
}

/**
 * Cancels the request at the exchange, if it is still running. It may have
 * ended by now, so 404 and 409 are fine.
 */
async function cancelRequest(
  bulk: BulkOnboarding,
  calls: BulkCalls,
): Promise<void> {
  const { requestId } = bulk;
  if (requestId === undefined || bulk.state.ending !== undefined) return;
  try {
    await calls.cancel(requestId);
  } catch (error) {
    log.warn('The request could not be cancelled', {
      requestId,
      kind: callFailure(error)?.kind,
    });
  }
}

/** Deletes our copy of the file, which is no longer needed. */
async function discardUpload(calls: BulkCalls): Promise<void> {
  try {
    await calls.discardUpload();
  } catch (error) {
    log.warn('Our copy of the file could not be deleted', {
      kind: callFailure(error)?.kind,
    });
  }
}
