import { workflowInfo } from '@temporalio/workflow';
import type { CohortMonitoringInput } from '../../../contract/cohort-monitoring.ts';

/** Set by Temporal on each run of a schedule. */
const SCHEDULED_START = 'TemporalScheduledStartTime';

/** The time that a run stands for, ISO 8601: its schedule's, without jitter and delay; else when it was started. */
export function nominalTime(input: CohortMonitoringInput): string {
  const { searchAttributes, startTime } = workflowInfo();
  const [scheduled] = searchAttributes[SCHEDULED_START] ?? [];
  const dueAt = input.dueAt ?? (scheduled instanceof Date ? scheduled.toISOString() : undefined);
  return dueAt ?? startTime.toISOString();
}
