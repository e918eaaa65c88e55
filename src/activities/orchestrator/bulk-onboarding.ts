import {
  activityInfo,
  cancellationSignal,
  heartbeat,
} from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { BulkResult, FileRef } from '../../contract/bulk-onboarding.ts';
import type { ExchangeAccess } from '../../contract/patient-onboarding.ts';
import { UnreadableCsvError } from '../../orchestrator/bulk-onboarding/csv-records.ts';
import {
  FILE_KINDS,
  type FileStore,
} from '../../orchestrator/bulk-onboarding/file-store.ts';
import { takeResult } from '../../orchestrator/bulk-onboarding/take-result.ts';
import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import type {
  FileTransfer,
  UploadOutcome,
} from '../../orchestrator/client/file-transfer.ts';
import { asCallFailure } from './call-exchange.ts';

/**
 * As long as Temporal keeps closed workflows (TEMPORAL_RETENTION): after that,
 * nothing refers to their files.
 */
const FILES_KEPT_DAYS = 30;

export interface BulkFileActivityDeps {
  clientFor(access: ExchangeAccess): ExchangeClient;
  transferFor(access: ExchangeAccess): FileTransfer;
  files: FileStore;
}

export interface UploadBulkFileInput {
  exchange: ExchangeAccess;
  requestId: string;
  uploadUrl: string;
  file: FileRef;
}

export interface TakeBulkResultInput {
  exchange: ExchangeAccess;
  requestId: string;
  /** The uploaded file, still in the store. */
  file: FileRef;
  /**
   * The link to the result from a webhook. If absent or expired, the exchange
   * is asked for a new one.
   */
  link?: string;
}

/**
 * Transfers files between the exchange and the orchestrator's own store. The
 * type of a failure is its `FailureKind`.
 */
export function createBulkFileActivities({
  clientFor,
  transferFor,
  files,
}: BulkFileActivityDeps) {
  return {
    /**
     * May run twice: the exchange accepts the first upload, and the same bytes
     * again are not an error. `gone-in-outage`: the URL expired while earlier
     * attempts failed, so it was not left unused.
     */
    uploadBulkFile: (
      input: UploadBulkFileInput,
    ): Promise<UploadOutcome | 'gone-in-outage'> =>
      asActivity(async () => {
        const { exchange, requestId, uploadUrl, file } = input;
        // The response to an earlier upload may have been lost, and a second
        // upload may be cut off before its response.
        const isRetry = activityInfo().attempt > 1;
        const known = isRetry
          ? await requestState(clientFor(exchange), requestId)
          : undefined;
        const gone = isRetry ? 'gone-in-outage' : 'gone';
        if (known?.status === 'expired') return gone;
        if (known !== undefined && known.status !== 'waiting') return 'taken';
        const outgoing = { ...file, content: await files.get(file.ref) };
        const progress = {
          signal: cancellationSignal(),
          onProgress: heartbeat,
        };
        const outcome = await transferFor(exchange).upload(
          uploadUrl,
          outgoing,
          progress,
        );
        return outcome === 'gone' ? gone : outcome;
      }),

    /**
     * A retry starts over; files that a killed attempt stored are deleted later
     * with other unused files.
     */
    takeBulkResult: (input: TakeBulkResultInput): Promise<BulkResult> =>
      asActivity(async () => {
        const { exchange } = input;
        // Use a webhook's link only for the first attempt; later it may have
        // expired.
        const isFirst = activityInfo().attempt === 1;
        const known = isFirst ? input.link : undefined;
        const url = known ?? (await freshLink(clientFor(exchange), input));
        const signal = cancellationSignal();
        const content = await transferFor(exchange)
          .download(url, { signal, onProgress: heartbeat })
          .catch((error: unknown) => {
            throw known === undefined ? refusedForGood(error) : error;
          });
        return takeResult(files, content, input.file, {
          signal,
          onProgress: () => heartbeat(),
        });
      }),

    /**
     * Deletes the given files, if they still exist, and all files of jobs that
     * Temporal no longer keeps.
     */
    discardFiles: (input: { refs: string[] }): Promise<void> =>
      asActivity(async () => {
        for (const ref of input.refs) await files.delete(ref);
        const before = new Date(Date.now() - FILES_KEPT_DAYS * 24 * 3_600_000);
        for (const kind of FILE_KINDS)
          await files.deleteWrittenBefore(kind, before);
      }),
  };
}

export type BulkFileActivities = ReturnType<typeof createBulkFileActivities>;

/**
 * Reads the state of a bulk create. Returns undefined on 404: another exchange
 * may not have this operation.
 */
async function requestState(client: ExchangeClient, requestId: string) {
  try {
    const signal = cancellationSignal();
    return (
      await client.call('getBulkCreate', { params: { requestId } }, { signal })
    ).answer;
  } catch (error) {
    if (error instanceof ExchangeCallError && error.kind === 'not-found')
      return undefined;
    throw error;
  }
}

/**
 * A new link that is refused for its authorization will be refused again: the
 * exchange or a proxy in front of it is at fault.
 */
function refusedForGood(error: unknown): unknown {
  if (
    !(error instanceof ExchangeCallError) ||
    (error.httpStatus !== 401 && error.httpStatus !== 403)
  )
    return error;
  return ApplicationFailure.nonRetryable(
    `downloadFile: ${error.httpStatus} for a link that the exchange has just made; check the exchange and the proxies in front of it`,
    'unauthorized',
  );
}

async function freshLink(
  client: ExchangeClient,
  { requestId, link }: TakeBulkResultInput,
): Promise<string> {
  const url = (await requestState(client, requestId))?.result ?? link;
  if (url !== undefined) return url;
  throw ApplicationFailure.retryable(
    'The exchange returned no link to the result',
    'unavailable',
  );
}

/** Converts errors to failures whose type workflows decide by. */
async function asActivity<R>(work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UnreadableCsvError)
      throw ApplicationFailure.nonRetryable(error.message, 'bad-answer');
    if (error instanceof Error && error.name === 'BlobNotFoundError')
      throw ApplicationFailure.nonRetryable(
        'The file is no longer in ORCHESTRATOR_FILES',
        'file-lost',
      );
    throw asCallFailure(error);
  }
}
