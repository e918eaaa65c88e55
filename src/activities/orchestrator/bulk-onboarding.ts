import { activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { BulkResult, FileRef } from '../../contract/bulk-onboarding.ts';
import type { ExchangeAccess } from '../../contract/patient-onboarding.ts';
import { UnreadableCsvError } from '../../orchestrator/bulk-onboarding/csv-records.ts';
import { FILE_KINDS, type FileStore } from '../../orchestrator/bulk-onboarding/file-store.ts';
import { takeResult } from '../../orchestrator/bulk-onboarding/take-result.ts';
import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import type { FileTransfer, UploadOutcome } from '../../orchestrator/client/file-transfer.ts';
import { asApplicationFailure } from './call-exchange.ts';

/** As long as Temporal keeps a closed workflow (TEMPORAL_RETENTION): with it goes the way to its files. */
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
  /** What was sent, still in the store. */
  file: FileRef;
  /** As a webhook gave it; when it has expired, or there is none, the exchange is asked for another. */
  link?: string;
}

/** What moves files between the exchange and the orchestrator's own store. Failures have the type of a `FailureKind`. */
export function createBulkFileActivities({ clientFor, transferFor, files }: BulkFileActivityDeps) {
  return {
    /** May run twice: the exchange takes the first upload, and the same bytes again are no error. */
    uploadBulkFile: (input: UploadBulkFileInput): Promise<UploadOutcome> =>
      told(async () => {
        const { exchange, requestId, uploadUrl, file } = input;
        // The answer to an upload may have got lost, and a second one may be cut off before its answer can be read.
        const known =
          activityInfo().attempt > 1 ? (await stateOf(clientFor(exchange), requestId))?.status : undefined;
        if (known === 'expired') return 'gone';
        if (known !== undefined && known !== 'waiting') return 'taken';
        const outgoing = { ...file, content: await files.get(file.ref) };
        return transferFor(exchange).upload(uploadUrl, outgoing, {
          signal: cancellationSignal(),
          onProgress: heartbeat,
        });
      }),

    /** A repeat takes the result anew; what an attempt that was killed had stored is nobody's. */
    takeBulkResult: (input: TakeBulkResultInput): Promise<BulkResult> =>
      told(async () => {
        const { exchange } = input;
        // The link of a webhook serves once; later it may have expired.
        const isFirst = activityInfo().attempt === 1;
        const url = (isFirst ? input.link : undefined) ?? (await freshLink(clientFor(exchange), input));
        const signal = cancellationSignal();
        const content = await transferFor(exchange).download(url, { signal, onProgress: heartbeat });
        return takeResult(files, content, input.file, { signal, onProgress: () => heartbeat() });
      }),

    /** No error when they are gone already. Takes the files of jobs that nobody can find any more along. */
    discardFiles: (input: { refs: string[] }): Promise<void> =>
      told(async () => {
        for (const ref of input.refs) await files.delete(ref);
        const before = new Date(Date.now() - FILES_KEPT_DAYS * 24 * 3_600_000);
        for (const kind of FILE_KINDS) await files.deleteWrittenBefore(kind, before);
      }),
  };
}

export type BulkFileActivities = ReturnType<typeof createBulkFileActivities>;

/** Undefined when the exchange does not say: interface.md has no operation for it. */
async function stateOf(client: ExchangeClient, requestId: string) {
  try {
    const signal = cancellationSignal();
    return (await client.call('getBulkCreate', { params: { requestId } }, { signal })).answer;
  } catch (error) {
    if (error instanceof ExchangeCallError && error.kind === 'not-found') return undefined;
    throw error;
  }
}

async function freshLink(client: ExchangeClient, { requestId, link }: TakeBulkResultInput): Promise<string> {
  const url = (await stateOf(client, requestId))?.result ?? link;
  if (url !== undefined) return url;
  throw ApplicationFailure.retryable('The exchange gives no link to the result', 'unavailable');
}

async function told<R>(work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ExchangeCallError) throw asApplicationFailure(error);
    if (error instanceof UnreadableCsvError)
      throw ApplicationFailure.nonRetryable(error.message, 'bad-answer');
    if (error instanceof Error && error.name === 'BlobNotFoundError')
      throw ApplicationFailure.nonRetryable('The file is not in the store any more', 'file-lost');
    throw error;
  }
}
