import { ScheduleOverlapPolicy } from '@temporalio/client';
import type { CohortMonitoringStatus } from '../../../src/contract/cohort-monitoring.ts';
import { cohortMonitoringWorkflowId } from '../../../src/contract/temporal.ts';
import { whileTemporalIsAway } from '../../../test/faults/kill/workload.ts';
import type { StackAccess } from '../../../test/support/stack.ts';
import {
  type CarefulCaller,
  hasQueryEnded,
  type Post,
} from './careful-caller.ts';

export interface Monitored {
  cohortId: string;
  patientIds: string[];
  status: CohortMonitoringStatus;
}

/** People whom no source knows. */
const NAMES = ['Moss', 'Reed', 'Heath'];

/**
 * A monitored cohort whose Schedule is triggered once; resolves when its run
 * and its queries have ended.
 */
export async function runMonitoring(
  stack: StackAccess,
  caller: CarefulCaller,
  post: Post,
  deadlineAt: number,
): Promise<Monitored> {
  const { facilityId } = caller.account;
  const patients = await Promise.all(
    NAMES.map((lastName, index) =>
      post(`patient?facilityId=${facilityId}`, person(lastName, index)),
    ),
  );
  const patientIds = patients.map(({ id }) => id as string);
  const monitoring = { hie: { enabled: true, frequency: 'weekly' } };
  const { id: cohortId } = await post('cohort', {
    name: 'Monitored',
    settings: { monitoring },
  });
  await post(`cohort/${cohortId}/patient`, { patientIds });

  const schedule = stack.temporal.schedule.getHandle(
    cohortMonitoringWorkflowId(cohortId, 'hie'),
  );
  const runOf = async () => {
    const { info } = await schedule.describe();
    const [first] = info.recentActions;
    if (first !== undefined) return first.action.workflow.workflowId;
    await schedule.trigger(ScheduleOverlapPolicy.SKIP);
    throw new Error('the schedule has not started its run yet');
  };
  const workflowId = await whileTemporalIsAway(runOf, deadlineAt);
  const run =
    stack.temporal.workflow.getHandle<() => Promise<CohortMonitoringStatus>>(
      workflowId,
    );
  const status = await whileTemporalIsAway(() => run.result(), deadlineAt);
  for (const patientId of patientIds)
    await caller.getUntil(
      `network/query?patientId=${patientId}`,
      ({ queries }) => queries.every(hasQueryEnded),
    );
  return { cohortId, patientIds, status };
}

const person = (lastName: string, index: number) => ({
  firstName: 'Pat',
  lastName,
  dob: `196${index}-01-15`,
  genderAtBirth: 'F',
  address: [
    {
      addressLine1: `${index + 1} Soak Street`,
      city: 'Boston',
      state: 'MA',
      zip: '02108',
      country: 'USA',
    },
  ],
  externalId: `monitored-${index}`,
});
