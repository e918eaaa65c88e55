import { BlobNotFoundError, type BlobRef, type BlobStore } from '../../../shared/blobs/blob-store.ts';
import type { CsvLayout } from '../../../shared/bulk-csv/layout.ts';
import { withHeartbeat } from './check-upload.ts';
import { type ChunkPart, clearParts, listParts, readBulkWork, setResult } from './chunk-store.ts';
import type { BulkEngineDeps, StepOptions } from './engine-steps.ts';
import { resultHeader } from './result-csv.ts';
import { deleteTrialKeys } from './trial-store.ts';

/** Joins the parts to one result CSV; see `BulkEngine.join`. */
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
  // Not earlier: until the result is set on the request, a repeated call needs the parts.
  await deleteParts(deps, accountId, requestId, parts);
  return result;

  async function write(): Promise<BlobRef> {
    if (work.layout === undefined) throw new Error('The format of the upload has not been checked');
    const refs = parts.map(({ chunk, part }) => part?.ref ?? failUnprocessed(chunk));
    const joined = await blobs
      .put('result', withHeartbeat(contentOf(blobs, work.layout, refs), options), 'text/csv')
      .catch(async (error: unknown) => {
        // Another execution of this step has joined the parts and deleted them.
        const other = error instanceof BlobNotFoundError ? await storedResult() : undefined;
        if (other === undefined) throw error;
        return other;
      });
    if (await store.asAccount(accountId, (tx) => setResult(tx, requestId, joined))) return joined;
    const other = await storedResult();
    if (other?.ref !== joined.ref) await blobs.delete(joined.ref);
    if (other === undefined) throw new Error('The bulk create ended while its result was joined');
    return other;
  }

  async function storedResult(): Promise<BlobRef | undefined> {
    return (await store.asAccount(accountId, (tx) => readBulkWork(tx, requestId))).result;
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
