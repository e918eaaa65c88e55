import {
  type Client,
  type ScheduleDescription,
  WorkflowNotFoundError,
} from '@temporalio/client';
import {
  COHORT_MONITORING_MESSAGES,
  type CohortMonitoringInput,
  type CohortMonitoringStatus,
  type MonitoringFrequency,
} from '../../contract/cohort-monitoring.ts';
import { OFF_NOTE } from '../../shared/monitoring/monitoring-control.ts';
import { openText } from '../../temporal/sealed-text.ts';
import type { MonitoringId } from '../target/monitorings.ts';
import { askWorkflow } from './workflow-state.ts';

/** State of one monitoring of a cohort. */
export type MonitoringView = Awaited<ReturnType<typeof monitoringView>>;

export interface MonitoringRun {
  workflowId: string;
  /** ISO 8601. */
  startedAt: string;
  /**
   * The run's own state, else Temporal's status of the workflow, or `no longer
   * kept`.
   */
  status: string;
  /** Absent when they cannot be read: no worker answers, or the run failed. */
  counts?: RunCounts;
}

export type RunCounts = ReturnType<typeof countsOf>;

type Schedule = Pick<ScheduleDescription, 'state' | 'action'>;

/** `off`: switched off in the cohort's settings. */
export const scheduleState = ({ state }: Schedule): 'on' | 'paused' | 'off' =>
  state.paused ? (state.note === OFF_NOTE ? 'off' : 'paused') : 'on';

export const frequencyOf = ({
  action,
}: Schedule): MonitoringFrequency | undefined =>
  (action.args?.[0] as CohortMonitoringInput | undefined)?.frequency;

export const lastRunOf = ({
  info,
}: Pick<ScheduleDescription, 'info'>): LastRun | undefined =>
  info.recentActions.reduce<LastRun | undefined>(
    (latest, run) =>
      latest === undefined || run.takenAt >= latest.takenAt ? run : latest,
    undefined,
  );

/** The operator's note, decrypted. */
async function noteOf(
  temporal: Client,
  { state }: Schedule,
): Promise<string | undefined> {
  if (state.note === undefined) return undefined;
  return openText(temporal.options.loadedDataConverter, state.note).catch(
    () => '(cannot be decrypted)',
  );
}

type LastRun = ScheduleDescription['info']['recentActions'][number];

/**
 * Reads the state of a monitoring and of its last run; while that run is in
 * progress, this needs a worker.
 */
export async function monitoringView(
  temporal: Client,
  id: MonitoringId,
  schedule: ScheduleDescription,
) {
  const [next] = schedule.info.nextActionTimes;
  const state = scheduleState(schedule);
  const last = lastRunOf(schedule);
  return {
    ...id,
    scheduleId: schedule.scheduleId,
    frequency: frequencyOf(schedule),
    state,
    /** The operator's reason for the pause. */
    note: state === 'paused' ? await noteOf(temporal, schedule) : undefined,
    /** ISO 8601; absent while it is paused or off. */
    nextRunAt: state === 'on' ? next?.toISOString() : undefined,
    lastRun:
      last &&
      (await readRun(temporal, last.action.workflow.workflowId, last.takenAt)),
  };
}

async function readRun(
  temporal: Client,
  workflowId: string,
  takenAt: Date,
): Promise<MonitoringRun> {
  const handle =
    temporal.workflow.getHandle<() => Promise<CohortMonitoringStatus>>(
      workflowId,
    );
  const run = { workflowId, startedAt: takenAt.toISOString() };
  try {
    const { status } = await handle.describe();
    const own =
      status.name === 'COMPLETED'
        ? await handle.result()
        : await askWorkflow<CohortMonitoringStatus>(
            handle,
            COHORT_MONITORING_MESSAGES.status,
          );
    return {
      ...run,
      status: own?.state ?? status.name.toLowerCase(),
      counts: own && countsOf(own),
    };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError)
      return { ...run, status: 'no longer kept' };
    throw error;
  }
}

const countsOf = ({
  patients,
  started,
  skipped,
  failed,
}: CohortMonitoringStatus) => ({
  patients,
  started,
  skipped: Object.values(skipped).reduce((sum, count) => sum + count, 0),
  /** Number of skipped patients, by reason. */
  skippedBecause: skipped,
  failed,
});
