import { hash } from 'node:crypto';
import {
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleDescription,
  type ScheduleHandle,
  ScheduleNotFoundError,
} from '@temporalio/client';
import type { MonitoringKind } from '../../contract/cohort-monitoring.ts';
import { cohortMonitoringWorkflowId } from '../../contract/temporal.ts';
import {
  type MonitoringPlan,
  monitoringSchedule,
} from './monitoring-schedule.ts';

/** Timeout of a single call to Temporal. */
const CALL_TIMEOUT_MS = 5_000;

/**
 * The note of a Schedule that is paused because monitoring is switched off. Any
 * other pause was made by an operator.
 */
export const OFF_NOTE = 'Switched off in the cohort’s settings';

/**
 * Creates the Schedule, or updates it in place. Running workflows continue, and
 * an operator's pause is kept. Throws when Temporal does not respond within 5
 * s.
 */
export async function putMonitoringSchedule(
  client: Client,
  plan: MonitoringPlan,
): Promise<'created' | 'changed'> {
  const schedule = monitoringSchedule(plan);
  const scheduleId = schedule.action.workflowId;
  try {
    await soon(client, () =>
      client.schedule.create({ ...schedule, scheduleId }),
    );
    return 'created';
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
  await soon(client, () =>
    client.schedule.getHandle(scheduleId).update(({ state }) => ({
      ...schedule,
      state:
        state.note === OFF_NOTE ? { ...state, paused: false, note: '' } : state,
    })),
  );
  return 'changed';
}

/**
 * Pauses the Schedule because monitoring is switched off; keeps an existing
 * pause. Returns false if there is no Schedule.
 */
export async function switchOffMonitoringSchedule(
  client: Client,
  cohortId: string,
  kind: MonitoringKind,
): Promise<boolean> {
  const found = await describeMonitoringSchedule(client, cohortId, kind);
  if (found === undefined) return false;
  if (!found.state.paused)
    await soon(client, () =>
      monitoringHandle(client, cohortId, kind).pause(OFF_NOTE),
    );
  return true;
}

/**
 * Deletes the Schedule; running workflows continue. Returns false if there was
 * none.
 */
export const deleteMonitoringSchedule = async (
  client: Client,
  cohortId: string,
  kind: MonitoringKind,
): Promise<boolean> =>
  ifThere(() =>
    soon(client, () => monitoringHandle(client, cohortId, kind).delete()).then(
      () => true,
    ),
  ).then((deleted) => deleted ?? false);

/** Describes the Schedule; returns undefined if there is none. */
export const describeMonitoringSchedule = (
  client: Client,
  cohortId: string,
  kind: MonitoringKind,
): Promise<ScheduleDescription | undefined> =>
  ifThere(() =>
    soon(client, () => monitoringHandle(client, cohortId, kind).describe()),
  );

/**
 * A hash of everything that we set (times, action, policies), which does not
 * change with pauses and runs.
 */
export function monitoringFingerprint({
  spec,
  action,
  policies,
}: ScheduleDescription): Buffer {
  const { typedSearchAttributes: _sameAsSearchAttributes, ...rest } = action;
  return hash(
    'sha256',
    JSON.stringify({ spec, action: rest, policies }),
    'buffer',
  );
}

/** A handle of the Schedule, which need not exist. */
export const monitoringHandle = (
  client: Client,
  cohortId: string,
  kind: MonitoringKind,
): ScheduleHandle =>
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
