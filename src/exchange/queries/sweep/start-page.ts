import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type {
  QuerySweepProgress,
  SweepPace,
} from '../../../contract/bulk-create-workflow.ts';
import type { RequestedSource } from '../../../contract/network-query.ts';
import { SOURCE_TYPES, type SourceType } from '../../../contract/primitives.ts';
import { findAccount } from '../../access/accounts/account-store.ts';
import type { AccountSettings } from '../../platform/account.ts';
import { columnsOf } from '../../platform/database/columns.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { sqlFile } from '../../platform/database/pg-arrays.ts';
import { callbackHash, callbackToken } from '../network-query/attempt-store.ts';
import {
  type BackgroundRoom,
  readSweepRoom,
  takeSweepRoom,
  whyNotAsked,
} from '../network-query/prepare.ts';
import { countOpenQueries, lockSweep, readSweepCounts } from './sweep-store.ts';
import type { SweepState } from './tables.ts';

const SKIP_NEXT = sqlFile('skip-next.sql', import.meta.url);

/**
 * Metadata key by which a post-import query, and its webhooks, name the bulk
 * create.
 */
const BULK_METADATA_KEY = 'bulk.requestId';
/**
 * Patients checked in one statement after a page on which every patient was
 * skipped.
 */
const SKIP_AT_ONCE = 10_000;

export interface SweptPage {
  progress: QuerySweepProgress;
  /** Queries whose workflows the caller starts after the commit. */
  queryIds: string[];
  /**
   * Why the next patient has to wait: for running queries to end, or for a rate
   * limit to reset.
   */
  waitFor?: { what: 'window' } | { what: 'limit'; resetMs: number };
}

/**
 * Writes the queries of the next patients, as far as the window of running
 * queries and the sources' limits allow. Outcomes, counts, limits and queries
 * are one transaction under the lock on the sweep's row: an interrupted call
 * has no effect, and a repeated one continues where the first ended. The rate
 * limit counters, which all queries share, are locked last.
 *
 * @returns undefined when the bulk create or the account no longer exists
 * @throws OvertakenError when other transactions have used the rate limit
 *   meanwhile
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
    const window = Math.max(
      0,
      Math.min(pace.windowSize - busy, pace.openMax - open),
    );
    // One patient more than fits on the page shows whether this page is the
    // last.
    const patients = await nextToSweep(tx, requestId, pace.pageSize + 1);
    const rooms = await readSweepRoom(
      tx,
      account.settings,
      sweptSources(account.settings),
    );
    const plan = planPage(
      patients,
      account.settings,
      bySource(rooms),
      Math.min(pace.pageSize, window),
    );
    const marks = await insertPlanned(tx, requestId, plan, callbackKey);
    queryIds.push(...marks.flatMap(({ queryId }) => queryId ?? []));

    const isLast =
      marks.length === patients.length && patients.length <= pace.pageSize;
    await markSwept(tx, requestId, marks, isLast ? 'completed' : sweep.state);
    if (!isLast) waitFor = reasonToWait(plan, rooms, window);
    if (!isLast && plan.skipped.length === patients.length)
      await skipMore(tx, requestId, account.settings);
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

/**
 * After a page of skipped patients, many more often follow: a whole panel opted
 * out, or no source is enabled.
 */
async function skipMore(
  tx: AccountTx,
  requestId: string,
  settings: AccountSettings,
): Promise<void> {
  const asksNothing = (hieOptOut: boolean) =>
    askedSources(settings, { hieOptOut }).length === 0;
  await skipNext(tx, requestId, {
    ofNext: SKIP_AT_ONCE,
    optedOut: asksNothing(true),
    others: asksNothing(false),
  });
}

/**
 * Inserts the planned queries and returns the outcome of each patient, started
 * or skipped.
 */
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
    ...queries.map(({ id, patientId }) => ({
      patientId,
      outcome: 'started' as const,
      queryId: id,
    })),
    ...skipped.map((patientId) => ({ patientId, outcome: 'skipped' as const })),
  ];
}

