import { ApplicationFailure, IllegalStateError } from '@temporalio/common';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import type { EndpointActivities } from '../../src/activities/orchestrator/endpoints.ts';
import type { PatientOnboardingActivities } from '../../src/activities/orchestrator/patient-onboarding.ts';
import {
  type OnboardingTiming,
  PATIENT_ONBOARDING_MESSAGES,
  type PatientOnboardingInput,
  type PatientOnboardingStatus,
  type PatientOnboardingSummary,
} from '../../src/contract/patient-onboarding.ts';
import {
  patientOnboardingWorkflowId,
  SEARCH_ATTRIBUTES,
  TASK_QUEUES,
  WORKFLOW_TYPES,
} from '../../src/contract/temporal.ts';
import { createLogger } from '../../src/lib/logger.ts';
import type { FailureKind } from '../../src/orchestrator/client/failures.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import { IndexedValueType } from '../../src/temporal/proto.ts';
import { installTemporalRuntime } from '../../src/temporal/runtime.ts';
import { getTimeSkippingServer } from '../../src/temporal/server-binary.ts';
import { allRunning, type OnboardingChanges, onboardingInput } from './onboarding-events.ts';
import { testKeyRing } from './test-keys.ts';
import { workflowBundle } from './workflow-bundle.ts';

export type Mocks = Partial<EndpointActivities & PatientOnboardingActivities>;

type OnboardingWorkflow = (input: PatientOnboardingInput) => Promise<PatientOnboardingSummary>;

try {
  installTemporalRuntime(createLogger('test', 'error'));
} catch (error) {
  // Files of a worker share a process: another one has connected before.
  if (!(error instanceof IllegalStateError)) throw error;
}
const dataConverter = createDataConverter(testKeyRing());

/** A server of its own, whose clock leaps over waits while a test waits for a result. */
export async function createOnboardingEnvironment() {
  const environment = await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path: await getTimeSkippingServer() } },
    client: { dataConverter },
  });
  // This server can add search attributes, but not list them, which registerSearchAttributes does first.
  await environment.connection.operatorService.addSearchAttributes({
    namespace: 'default',
    searchAttributes: Object.fromEntries(
      Object.entries(SEARCH_ATTRIBUTES).map(([name, type]) => [
        name,
        type === 'Keyword'
          ? IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
          : IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
      ]),
    ),
  });
  let count = 0;

  return {
    environment,
    close: () => environment.teardown(),
    /** Runs `use` while a worker with these activities serves the orchestrator's queue. */
    async withWorker<R>(activities: object, use: () => Promise<R>): Promise<R> {
      const worker = await Worker.create({
        connection: environment.nativeConnection,
        namespace: environment.namespace ?? 'default',
        taskQueue: TASK_QUEUES.orchestrator,
        workflowBundle: await workflowBundle(),
        dataConverter,
        activities,
      });
      return worker.runUntil(use);
    },
    async start(overrides: OnboardingChanges = {}) {
      count += 1;
      const orchestrationId = `orchestration-${count}`;
      const workflowId = patientOnboardingWorkflowId(orchestrationId);
      return environment.client.workflow.start<OnboardingWorkflow>(WORKFLOW_TYPES.patientOnboarding, {
        taskQueue: TASK_QUEUES.orchestrator,
        workflowId,
        args: [onboardingInput({ orchestrationId, ...overrides })],
      });
    },
  };
}

export type OnboardingEnvironment = Awaited<ReturnType<typeof createOnboardingEnvironment>>;
export type OnboardingRun = Awaited<ReturnType<OnboardingEnvironment['start']>>;

export const EVENT = PATIENT_ONBOARDING_MESSAGES.networkQueryEvent;
/** The time-skipping server never answers a query that meets the end of a run: it fails then, to be repeated. */
export const statusOf = (run: OnboardingRun): Promise<PatientOnboardingStatus> =>
  run.client.withDeadline(Date.now() + 10_000, () =>
    run.query<PatientOnboardingStatus>(PATIENT_ONBOARDING_MESSAGES.status),
  );

/** The patient that `obliging` creates. */
export const PATIENT_ID = 'patient-1';

/** An exchange that does all it is asked; a test replaces what it is about. */
export const obliging = (mocks: Mocks = {}): Mocks => ({
  createPatient: async () => ({ patientId: PATIENT_ID, created: true }),
  addPatientToCohorts: async ({ body }) => ({ cohortIds: body.cohortIds }),
  startNetworkQuery: async () => allRunning(),
  getNetworkQuery: async () => allRunning(),
  listDocuments: async () => ({ total: 1, fileNames: ['summary.xml'] }),
  cancelNetworkQuery: async () => allRunning(),
  forgetRun: async () => undefined,
  ...mocks,
});

/** As the activities throw it. */
export const failure = (kind: FailureKind, message = `the exchange answered ${kind}`): ApplicationFailure =>
  ApplicationFailure.create({
    type: kind,
    message,
    nonRetryable: kind !== 'unavailable' && kind !== 'rate-limited',
  });

export const quick: Partial<OnboardingTiming> = { pollFirstMs: 60_000, pollMaxMs: 600_000 };
