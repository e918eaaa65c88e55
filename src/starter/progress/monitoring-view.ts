import { type Client, type ScheduleDescription, WorkflowNotFoundError } from '@temporalio/client';
import {
  COHORT_MONITORING_MESSAGES,
  type CohortMonitoringInput,
  type CohortMonitoringStatus,
  type MonitoringFrequency,
} from '../../contract/cohort-monitoring.ts';
import { OFF_NOTE } from '../../shared/monitoring/monitoring-control.ts';
import type { MonitoringId } from '../target/monitorings.ts';
import { askWorkflow } from './workflow-state.ts';

/** How one monitoring of a cohort stands. */
export interface MonitoringView extends MonitoringId {
  scheduleId: string;
  frequency?: MonitoringFrequency;
  /** `off`: switched off in the cohort's settings. */
  state: 'on' | 'paused' | 'off';
  /** Why it is paused, in the operator's words. */
  note?: string;
  /** ISO 8601; absent while it does not run. */
  nextRunAt?: string;
  timeZone?: string;
  lastRun?: MonitoringRun;
}

export interface MonitoringRun {
  workflowId: string;
  /** ISO 8601. */
  startedAt: string;
  /** As Temporal has it, or `no longer kept`. */
  status: string;
  /** Absent when nobody could tell: no worker, or it failed. */
  counts?: { patients: number; started: number; skipped: number; failed: number };
}

type Schedule = Pick<ScheduleDescription, 'state' | 'action'>;

export const stateOf = ({ state }: Schedule): MonitoringView['state'] =>
  state.paused ? (state.note === OFF_NOTE ? 'off' : 'paused') : 'on';

export const frequencyOf = ({ action }: Schedule): MonitoringFrequency | undefined =>
  (action.args?.[0] as CohortMonitoringInput | undefined)?.frequency;

export const lastRunOf = ({ info }: Pick<ScheduleDescription, 'info'>): LastRun | undefined =>
  info.recentActions.reduce<LastRun | undefined>(
    (latest, run) => (latest === undefined || run.takenAt >= latest.takenAt ? run : latest),
    undefined,
  );

type LastRun = ScheduleDescription['info']['recentActions'][number];

/** Looks at the last run too, which needs a worker while it is under way. */
export async function monitoringView(
  temporal: Client,
  id: MonitoringId,
  schedule: ScheduleDescription,
): Promise<MonitoringView> {
  const [next] = schedule.info.nextActionTimes;
  const state = stateOf(schedule);
  const last = lastRunOf(schedule);
  return {
    ...id,
    scheduleId: schedule.scheduleId,
    frequency: frequencyOf(schedule),
    state,
    note: state === 'paused' ? schedule.state.note : undefined,
    nextRunAt: state === 'on' ? next?.toISOString() : undefined,
    timeZone: schedule.spec.timezone,
    lastRun: last && (await lookAtRun(temporal, last.action.workflow.workflowId, last.takenAt)),
  };
}

async function lookAtRun(temporal: Client, workflowId: string, takenAt: Date): Promise<MonitoringRun> {
  const handle = temporal.workflow.getHandle<() => Promise<CohortMonitoringStatus>>(workflowId);
  const run = { workflowId, startedAt: takenAt.toISOString() };
  try {
    const { status } = await handle.describe();
    const told =
      status.name === 'COMPLETED'
        ? await handle.result()
        : await askWorkflow<CohortMonitoringStatus>(handle, COHORT_MONITORING_MESSAGES.status);
    return { ...run, status: told?.state ?? status.name.toLowerCase(), counts: told && countsOf(told) };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { ...run, status: 'no longer kept' };
    throw error;
  }
}

const countsOf = ({ patients, started, skipped, failed }: CohortMonitoringStatus) => ({
  patients,
  started,
  skipped: Object.values(skipped).reduce((sum, count) => sum + count, 0),
  failed,
});
