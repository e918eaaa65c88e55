import { sql } from 'kysely';
import type { SourceScore } from '../../../contract/network-query.ts';
import { CANCEL_REASONS } from '../../../contract/network-query-workflow.ts';
import { readWrongClocks } from '../../platform/database/check-clock.ts';
import type { Store, SystemTx } from '../../platform/database/database.ts';
import { rowsOf, sqlFile } from '../../platform/database/pg-arrays.ts';
import { LAST_RESULT } from '../../platform/outbox/delivery-record-store.ts';
import { readPauses } from '../../platform/recovery/reconcile-state-store.ts';
import { readRefusals } from '../../platform/workflows/refusal-store.ts';
import { readScorecard } from '../../queries/network-query/query-store.ts';
import { readPackingTrouble } from '../../records/packing/packing-store.ts';
import { reportSources } from '../../sources/health/report.ts';

/**
 * Kinds of work that is accepted and not yet done. Also values of the metrics'
 * label `kind`.
 */
export const WORK_KINDS = [
  'network-query',
  'bulk-create',
  'post-import-queries',
  'consolidated-query',
  'bulk-export',
  'redrive',
  'outbound-message',
  'record-notification',
  'erasure',
  'audit-sealing',
  'record-packing',
] as const;
export type WorkKind = (typeof WORK_KINDS)[number];

/** All open work of one kind, over all accounts. */
export interface OpenWork {
  kind: WorkKind;
  open: number;
  /** How many should have a workflow by now and have none. */
  notStarted: number;
  /** Age of the oldest; 0 without open work. */
  oldestSeconds: number;
}

export const SOURCE_OUTCOMES = ['running', 'completed', 'failed'] as const;
/** What has become of one source of the queries that began in the last hour. */
interface SourceOutcome {
  source: string;
  outcome: (typeof SOURCE_OUTCOMES)[number];
  queries: number;
}

const DESTINATION_STATES = [
  'healthy',
  'failing',
  'disabled',
  'unknown',
] as const;
type DestinationState = (typeof DESTINATION_STATES)[number];

/** A destination with events that wait or could not be delivered. */
interface DestinationReport {
  accountId: string;
  destinationId: string;
  /** Scheme, host and port: the path may be a secret. */
  address: string | null;
  /** The error of the newest attempt to send one of the waiting events. */
  lastError: string | null;
  state: DestinationState;
  waiting: number;
  /** When the oldest event that waits became due. */
  since: Date | null;
  /** Age of the oldest event that could have been sent by now. */
  lagSeconds: number;
}

/** Webhooks that are not sent again by themselves, of an account. */
interface UndeliverableEvents {
  accountId: string;
  /**
   * `unrouted`: the account had no destination when they occurred, as one that
   * asks instead never has.
   */
  state: 'dead' | 'unrouted';
  events: number;
  /** When the newest of them was dead-lettered, or occurred. */
  last: Date;
}

/**
 * Queries of an account that failed at a source within the last day, or were
 * refused there when they were accepted.
 */
interface FailedQueries {
  accountId: string;
  source: string;
  /**
   * `refused`: the source was not asked, for example because of a rate limit.
   */
  state: 'failed' | 'refused';
  queries: number;
  /** When the first and the last of them failed. */
  since: Date;
  last: Date;
}

/** An import, or the queries after one, that is paused. */
interface PausedWork {
  kind: 'bulk-create' | 'post-import-queries';
  accountId: string;
  requestId: string;
  /** By the audit; null: paused in Temporal. */
  since: Date | null;
  actor: string | null;
}

/** What a sender of notifications has sent within the last week. */
export interface SenderReport {
  sender: string;
  messages: number;
  /** Messages whose number the sender had used before, for something else. */
  numbersReused: number;
  /** Since the newest message. */
  silentSeconds: number;
  /**
   * What its messages contain and we do not use, most frequent first: `PID-13`,
   * `NK1`.
   */
  unused: { place: string; messages: number }[];
  /**
   * How its messages of the last day differ from those of the week before, by
   * kind of message (`sender_drift`).
   */
  drift: {
    kind: string;
    place: string;
    drift: 'vanished' | 'new-codes';
    messages: number;
  }[];
}

