import type { ReconcilePause } from '../../platform/recovery/reconcile-state-store.ts';
import type { Refusal } from '../../platform/workflows/refusal-store.ts';
import type { SourceReport } from '../../sources/health/report.ts';

/** Kinds of work that is accepted and not yet done. Also values of the metrics' label `kind`. */
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
export interface SourceOutcome {
  source: string;
  outcome: (typeof SOURCE_OUTCOMES)[number];
  queries: number;
}

export const DESTINATION_STATES = ['healthy', 'failing', 'held', 'disabled', 'unknown'] as const;
export type DestinationState = (typeof DESTINATION_STATES)[number];

/** A destination with events that wait or could not be delivered. */
export interface DestinationReport {
  accountId: string;
  destinationId: string;
  /** Scheme, host and port: the path may be a secret. */
  address: string | null;
  /** Of the newest attempt to send one of the events that wait. */
  lastError: string | null;
  state: DestinationState;
  waiting: number;
  /** Age of the oldest event that could have been sent by now. */
  lagSeconds: number;
}

/** Webhooks that are not sent again by themselves, of an account. */
export interface UndeliverableEvents {
  accountId: string;
  state: 'dead' | 'unrouted';
  events: number;
}

/** Queries of an account that failed at a source within the last day, or were refused there when they were accepted. */
export interface FailedQueries {
  accountId: string;
  source: string;
  /** `refused`: the source was not asked, for example because of a rate limit. */
  state: 'failed' | 'refused';
  queries: number;
  /** When the first of them failed. */
  since: string;
}

/** A task queue of Temporal. `workers`: processes that polled it lately. */
export interface QueueReport {
  queue: string;
  type: 'workflow' | 'activity';
  backlog: number;
  backlogSeconds: number;
  pollers: number;
}

/** What a sender of notifications has sent within the last week. */
export interface SenderReport {
  sender: string;
  messages: number;
  /** Messages whose number the sender had used before, for something else. */
  numbersReused: number;
  /** Since the newest message. */
  silentSeconds: number;
  /** What its messages contain and we do not use, most frequent first: `PID-13`, `NK1`. */
  unused: { place: string; messages: number }[];
  /** How its messages of the last day differ from those of the week before, by kind of message (`sender_drift`). */
  drift: { kind: string; place: string; drift: 'vanished' | 'new-codes'; messages: number }[];
}

/** The state of the whole system as PostgreSQL knows it. Contains ids, counts and times, never personal data. */
export interface OperationsReport {
  work: OpenWork[];
  sources: SourceReport[];
  outcomes: SourceOutcome[];
  destinations: Record<DestinationState, number>;
  /** Destinations that need attention, longest lag first; at most `LISTED_MAX`. */
  troubledDestinations: DestinationReport[];
  undeliverable: UndeliverableEvents[];
  failed: FailedQueries[];
  /** Messages of senders within the last day for which no patient was found. */
  unmatchedMessages: number;
  /** Parts of reconcile that an operator has paused. */
  pauses: ReconcilePause[];
  /** Input of workflows that was refused in the last week because it was not encrypted. */
  refusals: Refusal[];
  /** Processes whose clock differs from PostgreSQL's, in words. */
  wrongClocks: string[];
  senders: SenderReport[];
  /** Work at which processes ended repeatedly. */
  suspectedWork: number;
}

/** Maximum number of rows of each list of a report. */
export const LISTED_MAX = 20;

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * Ages in seconds at which open work counts as late. A query ends at the deadline of its slowest source, a week (lab); sweeps
 * and redrives are paced; the others end within seconds to an hour. The metric
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
};

/** Webhooks are sent right after the commit, and by a workflow when that failed. */
export const WEBHOOK_LATE_SECONDS = 5 * MINUTE;
export const BACKLOG_LATE_SECONDS = 2 * MINUTE;
