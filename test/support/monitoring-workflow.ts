import type { CohortMonitoringInput } from '../../src/contract/cohort-monitoring.ts';

/** Stands in for the workflow where only the schedule that starts it is tested. */
export async function cohortMonitoring({ frequency }: CohortMonitoringInput): Promise<string> {
  return frequency;
}
