import type { RecordSource } from '../../contract/primitives.ts';
import type { AccountTx } from '../platform/database/database.ts';
import {
  type ConvertDeps,
  convertDocuments,
  documentsToConvert,
} from './conversion/convert-documents.ts';
import { MERGE_RULES, mergeBatch } from './merge/merge-batch.ts';
import {
  type PendingDelivery,
  pendingDeliveries,
  stillPending,
  unpackOrigins,
  withRecordLocked,
} from './merge/merge-store.ts';

/** Keeps patients' consolidated records up to date. */
export interface RecordKeeper {
  /**
   * Merges what the sources delivered since the last time, after converting
   * documents again that older rules converted; if there is nothing new, that
   * costs one short transaction. One merge at a time for each patient; safe to
   * call again after a crash.
   *
   * @param options.documentsOf a source whose new C-CDA documents are converted
   *   first (only workers do that)
   * @param options.atEnd run in the transaction after which nothing is pending,
   *   before its commit
   * @returns how many deliveries were new, changed or gone
   */
  merge(
    accountId: string,
    patientId: string,
    options?: {
      documentsOf?: RecordSource;
      atEnd?: (tx: AccountTx) => Promise<void>;
    },
  ): Promise<{ changed: number }>;
}

/**
 * Deliveries merged in one transaction, so that other transactions need not
 * wait long for the lock.
 */
const BATCH_DELIVERIES = 500;
/** Stored size of a batch; the content is compressed about fivefold. */
const BATCH_BYTES = 4_000_000;
/** Delivery identities held in memory at once. */
const LISTED_DELIVERIES = 20_000;

export function createRecordKeeper(deps: ConvertDeps): RecordKeeper {
  const { store } = deps;
  return {
    async merge(accountId, patientId, { documentsOf, atEnd = nothing } = {}) {
      const begun = await store.asAccount(
        accountId,
        async (tx) => {
          const documents = await documentsToConvert(
            tx,
            patientId,
            documentsOf,
          );
          // Most often there is none, and this transaction does it all.
          return documents.length > 0
            ? { documents }
            : { first: await mergeListed(tx, patientId, atEnd) };
        },
        withRecordLocked(patientId),
      );
      if (begun.documents !== undefined)
        await convertDocuments(deps, { accountId, patientId }, begun.documents);
      let changed = 0;
      for (let next = begun.first; ; next = undefined) {
        const { merged, left } =
          next ?? (await mergeNext(accountId, patientId, atEnd));
        changed += merged;
        // Later deliveries are merged by the step that stores them.
        if (left.length === 0) return { changed };
        const areAllListed = merged + left.flat().length < LISTED_DELIVERIES;
        for (const [index, batch] of left.entries()) {
          changed += await store.asAccount(
            accountId,
            async (tx) => {
              await unpackOrigins(tx, patientId);
              const places = await stillPending(
                tx,
                patientId,
                MERGE_RULES,
                batch,
              );
              if (places.length > 0) await mergeBatch(tx, patientId, places);
              if (areAllListed && index === left.length - 1) await atEnd(tx);
              return places.length;
            },
            withRecordLocked(patientId),
          );
        }
        if (areAllListed) return { changed };
      }
    },
  };

  function mergeNext(
    accountId: string,
    patientId: string,
    atEnd: AtEnd,
  ): Promise<MergedFirst> {
    return store.asAccount(
      accountId,
      (tx) => mergeListed(tx, patientId, atEnd),
      withRecordLocked(patientId),
    );
  }
}

/**
 * What one transaction has merged, and what it has listed for the next ones.
 */
interface MergedFirst {
  merged: number;
  left: PendingDelivery[][];
}

type AtEnd = (tx: AccountTx) => Promise<void>;
const nothing: AtEnd = async () => undefined;

/**
 * Lists pending deliveries and merges the first batch of them; calls `atEnd` if
 * that is all. The caller holds the record's lock.
 */
async function mergeListed(
  tx: AccountTx,
  patientId: string,
  atEnd: AtEnd,
): Promise<MergedFirst> {
  const pending = await pendingDeliveries(
    tx,
    patientId,
    MERGE_RULES,
    LISTED_DELIVERIES,
  );
  const [first = [], ...left] = batchesOf(pending);
  if (first.length > 0) await mergeBatch(tx, patientId, first);
  if (left.length === 0) await atEnd(tx);
  return { merged: first.length, left };
}

function batchesOf(pending: readonly PendingDelivery[]): PendingDelivery[][] {
  const batches: PendingDelivery[][] = [];
  let batch: PendingDelivery[] = [];
  let sizeBytes = 0;
  for (const delivery of pending) {
    if (
      batch.length === BATCH_DELIVERIES ||
      (batch.length > 0 && sizeBytes + delivery.sizeBytes > BATCH_BYTES)
    ) {
      batches.push(batch);
      batch = [];
      sizeBytes = 0;
    }
    batch.push(delivery);
    sizeBytes += delivery.sizeBytes;
  }
  return batch.length === 0 ? batches : [...batches, batch];
}
