import type { ScheduleSummary } from '@temporalio/client';
import type { MonitoringKind } from '../contract/cohort-monitoring.ts';
import {
  parseCohortMonitoringId,
  WORKFLOW_TYPES,
} from '../contract/temporal.ts';
import type { TemporalClient } from './client.ts';
import { OPEN_RUNS } from './open-runs.ts';

/** An open run, by its workflow. */
interface OpenRun {
  type: string;
  workflowId: string;
  startedAt: Date;
}

/** A cohort's monitoring, and when its newest round began. */
interface MonitoringRound {
  cohortId: string;
  kind: MonitoringKind;
  startedAt: Date;
}

/** What Temporal knows of open work that does not go on as it should. */
export interface TemporalTroubles {
  namespace: string;
  /** Runs that an operator has paused in Temporal. */
  paused: OpenRun[];
  /** Runs whose workflow task has failed at least five times in a row. */
  failing: OpenRun[];
  /**
   * Rounds of monitoring that run for longer than a period: until they end,
   * their cohort has no further one.
   */
  hanging: (MonitoringRound & { workflowId: string })[];
  /** Monitoring whose last time has passed without a round. */
  skipped: MonitoringRound[];
  /** Monitoring whose schedule is paused: by an operator, or switched off. */
  pausedSchedules: (Omit<MonitoringRound, 'startedAt'> & {
    note: string | undefined;
  })[];
}

const DEADLINE_MS = 5_000;
/** At most so many runs of each kind are read. */
const READ_MAX = 200;

/** Throws when Temporal does not answer in time. */
export const readTroubles = (
  client: TemporalClient,
  now = Date.now(),
): Promise<TemporalTroubles> =>
  client.withDeadline(now + DEADLINE_MS, async () => {
    const [paused, failing, rounds, schedules] = await Promise.all([
      openRuns(client, "ExecutionStatus = 'Paused'"),
      openRuns(client, `${OPEN_RUNS} AND TemporalReportedProblems IS NOT NULL`),
      openRuns(
        client,
        `${OPEN_RUNS} AND WorkflowType = '${WORKFLOW_TYPES.cohortMonitoring}'`,
      ),
      monitoringSchedules(client),
    ]);
    const hanging = rounds.flatMap((round) =>
      hangingRound(round, schedules, now),
    );
    const isHanging = ({ cohortId, kind }: MonitoringRound) =>
      hanging.some((each) => each.cohortId === cohortId && each.kind === kind);
    return {
      namespace: client.options.namespace,
      paused,
      failing,
      hanging,
      skipped: schedules
        .flatMap(skippedRound)
        .filter((round) => !isHanging(round)),
      pausedSchedules: schedules.flatMap(pausedSchedule),
    };
  });

async function openRuns(
  client: TemporalClient,
  query: string,
): Promise<OpenRun[]> {
  const found: OpenRun[] = [];
  for await (const { type, workflowId, startTime } of client.workflow.list({
    query,
  })) {
    found.push({ type, workflowId, startedAt: startTime });
    if (found.length === READ_MAX) break;
  }
  return found;
}

async function monitoringSchedules(
  client: TemporalClient,
): Promise<ScheduleSummary[]> {
  const found: ScheduleSummary[] = [];
  for await (const schedule of client.schedule.list())
    if (parseCohortMonitoringId(schedule.scheduleId) !== undefined)
      found.push(schedule);
  return found;
}

function pausedSchedule({
  scheduleId,
  state,
}: ScheduleSummary): TemporalTroubles['pausedSchedules'] {
  const id = parseCohortMonitoringId(scheduleId);
  return id !== undefined && state.paused ? [{ ...id, note: state.note }] : [];
}

/**
 * Between the next two rounds; months and changes of the clock make it a little
 * longer or shorter. Undefined while none is to come.
 */
function periodOf({ info, state }: ScheduleSummary): number | undefined {
  const [first, second] = info.nextActionTimes;
  return state.paused || first === undefined || second === undefined
    ? undefined
    : second.getTime() - first.getTime();
}

/** Temporal appends the nominal time to the workflow id of a scheduled run. */
function hangingRound(
  { workflowId, startedAt }: OpenRun,
  schedules: readonly ScheduleSummary[],
  now: number,
): TemporalTroubles['hanging'] {
  const schedule = schedules.find(({ scheduleId }) =>
    workflowId.startsWith(`${scheduleId}-`),
  );
  const id = parseCohortMonitoringId(schedule?.scheduleId ?? '');
  if (schedule === undefined || id === undefined) return [];

  const periodMs = periodOf(schedule);
  return periodMs !== undefined && now - startedAt.getTime() > periodMs
    ? [{ ...id, workflowId, startedAt }]
    : [];
}

/** A round is missing where the last one was not at the last time. */
function skippedRound(schedule: ScheduleSummary): MonitoringRound[] {
  const { recentActions, nextActionTimes } = schedule.info;
  const id = parseCohortMonitoringId(schedule.scheduleId);
  const [next] = nextActionTimes;
  const last = recentActions.at(-1);
  const periodMs = periodOf(schedule);
  if (
    id === undefined ||
    next === undefined ||
    last === undefined ||
    periodMs === undefined
  )
    return [];

  const sinceLastMs = next.getTime() - last.takenAt.getTime();
  return sinceLastMs > 1.5 * periodMs
    ? [{ ...id, startedAt: last.takenAt }]
    : [];
}
