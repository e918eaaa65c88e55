import {
  BlobNotFoundError,
  type BlobRef,
  type BlobStore,
} from '../../../shared/blobs/blob-store.ts';
import { checkCsv } from '../../../shared/bulk-csv/check-csv.ts';
import type { CsvLayout } from '../../../shared/bulk-csv/layout.ts';
import {
  type ChunkPart,
  clearParts,
  listParts,
  setLayout,
  setResult,
} from './chunk-store.ts';
import type {
  BulkEngineDeps,
  CheckOutcome,
  ProcessOptions,
  StepOptions,
} from './engine-steps.ts';
import { deleteTrialKeys } from './patient-store.ts';
import { processChunks } from './process-chunks.ts';
import { expectBulkRequest } from './request-store.ts';
import { resultHeader } from './result-csv.ts';

export type BulkEngine = ReturnType<typeof createBulkEngine>;

/**
 * Turns the upload of a bulk create into patients. Each step may be killed at
 * any point and repeated, and may run twice at once.
 */
export function createBulkEngine(deps: BulkEngineDeps) {
  return {
    /**
     * Checks the format of the whole upload. If it is valid, layout, number of
     * rows and chunks are written in one transaction; if not, nothing is
     * written, and the caller fails the request with the reason.
     */
    check: (accountId: string, requestId: string, options: StepOptions = {}) =>
      checkUpload(deps, accountId, requestId, options),
    /**
     * Processes the next open chunks in file order, one transaction each. Does
     * nothing unless the status is processing.
     */
    processChunks: (
      accountId: string,
      requestId: string,
      options: ProcessOptions = {},
    ) => processChunks(deps, accountId, requestId, options),
    /**
     * Joins the parts to the result CSV, sets it as the request's `result` and
     * deletes the parts. A repeated call returns the same result. Ending the
     * request (status, event) is left to the caller.
     */
    join: (accountId: string, requestId: string, options: StepOptions = {}) =>
      joinResult(deps, accountId, requestId, options),
  };
}

/** Joins the parts to one result CSV; see `BulkEngine.join`. */
async function joinResult(
  deps: BulkEngineDeps,
  accountId: string,
  requestId: string,
  options: StepOptions,
): Promise<BlobRef> {
  const { store, blobs } = deps;
  const { work, parts } = await store.asAccount(accountId, async (tx) => ({
    work: await expectBulkRequest(tx, requestId),
    parts: await listParts(tx, requestId),
  }));
  const result = work.result ?? (await write());
  // Not earlier: until the result is set on the request, a repeated call needs
  // the parts.
  await deleteParts(deps, accountId, requestId, parts);
  return result;

  async function write(): Promise<BlobRef> {
    if (work.layout === undefined)
      throw new Error('The format of the upload has not been checked');
    const refs = parts.map(
      ({ chunk, part }) => part?.ref ?? failUnprocessed(chunk),
    );
    const joined = await blobs
      .put(
        'result',
        withHeartbeat(contentOf(blobs, work.layout, refs), options),
        'text/csv',
      )
      .catch(async (error: unknown) => {
        // Another execution of this step has joined the parts and deleted them.
        const other =
          error instanceof BlobNotFoundError ? await storedResult() : undefined;
        if (other === undefined) throw error;
        return other;
      });
    if (
      await store.asAccount(accountId, (tx) => setResult(tx, requestId, joined))
    )
      return joined;
    const other = await storedResult();
    if (other?.ref !== joined.ref) await blobs.delete(joined.ref);
    if (other === undefined)
      throw new Error('The bulk create ended while its result was joined');
    return other;
  }

  async function storedResult(): Promise<BlobRef | undefined> {
    return (
      await store.asAccount(accountId, (tx) => expectBulkRequest(tx, requestId))
    ).result;
  }
}

function failUnprocessed(chunk: number): never {
  throw new Error(`Chunk ${chunk} has not been processed`);
}

async function* contentOf(
  blobs: BlobStore,
  layout: CsvLayout,
  refs: readonly string[],
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(resultHeader(layout), 'utf8');
  for (const ref of refs) yield* await blobs.get(ref);
}

async function deleteParts(
  { store, blobs }: BulkEngineDeps,
  accountId: string,
  requestId: string,
  parts: readonly ChunkPart[],
): Promise<void> {
  for (const { part } of parts) if (part !== null) await blobs.delete(part.ref);
  await store.asAccount(accountId, async (tx) => {
    await clearParts(tx, requestId);
    await deleteTrialKeys(tx, requestId);
  });
}

/** The first pass over the upload; see `BulkEngine.check`. */
async function checkUpload(
  { store, blobs, chunkRows }: BulkEngineDeps,
  accountId: string,
  requestId: string,
  options: StepOptions,
): Promise<CheckOutcome> {
  const before = await store.asAccount(accountId, (tx) =>
    expectBulkRequest(tx, requestId),
  );
  if (before.layout !== undefined)
    return { kind: 'ok', rows: before.counts.rows };
  if (before.upload === undefined)
    throw new Error('The bulk create has no upload to check');
  const content = await blobs.get(before.upload.ref);
  const checked = await checkCsv(withHeartbeat(content, options), {
    chunkRows,
  });
  if (checked.kind === 'refused') return checked;
  // False when another execution of this step has stored the same layout, or
  // the request has ended; the next step notices.
  await store.asAccount(accountId, (tx) => setLayout(tx, requestId, checked));
  return { kind: 'ok', rows: checked.rows };
}

/**
 * Passes the bytes on, calls `heartbeat` for each block, and throws the
 * signal's reason once it is aborted.
 */
async function* withHeartbeat(
  content: AsyncIterable<Uint8Array>,
  { signal, heartbeat }: StepOptions,
): AsyncGenerator<Uint8Array> {
  for await (const block of content) {
    signal?.throwIfAborted();
    heartbeat?.();
    yield block;
  }
}