/** Maximum number of rows of each list of a report. */
const LISTED_MAX = 20;

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * Ages in seconds at which open work counts as late. A query ends at the
 * deadline of its slowest source, a week (lab); sweeps and redrives are paced;
 * the others end within seconds to an hour. The metric
 * `open_work_late_after_seconds` passes them to the alert rules.
 */
export const LATE_AFTER_SECONDS: Readonly<Record<WorkKind, number>> = {
  'network-query': 8 * DAY,
  'bulk-create': 2 * HOUR,
  'post-import-queries': 7 * DAY,
  'consolidated-query': HOUR,
  'bulk-export': 12 * HOUR,
  redrive: 7 * DAY,
  'outbound-message': DAY,
  'record-notification': 15 * MINUTE,
  erasure: HOUR,
  'audit-sealing': 10 * MINUTE,
  'record-packing': DAY,
};

/**
 * Webhooks are sent right after the commit, and by a workflow when that failed.
 */
export const WEBHOOK_LATE_SECONDS = 5 * MINUTE;
export const BACKLOG_LATE_SECONDS = 2 * MINUTE;

const OUTCOMES_BY_SOURCE = sqlFile('source-outcomes.sql', import.meta.url);
const TROUBLED_DESTINATIONS = sqlFile(
  'troubled-destinations.sql',
  import.meta.url,
);
const UNDELIVERABLE_EVENTS = sqlFile(
  'undeliverable-events.sql',
  import.meta.url,
);
const FAILED_QUERIES = sqlFile('failed-queries.sql', import.meta.url);
const MESSAGE_SENDERS = sqlFile('message-senders.sql', import.meta.url);
const PAUSED_WORK = sqlFile('paused-work.sql', import.meta.url);
const OPEN_WORK = sqlFile('open-work.sql', import.meta.url);

export type OperationsReport = Awaited<ReturnType<typeof readOperationsReport>>;

/**
 * Reads the state of the whole system, all accounts, for operators (`admin
 * ops`) and metrics, as PostgreSQL knows it. Contains ids, counts and times,
 * never personal data.
 */
export const readOperationsReport = (store: Pick<Store, 'asSystem'>) =>
  store.asSystem(async (tx) => ({
    work: await readOpenWork(tx),
    sources: await reportSources(tx),
    /**
     * How the queries of the last hour stand at each source. Goes through the
     * accounts, because queries are indexed by account.
     */
    outcomes: await rowsOf(tx, OUTCOMES_BY_SOURCE<SourceOutcome>()),
    destinations: await countDestinations(tx),
    /**
     * Destinations that are not healthy, or whose events are late, longest lag
     * first; at most `LISTED_MAX`.
     */
    troubledDestinations: await rowsOf(
      tx,
      TROUBLED_DESTINATIONS<DestinationReport>({
        lastError: LAST_RESULT,
        lateSeconds: WEBHOOK_LATE_SECONDS,
        most: LISTED_MAX,
      }),
    ),
    /**
     * Events of the last week that are dead-lettered, or had no destination.
     */
    undeliverable: await rowsOf(
      tx,
      UNDELIVERABLE_EVENTS<UndeliverableEvents>({ most: LISTED_MAX }),
    ),
    /**
     * Failures and refusals of the last day by account and source, where
     * nothing newer was tried at the source.
     */
    failed: await rowsOf(
      tx,
      FAILED_QUERIES<FailedQueries>({
        cancelled: [...CANCEL_REASONS],
        most: LISTED_MAX,
      }),
    ),
    /** Parts of reconcile that an operator has paused. */
    pauses: await readPauses(tx),
    packingTrouble: await readPackingTrouble(tx),
    pausedWork: await rowsOf(tx, PAUSED_WORK<PausedWork>({ most: LISTED_MAX })),
    /**
     * Input of workflows that was refused in the last week because it was not
     * encrypted.
     */
    refusals: await readRefusals(tx),
    /** Processes whose clock differs from PostgreSQL's, in words. */
    wrongClocks: await readWrongClocks(tx),
    senders: await readSenders(tx),
    /**
     * How sources and connections did with the queries of the last day, over
     * all accounts.
     */
    scorecard: await readDaysScorecard(tx),
    ...(await countOthers(tx)),
  }));

