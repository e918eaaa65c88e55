import type { ExchangeAccess } from './patient-onboarding.ts';

/**
 * Sources that are queried on a schedule for a cohort (settings.monitoring.hie,
 * settings.monitoring.pharmacy.schedule).
 */
export const MONITORING_KINDS = ['hie', 'pharmacy'] as const;
export type MonitoringKind = (typeof MONITORING_KINDS)[number];

export const MONITORING_FREQUENCIES = [
  'weekly',
  'biweekly',
  'monthly',
] as const;
export type MonitoringFrequency = (typeof MONITORING_FREQUENCIES)[number];

/**
 * Input of the workflow `cohortMonitoring`, started by hand or by a Temporal
 * Schedule. The exchange writes it into the schedules of its own cohorts, the
 * starter into those for another service.
 */
export interface CohortMonitoringInput {
  exchange: ExchangeAccess;
  cohortId: string;
  /**
   * For people who read the page of the Schedule; encrypted, like the whole
   * input.
   */
  cohortName?: string;
  kind: MonitoringKind;
  /**
   * A patient already queried at this source in the period before `dueAt` is
   * not queried again.
   */
  frequency: MonitoringFrequency;
  /**
   * Maximum number of queries that this monitoring starts per minute: at most
   * 80 % of the account's limit.
   */
  queriesPerMinute: number;
  /**
   * Nominal time of the run, ISO 8601. Default: the schedule's nominal time,
   * else the start of the run.
   */
  dueAt?: string;
  /**
   * What is left out is as in `DEFAULT_MONITORING_PACE`. Our starters state all
   * of it, so that a new default applies to new workflows only.
   */
  pace?: Partial<MonitoringPace>;
}

/**
 * Page size and request rate of a run; `DEFAULT_MONITORING_PACE` is written
 * into each Schedule.
 */
export interface MonitoringPace {
  /** Patients per page of E9; at most 100. */
  pageSize: number;
  /**
   * Maximum number of HTTP requests per minute, of all kinds. The account's own
   * request limit applies as well.
   */
  requestsPerMinute: number;
  /**
   * The share of the account's request limit that monitoring uses once the
   * exchange has reported that limit; the rest is for the account's other
   * calls. An input with `requestsPerMinute` but without this keeps to
   * `requestsPerMinute`.
   */
  shareOfRequests: number;
  /** Number of pages after which the workflow continues as new. */
  pagesPerRun: number;
}

export const DEFAULT_MONITORING_PACE: MonitoringPace = {
  pageSize: 100,
  requestsPerMinute: 400,
  shareOfRequests: 1 / 3,
  pagesPerRun: 200,
};

/**
 * Metadata keys of each query that monitoring starts. Its webhooks carry them,
 * and later runs read `due` to assign the query to its period, however late it
 * was started.
 */
export const MONITORING_METADATA = {
  cohortId: 'monitoring.cohortId',
  kind: 'monitoring.kind',
  /** Nominal time of the run, ISO 8601. */
  due: 'monitoring.due',
} as const;

/** Names of the query and the updates of `cohortMonitoring`. */
export const COHORT_MONITORING_MESSAGES = {
  /** Query: `CohortMonitoringStatus`. */
  status: 'status',
  pause: 'pause',
  resume: 'resume',
} as const;

/** Result of the query `status`, and of the workflow. */
export interface CohortMonitoringStatus {
  cohortId: string;
  kind: MonitoringKind;
  state: 'running' | 'paused' | 'completed' | 'cancelled' | 'failed';
  /** Number of patients in the cohort, as reported by E9. */
  patients: number;
  started: number;
  /**
   * Patients without a new query: already queried in this period, opted out, or
   * deleted since the page was read.
   */
  skipped: { alreadyAsked: number; optedOut: number; gone: number };
  failed: number;
  /** Nominal time of the run, ISO 8601. */
  dueAt: string;
  /**
   * Messages for operators: what this exchange does not support, and what the
   * run is waiting for.
   */
  notes: string[];
}
