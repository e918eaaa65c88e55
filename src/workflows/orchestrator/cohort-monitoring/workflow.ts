import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import {
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  continueAsNew,
  defineQuery,
  defineSignal,
  isCancellation,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import {
  type CohortMonitoringInput,
  type CohortMonitoringStatus,
  COHORT_MONITORING_MESSAGES as MESSAGES,
} from '../../../contract/cohort-monitoring.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { Gate } from '../../shared/gate.ts';
import { UNSTATED } from '../../shared/unstated.ts';
import { workInPages } from '../../shared/work-in-pages.ts';
import { Monitoring, type MonitoringState } from './monitoring.ts';

/**
 * Starts a query of one source for every patient of a cohort, once per period.
 *
 * Durable because a cohort of 100,000 patients takes a day within a source's limit, and an interrupted run must neither
 * skip patients nor query them twice. Keyed by cohort, kind and the scheduled time. Every page may run twice: each start
 * carries an idempotency key, and the exchange is asked which patients were already queried. History: 11 events per page
 * of 100 patients; continues as new after 200 pages.
 */
export async function cohortMonitoring(
  input: CohortMonitoringInput,
  carried?: MonitoringState,
): Promise<CohortMonitoringStatus> {
  const pace = { ...UNSTATED.monitoring, ...input.pace };
  const gate = new Gate(carried?.status.state === 'paused');
  const monitoring = new Monitoring(input, pace, gate, carried ?? nominalTime(input));

  setHandler(defineQuery<CohortMonitoringStatus>(MESSAGES.status), () => monitoring.status);
  setHandler(defineSignal(MESSAGES.pause), () => monitoring.pause());
  setHandler(defineSignal(MESSAGES.resume), () => monitoring.resume());

  try {
    await workInPages({
      gate,
      pagesPerRun: pace.pagesPerRun,
      nextPage: () => monitoring.nextPage(),
      continueAsNew: () => continueAsNew<typeof cohortMonitoring>(input, monitoring.state),
    });
    if (CancellationScope.current().consideredCancelled)
      throw new CancelledFailure('Cancelled by an operator');
  } catch (error) {
    if (isCancellation(error)) monitoring.end('cancelled');
    else if (error instanceof ApplicationFailure) monitoring.end('failed', error.message);
    throw error;
  }
  monitoring.end('completed');
  upsertSearchAttributes([{ key: searchAttribute.queryStatus, value: 'completed' }]);
  return monitoring.status;
}

/** Temporal sets this search attribute on each run that a Schedule starts. */
const SCHEDULED_START = defineSearchAttributeKey('TemporalScheduledStartTime', SearchAttributeType.DATETIME);

/** The time that a run stands for, ISO 8601: the scheduled time without jitter or delay, or else its start time. */
function nominalTime(input: CohortMonitoringInput): string {
  const { typedSearchAttributes, startTime } = workflowInfo();
  return input.dueAt ?? (typedSearchAttributes.get(SCHEDULED_START) ?? startTime).toISOString();
}
