import { createHash } from 'node:crypto';
import {
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleDescription,
  type ScheduleHandle,
  ScheduleNotFoundError,
} from '@temporalio/client';
import type { MonitoringKind } from '../../contract/cohort-monitoring.ts';
import { cohortMonitoringWorkflowId } from '../../contract/temporal.ts';
import { type MonitoringPlan, monitoringSchedule } from './monitoring-schedule.ts';

/** Milliseconds after which a Temporal that does not answer one call is given up. */
const CALL_TIMEOUT_MS = 5_000;

/** The note of a schedule that is paused because its setting is off. Any other pause is an operator's. */
export const OFF_NOTE = 'Switched off in the cohort’s settings';

/**
 * Creates the schedule, or changes it in place: a run that is on goes on, and an operator's pause stays. Throws when
 * Temporal does not answer within 5 s.
 */
export async function putMonitoringSchedule(
  client: Client,
  plan: MonitoringPlan,
): Promise<'created' | 'changed'> {
  const schedule = monitoringSchedule(plan);
  const scheduleId = schedule.action.workflowId;
  try {
    await soon(client, () => client.schedule.create({ ...schedule, scheduleId }));
    return 'created';
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
  await soon(client, () =>
    client.schedule.getHandle(scheduleId).update(({ state }) => ({
      ...schedule,
      state: state.note === OFF_NOTE ? { ...state, paused: false, note: '' } : state,
    })),
  );
  return 'changed';
}

/** Pauses the schedule because its setting is off; a pause that is there stays. False when there is no schedule. */
export async function switchOffMonitoringSchedule(
  client: Client,
  cohortId: string,
  kind: MonitoringKind,
): Promise<boolean> {
  const found = await describeMonitoringSchedule(client, cohortId, kind);
  if (found === undefined) return false;
  if (!found.state.paused) await soon(client, () => monitoringHandle(client, cohortId, kind).pause(OFF_NOTE));
  return true;
}

/** Runs that are on go on. False when there was none. */
export async function deleteMonitoringSchedule(
  client: Client,
  cohortId: string,
  kind: MonitoringKind,
): Promise<boolean> {
  return ifThere(() =>
    soon(client, () => monitoringHandle(client, cohortId, kind).delete()).then(() => true),
  ).then((deleted) => deleted ?? false);
}

/** Undefined when there is none. */
export const describeMonitoringSchedule = (
  client: Client,
  cohortId: string,
  kind: MonitoringKind,
): Promise<ScheduleDescription | undefined> =>
  ifThere(() => soon(client, () => monitoringHandle(client, cohortId, kind).describe()));

/** Changes with whatever we set: times, action, policies; not with its pauses and runs. */
export function monitoringFingerprint({ spec, action, policies }: ScheduleDescription): Buffer {
  const { typedSearchAttributes: _sameAsSearchAttributes, ...rest } = action;
  return createHash('sha256')
    .update(JSON.stringify({ spec, action: rest, policies }))
    .digest();
}

/** It need not exist. */
export const monitoringHandle = (client: Client, cohortId: string, kind: MonitoringKind): ScheduleHandle =>
  client.schedule.getHandle(cohortMonitoringWorkflowId(cohortId, kind));

async function ifThere<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return undefined;
    throw error;
  }
}

const soon = <T>(client: Client, call: () => Promise<T>): Promise<T> =>
  client.withDeadline(Date.now() + CALL_TIMEOUT_MS, call);
