import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/common';
import type {
  MonitoredPage,
  MonitoringActivities,
} from '../../../src/activities/orchestrator/cohort-monitoring.ts';
import {
  COHORT_MONITORING_MESSAGES,
  type CohortMonitoringInput,
  DEFAULT_MONITORING_PACE,
} from '../../../src/contract/cohort-monitoring.ts';
import {
  cohortMonitoringWorkflowId,
  WORKFLOW_TYPES,
} from '../../../src/contract/temporal.ts';
import { ACCOUNT_ID, inTurn, type Scenario } from './scenario.ts';

const COHORT_ID = '01900000-0000-7000-8000-0000000000c1';

const page = (changes: Partial<MonitoredPage>): MonitoredPage => ({
  started: 0,
  skipped: { alreadyAsked: 0, optedOut: 0, gone: 0 },
  failed: 0,
  canList: true,
  requests: 10,
  patients: 200,
  ...changes,
});
const next = (fromItem: string) => ({ fromItem, handled: [], refusals: 0 });

const monitoring = (
  monitorPage: MonitoringActivities['monitorPage'],
  changes: Partial<CohortMonitoringInput> = {},
): Omit<Scenario, 'meanwhile'> => ({
  workflowType: WORKFLOW_TYPES.cohortMonitoring,
  workflowId: cohortMonitoringWorkflowId(COHORT_ID, 'hie'),
  args: [
    {
      exchange: { credentialRef: `account/${ACCOUNT_ID}` },
      cohortId: COHORT_ID,
      kind: 'hie',
      frequency: 'weekly',
      queriesPerMinute: 9_600,
      pace: DEFAULT_MONITORING_PACE,
      ...changes,
    } satisfies CohortMonitoringInput,
  ],
  activities: { orchestrator: { monitorPage } satisfies MonitoringActivities },
});

export const cohortMonitoringScenarios: Record<string, Scenario> = {
  'cohort-monitoring/paced-waited-completed-v1': monitoring(
    inTurn(
      page({ started: 90, next: next('b'), requestLimit: 120_000 }),
      page({
        started: 5,
        next: { ...next('b'), handled: ['p'], refusals: 1 },
        waitMs: 600,
      }),
      page({
        started: 60,
        skipped: { alreadyAsked: 30, optedOut: 5, gone: 1 },
        failed: 1,
        canList: false,
      }),
    ),
  ),
  'cohort-monitoring/paused-resumed-cancelled-v1': {
    ...monitoring(inTurn(page({ started: 1, next: next('b') })), {
      queriesPerMinute: 60,
    }),
    async meanwhile(handle) {
      await sleep(400);
      await handle.signal(COHORT_MONITORING_MESSAGES.pause);
      await sleep(1_500);
      await handle.signal(COHORT_MONITORING_MESSAGES.resume);
      await sleep(400);
      await handle.cancel();
    },
  },
  'cohort-monitoring/refused-v1': monitoring(
    inTurn(page({ failed: 5, refused: true, next: next('b') })),
  ),
  'cohort-monitoring/unauthorized-v1': monitoring(
    inTurn<MonitoredPage>(
      ApplicationFailure.nonRetryable(
        'listCohortPatients: 401',
        'unauthorized',
      ),
    ),
  ),
};
