import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure, IllegalStateError } from '@temporalio/common';
import { Worker } from '@temporalio/worker';
import type { EndpointActivities } from '../../src/activities/orchestrator/endpoints.ts';
import type { PatientOnboardingActivities } from '../../src/activities/orchestrator/patient-onboarding.ts';
import {
  createOutcomeActivities,
  type OutcomeActivities,
} from '../../src/activities/orchestrator/read-outcome.ts';
import {
  type OnboardingTiming,
  PATIENT_ONBOARDING_MESSAGES,
  type PatientOnboardingInput,
  type PatientOnboardingStatus,
  type PatientOnboardingSummary,
} from '../../src/contract/patient-onboarding.ts';
import {
  patientOnboardingWorkflowId,
  TASK_QUEUES,
  WORKFLOW_TYPES,
} from '../../src/contract/temporal.ts';
import type { FailureKind } from '../../src/orchestrator/client/failures.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import {
  allRunning,
  type OnboardingChanges,
  onboardingInput,
} from './onboarding-events.ts';
import { installTestRuntime } from './temporal-runtime.ts';
import { testKeyRing } from './test-keys.ts';
import { startTimeSkippingServer } from './time-skipping-server.ts';
import { workflowBundle } from './workflow-bundle.ts';

export type Mocks = Partial<
  EndpointActivities & PatientOnboardingActivities & OutcomeActivities
>;

type OnboardingWorkflow = (
  input: PatientOnboardingInput,
) => Promise<PatientOnboardingSummary>;

try {
  installTestRuntime();
} catch (error) {
  // Files of a worker share a process: another one has connected before.
  if (!(error instanceof IllegalStateError)) throw error;
}
const dataConverter = createDataConverter(testKeyRing());

/**
 * A server of its own, whose clock leaps over waits while a test waits for a
 * result. One worker serves all its tests: this server may give a task to a
 * poller that has just gone, and its workflow then stands still.
 */
export async function createOnboardingEnvironment() {
  const environment = await startTimeSkippingServer(dataConverter);
  let count = 0;
  let current: object = {};
  let stopWorker: (() => Promise<void>) | undefined;
  const startWorker = async () => {
    const worker = await Worker.create({
      connection: environment.nativeConnection,
      namespace: environment.namespace ?? 'default',
      taskQueue: TASK_QUEUES.orchestrator,
      workflowBundle: await workflowBundle(),
      dataConverter,
      // The SDK calls it for every type of activity.
      activities: { default: (input: unknown) => runActivity(current, input) },
    });
    const running = worker.run();
    return async () => {
      worker.shutdown();
      await running;
    };
  };

  return {
    environment,
    async close() {
      await stopWorker?.();
      await environment.teardown();
    },
    /**
     * Runs `use` while the worker of the orchestrator's queue has these
     * activities. It starts with the first call, and stays.
     */
    async withWorker<R>(activities: object, use: () => Promise<R>): Promise<R> {
      current = activities;
      stopWorker ??= await startWorker();
      return use();
    },
    async start(overrides: OnboardingChanges = {}) {
      count += 1;
      const orchestrationId = `orchestration-${count}`;
      const workflowId = patientOnboardingWorkflowId(orchestrationId);
      return environment.client.workflow.start<OnboardingWorkflow>(
        WORKFLOW_TYPES.patientOnboarding,
        {
          taskQueue: TASK_QUEUES.orchestrator,
          workflowId,
          args: [onboardingInput({ orchestrationId, ...overrides })],
        },
      );
    },
  };
}

async function runActivity(
  activities: object,
  input: unknown,
): Promise<unknown> {
  const { activityType } = activityInfo();
  const activity = new Map<string, unknown>(Object.entries(activities)).get(
    activityType,
  );
  if (typeof activity !== 'function')
    throw new Error(`this test has no activity ${activityType}`);
  return activity(input);
}

export type OnboardingEnvironment = Awaited<
  ReturnType<typeof createOnboardingEnvironment>
>;
export type OnboardingRun = Awaited<ReturnType<OnboardingEnvironment['start']>>;

export const EVENT = PATIENT_ONBOARDING_MESSAGES.networkQueryEvent;
/**
 * The time-skipping server never answers a query that meets the end of a run:
 * it fails then, to be repeated.
 */
export const statusOf = (
  run: OnboardingRun,
): Promise<PatientOnboardingStatus> =>
  run.client.withDeadline(Date.now() + 10_000, () =>
    run.query<PatientOnboardingStatus>(PATIENT_ONBOARDING_MESSAGES.status),
  );

/** The patient that `obliging` creates. */
export const PATIENT_ID = 'patient-1';

/** An exchange that does all it is asked; a test replaces what it is about. */
export function obliging(mocks: Mocks = {}): Mocks {
  const reads = {
    getNetworkQuery: mocks.getNetworkQuery ?? (async () => allRunning()),
    listDocuments:
      mocks.listDocuments ??
      (async () => ({ total: 1, fileNames: ['summary.xml'] })),
  };
  return {
    createPatient: async () => ({ patientId: PATIENT_ID, created: true }),
    addPatientToCohorts: async ({ body }) => ({ cohortIds: body.cohortIds }),
    startNetworkQuery: async () => allRunning(),
    cancelNetworkQuery: async () => allRunning(),
    forgetRun: async () => undefined,
    ...reads,
    ...createOutcomeActivities(reads),
    ...mocks,
  };
}

/** As the activities throw it. */
export const failure = (
  kind: FailureKind,
  message = `the exchange answered ${kind}`,
): ApplicationFailure =>
  ApplicationFailure.create({
    type: kind,
    message,
    nonRetryable: kind !== 'unavailable' && kind !== 'rate-limited',
  });

export const quick: Partial<OnboardingTiming> = {
  pollFirstMs: 60_000,
  pollMaxMs: 600_000,
};
