import { v7 as uuidv7 } from 'uuid';
import type { QuerySweepProgress, SweepPace } from '../../../contract/bulk-create-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { findAccount } from '../../access/accounts/account-store.ts';
import type { AccountSettings } from '../../platform/account.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { callbackHash, callbackToken } from '../network-query/callback-token.ts';
import { type BackgroundRoom, readSweepRoom, takeSweepRoom } from '../network-query/prepare.ts';
import { insertSweepQueries, markSwept, nextToSweep, type SweepMark, skipNext } from './page-store.ts';
import { askedSources, type PagePlan, planPage, sweptSources } from './plan-page.ts';
import { countOpenQueries, lockSweep, readSweepCounts } from './sweep-store.ts';

/** Metadata key by which a post-import query, and its webhooks, name the bulk create. */
const BULK_METADATA_KEY = 'bulk.requestId';
/** Patients checked in one statement after a page on which every patient was skipped. */
const SKIP_AT_ONCE = 10_000;

export interface SweptPage {
  progress: QuerySweepProgress;
  /** Queries whose workflows the caller starts after the commit. */
  queryIds: string[];
  /** Why the next patient has to wait: for running queries to end, or for a rate limit to reset. */
  waitFor?: { what: 'window' } | { what: 'limit'; resetMs: number };
}

/**
 * Writes the queries of the next patients, as far as the window of running queries and the sources' limits allow. Outcomes,
 * counts, limits and queries are one transaction under the lock on the sweep's row: an interrupted call has no effect, and a
 * repeated one continues where the first ended. The rate limit counters, which all queries share, are locked last.
 *
 * @returns undefined when the bulk create or the account no longer exists
 * @throws OvertakenError when other transactions have used the rate limit meanwhile
 */
export async function startPage(
  tx: AccountTx,
  requestId: string,
  pace: SweepPace,
  callbackKey: string,
): Promise<SweptPage | undefined> {
  const sweep = await lockSweep(tx, requestId);
  const account = await findAccount(tx, tx.accountId);
  if (sweep === undefined || account === undefined) return undefined;
  const queryIds: string[] = [];
  let waitFor: SweptPage['waitFor'];
  if (sweep.ended_at === null) {
    const { open, busy } = await countOpenQueries(tx, requestId);
    const window = Math.max(0, Math.min(pace.windowSize - busy, pace.openMax - open));
    // One patient more than fits on the page shows whether this page is the last.
    const patients = await nextToSweep(tx, requestId, pace.pageSize + 1);
    const rooms = await readSweepRoom(tx, account.settings, sweptSources(account.settings));
    const plan = planPage(patients, account.settings, bySource(rooms), Math.min(pace.pageSize, window));
    const marks = await insertPlanned(tx, requestId, plan, callbackKey);
    queryIds.push(...marks.flatMap(({ queryId }) => queryId ?? []));

    const isLast = marks.length === patients.length && patients.length <= pace.pageSize;
    await markSwept(tx, requestId, marks, isLast ? 'completed' : sweep.state);
    if (!isLast) waitFor = reasonToWait(plan, rooms, window);
    if (!isLast && plan.skipped.length === patients.length) await skipMore(tx, requestId, account.settings);
    await takeSweepRoom(tx, account.settings, startsOf(plan, rooms));
  }
  const progress = await readSweepCounts(tx, requestId);
  return progress && { progress, queryIds, waitFor };
}

const bySource = (rooms: readonly BackgroundRoom[]): Map<SourceType, number> =>
  new Map(rooms.map(({ source, room }) => [source, room]));

const startsOf = ({ starting }: PagePlan, rooms: readonly BackgroundRoom[]) =>
  rooms.map(({ source }) => ({
    source,
    count: starting.filter(({ sources }) => sources.includes(source)).length,
  }));

/** After a page of skipped patients, many more often follow: a whole panel opted out, or no source is enabled. */
async function skipMore(tx: AccountTx, requestId: string, settings: AccountSettings): Promise<void> {
  const asksNothing = (hieOptOut: boolean) => askedSources(settings, { hieOptOut }).length === 0;
  await skipNext(tx, requestId, {
    ofNext: SKIP_AT_ONCE,
    optedOut: asksNothing(true),
    others: asksNothing(false),
  });
}

/** Inserts the planned queries and returns the outcome of each patient, started or skipped. */
async function insertPlanned(
  tx: AccountTx,
  requestId: string,
  { starting, skipped }: PagePlan,
  callbackKey: string,
): Promise<SweepMark[]> {
  const queries = starting.map(({ patientId, sources }) => {
    const id = uuidv7();
    return {
      id,
      patientId,
      metadata: { [BULK_METADATA_KEY]: requestId },
      sources: sources.map((source) => ({
        source,
        callbackHash: callbackHash(callbackToken(callbackKey, id, source, 1)),
      })),
    };
  });
  await insertSweepQueries(tx, queries);
  return [
    ...queries.map(({ id, patientId }) => ({ patientId, outcome: 'started' as const, queryId: id })),
    ...skipped.map((patientId) => ({ patientId, outcome: 'skipped' as const })),
  ];
}

function reasonToWait(
  { starting, blockedBy }: PagePlan,
  rooms: readonly BackgroundRoom[],
  window: number,
): SweptPage['waitFor'] {
  if (blockedBy.length > 0) {
    const resets = rooms.filter(({ source }) => blockedBy.includes(source)).map(({ resetMs }) => resetMs);
    return { what: 'limit', resetMs: Math.max(...resets) };
  }
  return starting.length >= window ? { what: 'window' } : undefined;
}
