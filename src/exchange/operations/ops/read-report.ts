import { sql } from 'kysely';
import { CANCEL_REASONS } from '../../../contract/network-query-workflow.ts';
import { readWrongClocks } from '../../platform/database/check-clock.ts';
import type { Store, SystemTx } from '../../platform/database/database.ts';
import { sqlFile } from '../../platform/database/pg-arrays.ts';
import { LAST_RESULT } from '../../platform/outbox/delivery-record-store.ts';
import { readPauses } from '../../platform/recovery/reconcile-state-store.ts';
import { readRefusals } from '../../platform/workflows/refusal-store.ts';
import { reportSources } from '../../sources/health/report.ts';
import {
  DESTINATION_STATES,
  type DestinationReport,
  type DestinationState,
  type FailedQueries,
  LISTED_MAX,
  type OpenWork,
  type OperationsReport,
  type SenderReport,
  type SourceOutcome,
  type UndeliverableEvents,
  WEBHOOK_LATE_SECONDS,
  type WorkKind,
} from './report.ts';

const SOURCE_OUTCOMES = sqlFile('source-outcomes.sql', import.meta.url);
const TROUBLED_DESTINATIONS = sqlFile('troubled-destinations.sql', import.meta.url);
const UNDELIVERABLE_EVENTS = sqlFile('undeliverable-events.sql', import.meta.url);
const FAILED_QUERIES = sqlFile('failed-queries.sql', import.meta.url);
const MESSAGE_SENDERS = sqlFile('message-senders.sql', import.meta.url);
const OPEN_WORK = sqlFile('open-work.sql', import.meta.url);

/** Reads the state of the whole system, all accounts, for operators (`admin ops`) and metrics. */
export const readOperationsReport = (store: Pick<Store, 'asSystem'>): Promise<OperationsReport> =>
  store.asSystem(async (tx) => ({
    work: await readOpenWork(tx),
    sources: await reportSources(tx),
    outcomes: await readOutcomes(tx),
    destinations: byState(await countDestinations(tx)),
    troubledDestinations: await readTroubledDestinations(tx, WEBHOOK_LATE_SECONDS),
    undeliverable: await readUndeliverable(tx),
    failed: await readFailed(tx),
    pauses: await readPauses(tx),
    refusals: await readRefusals(tx),
    wrongClocks: await readWrongClocks(tx),
    senders: await readSenders(tx),
    ...(await countOthers(tx)),
  }));

function byState(
  counted: readonly { state: DestinationState; destinations: number }[],
): Record<DestinationState, number> {
  const counts = new Map(counted.map(({ state, destinations }) => [state, destinations]));
  return Object.fromEntries(DESTINATION_STATES.map((state) => [state, counts.get(state) ?? 0])) as Record<
    DestinationState,
    number
  >;
}

/** SQL: a destination is held whatever its health. */
const STATE = sql`case when d.held_since is not null then 'held' else d.health end`;

/** How the queries of the last hour stand at each source. Goes through the accounts, because queries are indexed by account. */
async function readOutcomes(tx: SystemTx): Promise<SourceOutcome[]> {
  const { rows } = await SOURCE_OUTCOMES<SourceOutcome>().execute(tx.db);
  return rows;
}

async function countDestinations(tx: SystemTx): Promise<{ state: DestinationState; destinations: number }[]> {
  const { rows } = await sql<{ state: DestinationState; destinations: number }>`
    select ${STATE} as state, count(*)::int as destinations from webhook_destination d
    where d.url is not null group by 1`.execute(tx.db);
  return rows;
}

/** Destinations that are not healthy, or whose events are late, longest lag first. */
async function readTroubledDestinations(tx: SystemTx, lateSeconds: number): Promise<DestinationReport[]> {
  const { rows } = await TROUBLED_DESTINATIONS<DestinationReport>({
    state: STATE,
    lastError: LAST_RESULT,
    lateSeconds,
    most: LISTED_MAX,
  }).execute(tx.db);
  return rows;
}

/** Events of the last week that are dead-lettered, or had no destination. */
async function readUndeliverable(tx: SystemTx): Promise<UndeliverableEvents[]> {
  const { rows } = await UNDELIVERABLE_EVENTS<UndeliverableEvents>({
    most: LISTED_MAX,
  }).execute(tx.db);
  return rows;
}

/** Failures and refusals of the last day by account and source, where nothing newer was tried at the source. */
async function readFailed(tx: SystemTx): Promise<FailedQueries[]> {
  const { rows } = await FAILED_QUERIES<Omit<FailedQueries, 'since'> & { since: Date }>({
    cancelled: [...CANCEL_REASONS],
    most: LISTED_MAX,
  }).execute(tx.db);
  return rows.map((row) => ({ ...row, since: row.since.toISOString() }));
}

async function countOthers(tx: SystemTx): Promise<{ unmatchedMessages: number; suspectedWork: number }> {
  const { rows } = await sql<{ unmatchedMessages: number; suspectedWork: number }>`
    select
      (select count(*)::int from inbound_message
        where outcome in ('unmatched', 'ambiguous', 'incomplete') and received_at > now() - interval '1 day'
      ) as "unmatchedMessages",
      (select count(*)::int from activity_start where starts >= 3) as "suspectedWork"`.execute(tx.db);
  return rows[0] ?? { unmatchedMessages: 0, suspectedWork: 0 };
}

const WEEK_MS = 7 * 86_400_000;

/** The smallest UUID of version 7 of a time: ids of messages are in the order of their arrival, so no further index is needed. */
const firstIdSince = (ms: number): string =>
  `${ms
    .toString(16)
    .padStart(12, '0')
    .replace(/^(.{8})/, '$1-')}-7000-8000-000000000000`;

/** The senders of the last week's messages. */
async function readSenders(tx: SystemTx, now = Date.now()): Promise<SenderReport[]> {
  const { rows } = await MESSAGE_SENDERS<SenderReport>({
    firstId: firstIdSince(now - WEEK_MS),
    driftSince: firstIdSince(now - WEEK_MS - WEEK_MS / 7),
    most: LISTED_MAX,
  }).execute(tx.db);
  return rows;
}

/** Open work of all accounts by kind. Each line uses an index that contains open rows only, or a table with few rows. */
async function readOpenWork(tx: SystemTx): Promise<OpenWork[]> {
  const { rows } = await OPEN_WORK<{
    kind: WorkKind;
    open: number;
    notStarted: number;
    oldestSeconds: number;
  }>().execute(tx.db);
  return rows.map((row) => ({ ...row, open: Number(row.open), notStarted: Number(row.notStarted) }));
}
