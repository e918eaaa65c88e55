import {
  fittedTables,
  renderHtml,
  renderPdf,
  summarise,
} from '#record-summary';
import type { ConsolidatedEnd } from '../../../contract/consolidated-query-workflow.ts';
import type { Platform } from '../../platform/platform.ts';
import { consolidatedBundle } from '../../records/reading/read-consolidated.ts';
import { openRecordReader } from '../../records/reading/record-reader.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import {
  readConsolidatedQuery,
  type StoredConsolidatedQuery,
} from './query-store.ts';
import { RESULT_FORMATS } from './result-link.ts';
import { endAndAnnounce } from './transitions.ts';

/** Builds the results of consolidated queries. */
export type ConsolidatedBuilder = ReturnType<typeof createConsolidatedBuilder>;

interface QueryOf {
  accountId: string;
  requestId: string;
}

export interface BuilderDeps
  extends Pick<Platform, 'store' | 'blobs' | 'publicBaseUrl'> {
  records: RecordKeeper;
}

export function createConsolidatedBuilder(deps: BuilderDeps) {
  const { store, blobs } = deps;
  const read = ({ accountId, requestId }: QueryOf) =>
    store.asAccount(accountId, (tx) => readConsolidatedQuery(tx, requestId));

  return {
    /**
     * Writes the result in bounded memory and ends the query. A query that has
     * already ended is left unchanged.
     */
    async build(of: QueryOf, signal?: AbortSignal): Promise<ConsolidatedEnd> {
      const { accountId, requestId } = of;
      const query = await read(of);
      if (query?.status !== 'processing') return endOf(query);
      await deps.records.merge(accountId, query.patientId);
      const result = await blobs.put(
        'consolidated',
        bytesOf(contentOf(deps, accountId, query), signal),
        RESULT_FORMATS[query.conversionType].contentType,
      );
      const ended = await store.asAccount(accountId, (tx) =>
        endAndAnnounce(tx, requestId, { result }),
      );
      // Another execution has ended the query in the meantime, so no row refers
      // to this result.
      if (ended === undefined) await blobs.delete(result.ref);
      return endOf(ended ?? (await read(of)));
    },

    /**
     * Ends the query as failed, unless it has already ended. @param reason
     * shown to the caller
     */
    async fail(of: QueryOf, reason: string): Promise<ConsolidatedEnd> {
      await store.asAccount(of.accountId, (tx) =>
        endAndAnnounce(tx, of.requestId, { reason }),
      );
      return endOf(await read(of));
    },
  };
}

/** @throws NotFoundError when the patient no longer exists */
async function* contentOf(
  { store, publicBaseUrl }: BuilderDeps,
  accountId: string,
  query: StoredConsolidatedQuery,
): AsyncGenerator<string | Uint8Array> {
  const { patientId, resources, dateFrom, dateTo, conversionType } = query;
  const of = {
    accountId,
    patientId,
    filter: { types: resources, dateFrom, dateTo },
  };
  if (conversionType === 'json') {
    yield* consolidatedBundle(store, { ...of, publicBaseUrl });
    return;
  }
  const reader = await openRecordReader(store, of);
  const summary = fittedTables(
    summarise(reader, { filter: of.filter, madeAt: new Date() }),
  );
  yield* conversionType === 'html' ? renderHtml(summary) : renderPdf(summary);
}

/**
 * Joins the content to larger pieces, so that a blob is not written resource by
 * resource. Throws when the signal aborts.
 */
async function* bytesOf(
  content: AsyncIterable<string | Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let waiting: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const piece of content) {
    signal?.throwIfAborted();
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
    waiting.push(bytes);
    sizeBytes += bytes.length;
    if (sizeBytes < PIECE_BYTES) continue;
    yield Buffer.concat(waiting);
    waiting = [];
    sizeBytes = 0;
  }
  yield Buffer.concat(waiting);
}

const PIECE_BYTES = 64 * 1024;

function endOf(query: StoredConsolidatedQuery | undefined): ConsolidatedEnd {
  if (query === undefined) return { state: 'gone' };
  if (query.status === 'completed')
    return { state: 'completed', sizeBytes: query.result?.sizeBytes };
  return { state: 'failed', reason: query.reason };
}
