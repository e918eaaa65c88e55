import { ApplicationFailure, log, upsertSearchAttributes } from '@temporalio/workflow';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { callFailure, essential } from '../patient-onboarding/failures.ts';
import type { BulkOnboarding } from './bulk-onboarding.ts';
import type { BulkCalls } from './exchange-calls.ts';

/** E5, once more when the URL of the request before passed unused. */
export async function request(bulk: BulkOnboarding, calls: BulkCalls): Promise<void> {
  if (!bulk.mayRequestAgain)
    throw ApplicationFailure.nonRetryable(
      `The file could not be uploaded: ${bulk.state.requestIds.length} upload URLs passed unused`,
      'file-not-uploaded',
    );
  const { requestId, uploadUrl } = await essential(
    () => calls.startBulkCreate(bulk.state.requestIds.length + 1),
    'bulk-not-started',
    'The bulk create could not be started',
  );
  bulk.requested(requestId, uploadUrl);
  // By it the receiver finds this workflow: a webhook of a bulk create carries nothing else.
  upsertSearchAttributes([
    { key: searchAttribute.requestId, value: requestId },
    { key: searchAttribute.queryStatus, value: 'processing' },
  ]);
}

export async function upload(bulk: BulkOnboarding, calls: BulkCalls): Promise<void> {
  const { requestId = '' } = bulk;
  const { uploadUrl = '' } = bulk.state;
  try {
    if ((await calls.upload(requestId, uploadUrl)) === 'taken') bulk.uploaded(Date.now());
    else bulk.urlPassed();
  } catch (error) {
    const failure = callFailure(error);
    if (failure === undefined) throw error;
    // A webhook that told of rows or an end says that the file has come.
    if (bulk.state.ending !== undefined) bulk.uploaded(Date.now());
    // What passes by itself did not do so while the URL lived.
    else if (failure.kind === 'unavailable' || failure.kind === 'rate-limited') bulk.urlPassed();
    else
      throw ApplicationFailure.nonRetryable(
        `The file could not be uploaded: ${failure.message}`,
        'file-not-uploaded',
        { kind: failure.kind },
      );
  }
}

/** A look that fails is made up for by the next one. */
export async function poll(bulk: BulkOnboarding, calls: BulkCalls): Promise<void> {
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
      'The exchange has handled the file, but the result could not be read',
    ),
  );
}

/** Pauses or resumes the request at the exchange. A refusal (it has ended) is the caller's to see. */
export async function steer(bulk: BulkOnboarding, calls: BulkCalls, how: 'pause' | 'resume'): Promise<void> {
  const number = bulk.nextCommand();
  try {
    const answer = await calls[how](bulk.requestId ?? '', number);
    bulk.state.paused = answer.paused ?? how === 'pause';
  } catch (error) {
    const failure = callFailure(error);
    if (failure === undefined) throw error;
    throw ApplicationFailure.nonRetryable(
      `The exchange does not ${how} it: ${failure.message}`,
      failure.kind,
    );
  }
}

/** Nobody waits for the request any more. It may have ended meanwhile: 404 and 409 are fine. */
export async function cancelRequest(bulk: BulkOnboarding, calls: BulkCalls): Promise<void> {
  const { requestId } = bulk;
  if (requestId === undefined || bulk.state.ending !== undefined) return;
  try {
    await calls.cancel(requestId);
  } catch (error) {
    log.warn('The request could not be cancelled', { requestId, kind: callFailure(error)?.kind });
  }
}

/** Our copy of the file has served. */
export async function discardUpload(calls: BulkCalls): Promise<void> {
  try {
    await calls.discardUpload();
  } catch (error) {
    log.warn('Our copy of the file could not be deleted', { kind: callFailure(error)?.kind });
  }
}
