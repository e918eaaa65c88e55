import { checkCsv } from '../../../shared/bulk-csv/check-csv.ts';
import { readBulkWork, setLayout } from './chunk-store.ts';
import type { BulkEngineDeps, CheckOutcome, StepOptions } from './engine-steps.ts';

/** The first pass over the upload; see `BulkEngine.check`. */
export async function checkUpload(
  { store, blobs, chunkRows }: BulkEngineDeps,
  accountId: string,
  requestId: string,
  options: StepOptions,
): Promise<CheckOutcome> {
  const before = await store.asAccount(accountId, (tx) => readBulkWork(tx, requestId));
  if (before.layout !== undefined) return { kind: 'ok', rows: before.counts.rows };
  if (before.upload === undefined) throw new Error('The bulk create has no upload to check');
  const content = await blobs.get(before.upload.ref);
  const checked = await checkCsv(withHeartbeat(content, options), { chunkRows });
  if (checked.kind === 'refused') return checked;
  // False when another execution of this step has stored the same layout, or the request has ended; the next step notices.
  await store.asAccount(accountId, (tx) => setLayout(tx, requestId, checked));
  return { kind: 'ok', rows: checked.rows };
}

/** Passes the bytes on, calls `heartbeat` for each block, and throws the signal's reason once it is aborted. */
export async function* withHeartbeat(
  content: AsyncIterable<Uint8Array>,
  { signal, heartbeat }: StepOptions,
): AsyncGenerator<Uint8Array> {
  for await (const block of content) {
    signal?.throwIfAborted();
    heartbeat?.();
    yield block;
  }
}
