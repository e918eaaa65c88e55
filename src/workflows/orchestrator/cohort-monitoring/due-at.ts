import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { workflowInfo } from '@temporalio/workflow';
import type { CohortMonitoringInput } from '../../../contract/cohort-monitoring.ts';

/** Temporal sets this search attribute on each run that a Schedule starts. */
const SCHEDULED_START = defineSearchAttributeKey('TemporalScheduledStartTime', SearchAttributeType.DATETIME);

/** The time that a run stands for, ISO 8601: the scheduled time without jitter or delay, or else its start time. */
export function nominalTime(input: CohortMonitoringInput): string {
  const { typedSearchAttributes, startTime } = workflowInfo();
  return input.dueAt ?? (typedSearchAttributes.get(SCHEDULED_START) ?? startTime).toISOString();
}
