import { setTimeout as delay } from 'node:timers/promises';
import type { Store } from '../../platform/database/database.ts';
import type { Recovery } from '../../platform/recovery/recovery.ts';
import {
  forgetToPack,
  moveContents,
  moveOrigins,
  noteNotPacked,
  notePackedUpTo,
  type PackingMode,
  postponeToPack,
  type RecordAtRest,
  readPacking,
  recordsAfter,
  recordsToPack,
  settleToPack,
} from './packing-store.ts';

/** Contents moved in one transaction, so that others need not wait long. */
const CONTENTS_AT_ONCE = 500;
const PAUSE_MAX_MS = 1_000;

type Stores = Pick<Store, 'asAccount' | 'asSystem'>;

/**
 * Packs the records that are at rest, or takes them out of packs, as the operator
 * has set it; first those into which something was merged, then slice by slice
 * all that were there before. It rests as long as it works. Each record is by
 * itself: what is killed goes on with the record it was at.
 */
export const packingRecovery = (store: Stores): Recovery => ({
  name: 'records to pack',
  canWait: true,
  async takeUp({ limit, signal }) {
    const { mode, upTo, setAt } = await store.asSystem(readPacking);
    if (mode === 'off') {
      await store.asSystem(forgetToPack);
      return { found: 0, healed: 0, failures: [] };
    }
    const due = await store.asSystem((tx) => recordsToPack(tx, limit));
    const taken = await moveEach(store, mode, due, signal);
    const isBehind = due.length === limit || signal.aborted;
    if (upTo === null || isBehind) return { ...taken, isBehind };
    const next = await store.asSystem((tx) => recordsAfter(tx, upTo, limit));
    const swept = await moveEach(store, mode, next, signal);
    const isLast = next.length < limit && swept.looked === next.length;
    const last = isLast ? null : (next[swept.looked - 1]?.patientId ?? upTo);
    await store.asSystem((tx) => notePackedUpTo(tx, setAt, last));
    return {
      found: taken.found + swept.found,
      healed: taken.healed + swept.healed,
      failures: [...taken.failures, ...swept.failures],
      isBehind: !isLast,
    };
  },
});

/** Until the signal aborts; `looked` are those that need not be looked at again. */
async function moveEach(
  store: Stores,
  mode: Exclude<PackingMode, 'off'>,
  records: readonly RecordAtRest[],
  signal: AbortSignal,
) {
  const taken = { found: 0, healed: 0, looked: 0, failures: [] as unknown[] };
  for (const record of records) {
    if (signal.aborted) break;
    try {
      const moved = await moveRecord(store, mode, record, signal);
      if (moved === undefined) break;
      taken.looked += 1;
      if (moved === 0) continue;
      taken.healed += 1;
    } catch (error) {
      taken.looked += 1;
      taken.failures.push(error);
      await store.asAccount(record.accountId, (tx) =>
        noteNotPacked(tx, record.patientId),
      );
    }
    taken.found += 1;
  }
  return taken;
}

/**
 * Moves the contents of a record, some in each transaction, and with the last of
 * them what the merge knows of it.
 *
 * @returns how much was moved; undefined if the signal has aborted before the last
 */
async function moveRecord(
  store: Stores,
  mode: Exclude<PackingMode, 'off'>,
  record: RecordAtRest,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { accountId, patientId } = record;
  let all = 0;
  for (;;) {
    const begunAt = performance.now();
    const moved = await store.asAccount(accountId, async (tx) => {
      const some = await moveContents(tx, mode, patientId, CONTENTS_AT_ONCE);
      const areAll = some !== null && some < CONTENTS_AT_ONCE;
      const origins = areAll ? await moveOrigins(tx, mode, patientId) : 0;
      if (areAll) await settleToPack(tx, patientId);
      else if (some === null) await postponeToPack(tx, patientId);
      return { some, areAll, origins };
    });
    all += (moved.some ?? 0) + moved.origins;
    await delay(Math.min(performance.now() - begunAt, PAUSE_MAX_MS));
    if (moved.some === null || moved.areAll) return all;
    if (signal.aborted) return undefined;
  }
}
