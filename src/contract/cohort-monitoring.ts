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
  /** A patient that was asked about at this source since one period ago (less some slack) is not asked again. */
  frequency: MonitoringFrequency;
  /** Queries per minute and source that this monitoring may use: at most 80 % of the account's limit. */
  queriesPerMinute: number;
}

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
  /** Asked about in this period already, or opted out. */
  skipped: { alreadyAsked: number; optedOut: number };
  failed: number;
}