function reasonToWait(
  { starting, blockedBy }: PagePlan,
  rooms: readonly BackgroundRoom[],
  window: number,
): SweptPage['waitFor'] {
  if (blockedBy.length > 0) {
    const resets = rooms
      .filter(({ source }) => blockedBy.includes(source))
      .map(({ resetMs }) => resetMs);
    return { what: 'limit', resetMs: Math.max(...resets) };
  }
  return starting.length >= window ? { what: 'window' } : undefined;
}

/**
 * Sources of post-import queries, unless the account's settings name others
 * (docs/interface.md, "Bulk CSV").
 */
const DEFAULT_SOURCES: readonly SourceType[] = ['hie'];

interface PagePlan {
  starting: { patientId: string; sources: SourceType[] }[];
  /** Patients who were deleted, or for whom no source may be asked. */
  skipped: string[];
  /**
   * Sources whose background limit of this minute is used up, so that the next
   * patient must wait.
   */
  blockedBy: SourceType[];
}

const sweptSources = (settings: AccountSettings): SourceType[] => [
  ...new Set(settings.bulk?.sources ?? DEFAULT_SOURCES),
];

/** The sources that may be asked about such a patient. */
const askedSources = (
  settings: AccountSettings,
  patient: { hieOptOut: boolean; denied?: SourceType[] },
): SourceType[] =>
  sweptSources(settings).filter(
    (source) =>
      whyNotAsked(
        source,
        { account: { settings }, patient },
        new Set(patient.denied),
      ) === undefined,
  );

/**
 * Decides which of the next patients are started, in their order. A patient is
 * started with all of its sources or waits; no later patient is started first.
 *
 * @param rooms for each source, how many queries may still start in this minute
 * @param startsMax how many patients may be started at most
 */
function planPage(
  patients: readonly SweptPatient[],
  settings: AccountSettings,
  rooms: ReadonlyMap<SourceType, number>,
  startsMax: number,
): PagePlan {
  const plan: PagePlan = { starting: [], skipped: [], blockedBy: [] };
  const remaining = new Map(rooms);
  for (const { patientId, patient } of patients) {
    const sources =
      patient === undefined ? [] : askedSources(settings, patient);
    if (sources.length === 0) {
      plan.skipped.push(patientId);
      continue;
    }
    if (plan.starting.length >= startsMax) break;
    plan.blockedBy = sources.filter(
      (source) => (remaining.get(source) ?? 0) < 1,
    );
    if (plan.blockedBy.length > 0) break;
    for (const source of sources)
      remaining.set(source, (remaining.get(source) ?? 0) - 1);
    plan.starting.push({ patientId, sources });
  }
  return plan;
}

/** A patient of a bulk create who is to be queried. */
interface SweptPatient {
  patientId: string;
  /** Undefined when the patient has been deleted since. */
  patient?: { id: string; hieOptOut: boolean; denied: SourceType[] };
}

/** What the consents of a patient exclude, as `deniedSources` has it. */
const DENIED = sql<
  SourceType[]
>`array(select unnest(case s when '{}' then ${[...SOURCE_TYPES]}::text[] else s end)
  from denied_sources(patient.id, 'treatment') as s)`;

/**
 * The next `count` patients without an outcome, in file order; locked, so that
 * none is deleted before the transaction ends.
 */
async function nextToSweep(
  tx: AccountTx,
  requestId: string,
  count: number,
): Promise<SweptPatient[]> {
  const next = await tx.db
    .selectFrom('bulk_patient')
    .select('patient_id')
    .where('request_id', '=', requestId)
    .where('sweep_outcome', 'is', null)
    .orderBy('first_row')
    .orderBy('patient_id')
    .limit(count)
    .execute();
  if (next.length === 0) return [];
  const ids = next.map(({ patient_id }) => patient_id);
  const patients = await tx.db
    .selectFrom('patient')
    .select(['id', 'hie_opt_out as hieOptOut', DENIED.as('denied')])
    .where('id', 'in', ids)
    .orderBy('id')
    .forKeyShare()
    .execute();
  const found = new Map(patients.map((patient) => [patient.id, patient]));
  return ids.map((patientId) => ({ patientId, patient: found.get(patientId) }));
}

