import { v7 as uuidv7 } from 'uuid';
import type { QuerySweepProgress, SweepPace } from '../../contract/bulk-create-workflow.ts';
import type { SourceType } from '../../contract/primitives.ts';
import { findAccount } from '../accounts/account-store.ts';
import type { AccountSettings } from '../accounts/tables.ts';
import { callbackHash, callbackToken } from '../network-query/callback-token.ts';
import { type BackgroundRoom, readBackgroundRoom, takeBackgroundRoom } from '../network-query/prepare.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { insertSweepQueries, markSwept, nextToSweep, passOver, type SweepMark } from './page-store.ts';
import { askedSources, type PagePlan, planPage, sweptSources } from './plan-page.ts';
import { countOpenQueries, lockSweep, readSweepCounts } from './sweep-store.ts';

/** Key of the metadata of each query that a sweep starts; its webhooks carry it. */
const BULK_METADATA_KEY = 'bulk.requestId';
/** Patients that are looked at in one statement after a page on which nobody was to be asked. */
const PASS_OVER_AT_ONCE = 10_000;

export interface SweptPage {
  progress: QuerySweepProgress;
  /** Queries whose workflows are to be started now that the transaction is committed. */
  queryIds: string[];
  /** Why the next patient has to wait. */
  waitFor?: { what: 'window' } | { what: 'limit'; resetMs: number };
}

/**
 * Starts the queries of a sweep's next patients as far as its window and the sources' limits let it. Marks, counts,
 * limits and queries are one transaction that nobody shares: what is cut off has done nothing, what is done twice
 * goes on where the first one ended. The counters of the limits, which everybody needs, are taken last; throws
 * OvertakenError when others have used the room meanwhile.
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
    // One more than can be started tells whether the page is the last one.
    const patients = await nextToSweep(tx, requestId, pace.pageSize + 1);
    const rooms = await readBackgroundRoom(tx, account.settings, sweptSources(account.settings));
    const plan = planPage(patients, account.settings, bySource(rooms), Math.min(pace.pageSize, window));
    const marks = await write(tx, requestId, plan, callbackKey);
    queryIds.push(...marks.flatMap(({ queryId }) => queryId ?? []));

    const isLast = marks.length === patients.length && patients.length <= pace.pageSize;
    await markSwept(tx, requestId, marks, isLast ? 'completed' : sweep.state);
    if (!isLast) waitFor = reasonToWait(plan, rooms, window);
    if (!isLast && plan.skipped.length === patients.length)
      await passOverMore(tx, requestId, account.settings);
    await takeBackgroundRoom(tx, account.settings, startsOf(plan, rooms));
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

/** Where nobody was to be asked, there are often many of them: whole panels opt out, or the account has no source. */
async function passOverMore(tx: AccountTx, requestId: string, settings: AccountSettings): Promise<void> {
  const asksNothing = (hieOptOut: boolean) => askedSources(settings, { hieOptOut }).length === 0;
  await passOver(tx, requestId, {
    ofNext: PASS_OVER_AT_ONCE,
    optedOut: asksNothing(true),
    others: asksNothing(false),
  });
}

async function write(
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
