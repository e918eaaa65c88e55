import { ApplicationFailure, log, patched, upsertSearchAttributes } from '@temporalio/workflow';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { callFailure, essential } from '../../shared/call-failure.ts';
import type { BulkOnboarding } from './bulk-onboarding.ts';
import type { BulkCalls } from './exchange-calls.ts';

/** Earlier runs give up after three upload URLs, whatever the reason, and delete the file. */
export const OUTAGES = 'outages-do-not-count';

/** Requests an upload URL (E5); repeated when the URL of the previous request expired unused. */
export async function requestUploadUrl(bulk: BulkOnboarding, calls: BulkCalls): Promise<void> {
  if (!bulk.mayRequestAgain(Date.now())) {
    const { requestIds, outages = 0 } = bulk.state;
    const inOutage = outages === 0 ? '' : `, ${outages} of them while the exchange could not take it`;
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
  // The receiver finds this workflow by the request id, the only id that webhooks of a bulk create carry.
  upsertSearchAttributes([
    { key: searchAttribute.requestId, value: requestId },
    { key: searchAttribute.queryStatus, value: 'processing' },
  ]);
}

export async function uploadFile(bulk: BulkOnboarding, calls: BulkCalls): Promise<void> {
  const { requestId = '' } = bulk;
  const { uploadUrl = '' } = bulk.state;
  try {
    const outcome = await calls.upload(requestId, uploadUrl);
    if (outcome === 'taken') bulk.uploaded(Date.now());
    else if (outcome === 'gone-in-outage' && patched(OUTAGES)) bulk.urlExpiredInOutage();
    else bulk.urlExpired();
  } catch (error) {
    const failure = callFailure(error);
    if (failure === undefined) throw error;
    // A webhook has reported the end, so the exchange must have received the file.
    if (bulk.state.ending !== undefined) bulk.uploaded(Date.now());
    // The failure was temporary, but lasted longer than the URL was valid.
    else if (failure.kind === 'unavailable' || failure.kind === 'rate-limited') {
      if (patched(OUTAGES)) bulk.urlExpiredInOutage();
      else bulk.urlExpired();
    } else
      throw ApplicationFailure.nonRetryable(
        `The file could not be uploaded: ${failure.message}`,
        'file-not-uploaded',
        { kind: failure.kind },
      );
  }
}

/** Reads the request's status. A failure is only noted: the next poll makes up for it. */
export async function pollBulkCreate(bulk: BulkOnboarding, calls: BulkCalls): Promise<void> {
  try {
    bulk.polled(await calls.getBulkCreate(bulk.requestId ?? ''), Date.now());
  } catch (error) {
    const failure = callFailure(error);
    if (failure === undefined) throw error;
    bulk.pollFailed(failure.message, Date.now());
  }
}

export async function readResult(bulk: BulkOnboarding, calls: BulkCalls): Promise<void> {
  bulk.resultTaken(
    await essential(
      () => calls.takeResult(bulk.requestId ?? '', bulk.state.ending?.link),
      'result-not-read',
      'The exchange has processed the file, but its result could not be read',
    ),
  );
}

/** Pauses or resumes the request at the exchange. A refusal, such as for a request that has ended, fails the update. */
export async function pauseOrResume(
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

/** Cancels the request at the exchange, if it is still running. It may have ended by now, so 404 and 409 are fine. */
export async function cancelRequest(bulk: BulkOnboarding, calls: BulkCalls): Promise<void> {
  const { requestId } = bulk;
  if (requestId === undefined || bulk.state.ending !== undefined) return;
  try {
    await calls.cancel(requestId);
  } catch (error) {
    log.warn('The request could not be cancelled', { requestId, kind: callFailure(error)?.kind });
  }
}

/** Deletes our copy of the file, which is no longer needed. */
export async function discardUpload(calls: BulkCalls): Promise<void> {
  try {
    await calls.discardUpload();
  } catch (error) {
    log.warn('Our copy of the file could not be deleted', { kind: callFailure(error)?.kind });
  }
}
