import { BlobNotFoundError, type BlobRef, type BlobStore } from '../../shared/blobs/blob-store.ts';
import type { CsvLayout } from '../../shared/bulk-csv/layout.ts';
import { watched } from './check-upload.ts';
import { type ChunkPart, forgetParts, listParts, readBulkWork, setResult } from './chunk-store.ts';
import type { BulkEngineDeps, StepOptions } from './engine-steps.ts';
import { resultHeader } from './result-part.ts';
import { deleteTrialKeys } from './trial-store.ts';

/** Makes one result CSV of the parts; see `BulkEngine.join`. */
export async function joinResult(
  deps: BulkEngineDeps,
  accountId: string,
  requestId: string,
  options: StepOptions,
): Promise<BlobRef> {
  const { store, blobs } = deps;
  const { work, parts } = await store.asAccount(accountId, async (tx) => ({
    work: await readBulkWork(tx, requestId),
    parts: await listParts(tx, requestId),
  }));
  const result = work.result ?? (await write());
  // Only now, for until the result is the request's a further call needs the parts.
  await deleteParts(deps, accountId, requestId, parts);
  return result;

  async function write(): Promise<BlobRef> {
    if (work.layout === undefined) throw new Error('the format of the upload has not been checked');
    const refs = parts.map(({ chunk, part }) => part?.ref ?? notHandled(chunk));
    const joined = await blobs
      .put('result', watched(contentOf(blobs, work.layout, refs), options), 'text/csv')
      .catch(async (error: unknown) => {
        // A twin has joined them and deleted the parts.
        const other = error instanceof BlobNotFoundError ? await resultOfOther() : undefined;
        if (other === undefined) throw error;
        return other;
      });
    if (await store.asAccount(accountId, (tx) => setResult(tx, requestId, joined))) return joined;
    const other = await resultOfOther();
    if (other?.ref !== joined.ref) await blobs.delete(joined.ref);
    if (other === undefined) throw new Error('the request ended while its result was joined');
    return other;
  }

  async function resultOfOther(): Promise<BlobRef | undefined> {
    return (await store.asAccount(accountId, (tx) => readBulkWork(tx, requestId))).result;
  }
}

function notHandled(chunk: number): never {
  throw new Error(`chunk ${chunk} has not been handled`);
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
    await forgetParts(tx, requestId);
    await deleteTrialKeys(tx, requestId);
  });
}
