import type { ExchangeAccess } from './patient-onboarding.ts';

/** What of a cohort is pulled on a schedule (settings.monitoring.hie, settings.monitoring.pharmacy.schedule). */
export const MONITORING_KINDS = ['hie', 'pharmacy'] as const;
export type MonitoringKind = (typeof MONITORING_KINDS)[number];

export const MONITORING_FREQUENCIES = ['weekly', 'biweekly', 'monthly'] as const;
export type MonitoringFrequency = (typeof MONITORING_FREQUENCIES)[number];

/**
 * What starts a `cohortMonitoring` workflow, by hand or by a Temporal Schedule. The exchange writes it into the
 * schedules of its own cohorts, a starter into those of a foreign service.
 */
export interface CohortMonitoringInput {
  exchange: ExchangeAccess;
  cohortId: string;
  kind: MonitoringKind;
  /** A patient that was asked about at this source in the period before `dueAt` is not asked again. */
  frequency: MonitoringFrequency;
  /** Queries per minute that this monitoring may start: at most 80 % of the account's limit. */
  queriesPerMinute: number;
  /** ISO 8601: the run's nominal time. Default: that of the schedule, else when the run started. */
  dueAt?: string;
  pace?: Partial<MonitoringPace>;
}

/** How a run divides its work; each member has a default (`DEFAULT_MONITORING_PACE`). */
export interface MonitoringPace {
  /** Patients of one page of E9, at most 100. */
  pageSize: number;
  /** HTTP requests per minute of all kinds; the account as a whole has a limit of its own. */
  requestsPerMinute: number;
  /** Pages before the workflow continues as new. */
  pagesPerRun: number;
}

export const DEFAULT_MONITORING_PACE: MonitoringPace = {
  pageSize: 100,
  requestsPerMinute: 400,
  pagesPerRun: 200,
};

/**
 * Keys of the metadata of each query that monitoring starts; its webhooks carry them, and later runs tell by `due`
 * to which period the query belongs, however late it was started.
 */
export const MONITORING_METADATA = {
  cohortId: 'monitoring.cohortId',
  kind: 'monitoring.kind',
  /** ISO 8601: nominal time of the run. */
  due: 'monitoring.due',
} as const;

/** Names of the messages that a running `cohortMonitoring` takes. */
export const COHORT_MONITORING_MESSAGES = {
  /** Query: `CohortMonitoringStatus`. */
  status: 'status',
  pause: 'pause',
  resume: 'resume',
} as const;

/** The one public snapshot of a run (query `status`), and its result. */
export interface CohortMonitoringStatus {
  cohortId: string;
  kind: MonitoringKind;
  state: 'running' | 'paused' | 'completed' | 'cancelled' | 'failed';
  /** Patients of the cohort, as E9 tells it. */
  patients: number;
  started: number;
  /** Asked about in this period already; opted out; deleted since the page was read. */
  skipped: { alreadyAsked: number; optedOut: number; gone: number };
  failed: number;
  /** Nominal time of the run, ISO 8601. */
  dueAt: string;
  /** For people: what this exchange could not do, what is being waited for. */
  notes: string[];
}
