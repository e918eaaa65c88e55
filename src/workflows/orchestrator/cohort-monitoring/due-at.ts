import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { workflowInfo } from '@temporalio/workflow';
import type { CohortMonitoringInput } from '../../../contract/cohort-monitoring.ts';

/** Set by Temporal on each run of a schedule. */
const SCHEDULED_START = defineSearchAttributeKey('TemporalScheduledStartTime', SearchAttributeType.DATETIME);

/** The time that a run stands for, ISO 8601: its schedule's, without jitter and delay; else when it was started. */
export function nominalTime(input: CohortMonitoringInput): string {
  const { typedSearchAttributes, startTime } = workflowInfo();
  return input.dueAt ?? (typedSearchAttributes.get(SCHEDULED_START) ?? startTime).toISOString();
}
