import type {
  CohortMonitoringInput,
  CohortMonitoringStatus,
} from '../../src/contract/cohort-monitoring.ts';

/**
 * Stands in for the workflow where only the schedule that starts it is tested.
 */
export async function cohortMonitoring({
  cohortId,
  kind,
  frequency,
}: CohortMonitoringInput): Promise<CohortMonitoringStatus> {
  return {
    cohortId,
    kind,
    state: 'completed',
    patients: 10,
    started: 7,
    skipped: { alreadyAsked: 1, optedOut: 1, gone: 0 },
    failed: 1,
    dueAt: '2026-11-21T06:00:00Z',
    notes: [frequency],
  };
}