async function countDestinations(
  tx: SystemTx,
): Promise<Record<DestinationState, number>> {
  const counted = await rowsOf(
    tx,
    sql<{ state: DestinationState; destinations: number }>`
      select d.health as state, count(*)::int as destinations from webhook_destination d
      where d.url is not null group by 1`,
  );
  const counts = new Map(
    counted.map(({ state, destinations }) => [state, destinations]),
  );
  return Object.fromEntries(
    DESTINATION_STATES.map((state) => [state, counts.get(state) ?? 0]),
  ) as Record<DestinationState, number>;
}

async function readDaysScorecard(tx: SystemTx): Promise<SourceScore[]> {
  const accounts = await tx.db.selectFrom('account').select('id').execute();
  const to = new Date();
  const period = { from: new Date(to.getTime() - DAY * 1_000), to };
  return readScorecard(
    tx,
    accounts.map(({ id }) => id),
    period,
  );
}

/**
 * Messages of senders within the last day for which no patient was found, or
 * whose patient is in no cohort with such messages, and work at which processes
 * ended repeatedly.
 */
async function countOthers(tx: SystemTx) {
  const [counts] = await rowsOf(
    tx,
    sql<{
      unmatchedMessages: number;
      heldMessages: number;
      heldSince: Date | null;
      unmonitoredMessages: number;
      suspectedWork: number;
    }>`
      select
        (select count(*)::int from inbound_message
          where outcome in ('unmatched', 'ambiguous', 'incomplete') and received_at > now() - interval '1 day'
        ) as "unmatchedMessages",
        (select count(*)::int from inbound_message where outcome = 'held') as "heldMessages",
        (select min(received_at) from inbound_message where outcome = 'held') as "heldSince",
        (select count(*)::int from inbound_message
          where outcome = 'not-monitored' and id >= ${firstIdSince(Date.now() - DAY * 1_000)}) as "unmonitoredMessages",
        (select count(*)::int from activity_start where starts >= 3) as "suspectedWork"`,
  );
  return (
    counts ?? {
      unmatchedMessages: 0,
      heldMessages: 0,
      heldSince: null,
      unmonitoredMessages: 0,
      suspectedWork: 0,
    }
  );
}

const WEEK_MS = 7 * 86_400_000;

/**
 * The smallest UUID of version 7 of a time: ids of messages are in the order of
 * their arrival, so no further index is needed.
 */
const firstIdSince = (ms: number): string =>
  `${ms
    .toString(16)
    .padStart(12, '0')
    .replace(/^(.{8})/, '$1-')}-7000-8000-000000000000`;

/** The senders of the last week's messages. */
const readSenders = (tx: SystemTx, now = Date.now()): Promise<SenderReport[]> =>
  rowsOf(
    tx,
    MESSAGE_SENDERS<SenderReport>({
      firstId: firstIdSince(now - WEEK_MS),
      driftSince: firstIdSince(now - WEEK_MS - WEEK_MS / 7),
      most: LISTED_MAX,
    }),
  );

/**
 * Open work of all accounts by kind. Each line uses an index that contains open
 * rows only, or a table with few rows.
 */
async function readOpenWork(tx: SystemTx): Promise<OpenWork[]> {
  const rows = await rowsOf(tx, OPEN_WORK<OpenWork>());
  return rows.map((row) => ({
    ...row,
    open: Number(row.open),
    notStarted: Number(row.notStarted),
  }));
}
