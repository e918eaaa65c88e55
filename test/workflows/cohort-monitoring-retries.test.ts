import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type {
  MonitoredPage,
  MonitoringActivities,
} from '../../src/activities/orchestrator/cohort-monitoring.ts';
import type {
  CohortMonitoringInput,
  CohortMonitoringStatus,
} from '../../src/contract/cohort-monitoring.ts';
import { TASK_QUEUES, WORKFLOW_TYPES } from '../../src/contract/temporal.ts';
import type { FailureKind } from '../../src/orchestrator/client/failures.ts';
import {
  createOnboardingEnvironment,
  failure,
  type OnboardingEnvironment,
} from '../support/patient-onboarding-environment.ts';

let environment: OnboardingEnvironment;
beforeAll(async () => {
  environment = await createOnboardingEnvironment();
});
afterAll(() => environment?.close());

const DONE: MonitoredPage = {
  started: 3,
  skipped: { alreadyAsked: 0, optedOut: 0, gone: 0 },
  failed: 0,
  canList: true,
  requests: 3,
  patients: 3,
};

type Monitoring = (
  input: CohortMonitoringInput,
) => Promise<CohortMonitoringStatus>;

/**
 * A round whose page is asked for so often; `page` gets the number of the try,
 * from 1.
 */
async function round(
  frequency: CohortMonitoringInput['frequency'],
  page: (tries: number) => MonitoredPage,
) {
  let tries = 0;
  const activities: MonitoringActivities = {
    monitorPage: async () => page(++tries),
  };
  const { client } = environment.environment;
  const outcome = await environment.withWorker(activities, async () => {
    const run = await client.workflow.start<Monitoring>(
      WORKFLOW_TYPES.cohortMonitoring,
      {
        taskQueue: TASK_QUEUES.orchestrator,
        workflowId: `monitoring-retries/${randomUUID()}`,
        args: [
          {
            exchange: { credentialRef: 'api-key' },
            cohortId: 'c',
            kind: 'hie',
            frequency,
            queriesPerMinute: 60,
          },
        ],
      },
    );
    return run.result().catch((error: { cause?: unknown }) => error.cause);
  });
  return { outcome, tries };
}

const failing = (kind: FailureKind) => (): never => {
  throw failure(kind);
};

describe('a round of a cohort whose page fails', () => {
  test('because a key has expired goes on when it is repaired a day later, not in a month', async () => {
    const { outcome, tries } = await round('monthly', (number) =>
      number <= 4 ? failing('unauthorized')() : DONE,
    );
    expect(outcome).toMatchObject({ state: 'completed', started: 3 });
    expect(tries).toBe(5);
  });

  test.each([
    ['weekly', 2],
    ['biweekly', 4],
    ['monthly', 7],
  ] as const)(
    'is tried again for a quarter of its period, and then fails: %s',
    async (frequency, days) => {
      const { outcome, tries } = await round(
        frequency,
        failing('unauthorized'),
      );
      expect(outcome).toMatchObject({ type: 'unauthorized' });
      expect(tries).toBe(days * 4);
    },
  );

  test('because the exchange refuses the request ends at once', async () => {
    const { outcome, tries } = await round('monthly', failing('rejected'));
    expect(outcome).toMatchObject({ type: 'rejected' });
    expect(tries).toBe(1);
  });
});