export interface SweepQuery {
  id: string;
  patientId: string;
  metadata: Record<string, string>;
  sources: { source: SourceType; callbackHash: Buffer }[];
}

/**
 * Inserts many queries with their first run, attempts and timeline entry; one
 * statement for each table.
 */
async function insertSweepQueries(
  tx: AccountTx,
  queries: readonly SweepQuery[],
): Promise<void> {
  if (queries.length === 0) return;
  const account_id = tx.accountId;
  await tx.db
    .insertInto('network_query')
    .values(
      queries.map((query) => ({
        id: query.id,
        account_id,
        patient_id: query.patientId,
        purpose_of_use: 'treatment' as const,
        origin: 'bulk' as const,
        metadata: JSON.stringify(query.metadata),
        requested: JSON.stringify(
          query.sources.map(
            ({ source }): RequestedSource => ({ source, realtime: false }),
          ),
        ),
        status: 'running' as const,
      })),
    )
    .execute();
  await tx.db
    .insertInto('network_query_run')
    .values(
      queries.map(({ id: queryId, sources: all }) =>
        columnsOf({
          queryId,
          run: 0,
          accountId: account_id,
          sources: all.map(({ source }) => source),
        }),
      ),
    )
    .execute();
  await tx.db
    .insertInto('network_query_attempt')
    .values(
      queries.flatMap(({ id: queryId, sources }) =>
        sources.map((each) =>
          columnsOf({
            queryId,
            ...each,
            accountId: account_id,
            ...FIRST_ATTEMPT,
          }),
        ),
      ),
    )
    .execute();
  await tx.db
    .insertInto('network_query_timeline')
    .values(
      queries.map(({ id, sources }) => ({
        query_id: id,
        account_id,
        kind: 'query-accepted',
        message: `Query accepted for ${sources.map(({ source }) => source).join(', ')} after a bulk create; it starts now`,
      })),
    )
    .execute();
}

const FIRST_ATTEMPT = { attempt: 1, run: 0, status: 'running' as const };

interface SweepMark {
  patientId: string;
  outcome: 'started' | 'skipped' | 'failed';
  queryId?: string;
}

/**
 * Records the outcome of patients, adds to the counts and sets the state;
 * `completed` also ends the post-import queries. An outcome that is already
 * recorded stays.
 */
async function markSwept(
  tx: AccountTx,
  requestId: string,
  marks: readonly SweepMark[],
  state: SweepState,
): Promise<void> {
  await sql`
    update bulk_patient p set query_id = m.query_id, sweep_outcome = m.outcome
    from unnest(${marks.map(({ patientId }) => patientId)}::uuid[],
                ${marks.map(({ queryId }) => queryId ?? null)}::uuid[],
                ${marks.map(({ outcome }) => outcome)}::text[]) as m (patient_id, query_id, outcome)
    where p.request_id = ${requestId}::uuid and p.patient_id = m.patient_id and p.sweep_outcome is null
  `.execute(tx.db);
  const count = (outcome: SweepMark['outcome']) =>
    marks.filter((mark) => mark.outcome === outcome).length;
  await tx.db
    .updateTable('bulk_sweep')
    .set({
      state,
      started: sql<number>`started + ${count('started')}`,
      skipped: sql<number>`skipped + ${count('skipped')}`,
      failed: sql<number>`failed + ${count('failed')}`,
      seen_at: sql<Date>`now()`,
      ended_at: state === 'completed' ? sql<Date>`now()` : null,
    })
    .where('request_id', '=', requestId)
    .execute();
}

/**
 * Skips, in one statement, patients among the next `ofNext`: the deleted ones,
 * those opted out of hie when `optedOut` is true, and the rest when `others` is
 * true.
 */
async function skipNext(
  tx: AccountTx,
  requestId: string,
  {
    ofNext,
    optedOut,
    others,
  }: { ofNext: number; optedOut: boolean; others: boolean },
): Promise<void> {
  await SKIP_NEXT({ requestId, ofNext, optedOut, others }).execute(tx.db);
}
