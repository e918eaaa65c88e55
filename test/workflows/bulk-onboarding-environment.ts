import type { BulkFileActivities } from '../../src/activities/orchestrator/bulk-onboarding.ts';
import type { EndpointActivities } from '../../src/activities/orchestrator/endpoints.ts';
import {
  BULK_ONBOARDING_MESSAGES,
  type BulkCreateSignal,
  type BulkOnboardingInput,
  type BulkOnboardingStatus,
  type BulkOnboardingSummary,
  type BulkOnboardingTiming,
  type BulkResult,
  DEFAULT_BULK_TIMING,
} from '../../src/contract/bulk-onboarding.ts';
import {
  bulkOnboardingWorkflowId,
  TASK_QUEUES,
  WORKFLOW_TYPES,
} from '../../src/contract/temporal.ts';
import type { BulkState } from '../../src/workflows/orchestrator/bulk-onboarding/bulk-onboarding.ts';
import type { OnboardingEnvironment } from '../support/patient-onboarding-environment.ts';

export type BulkActivities = Partial<EndpointActivities & BulkFileActivities>;
export type BulkRun = Awaited<ReturnType<typeof startBulk>>;

const ref = (name: string) => ({
  ref: `result/${name}`,
  sha256: name,
  sizeBytes: 10,
  contentType: 'text/csv',
});

/**
 * What differs from the usual input; what `timing` leaves out is the default.
 */
export type BulkChanges = Partial<Omit<BulkOnboardingInput, 'timing'>> & {
  timing?: Partial<BulkOnboardingTiming>;
};

export const bulkInput = ({
  timing,
  ...overrides
}: BulkChanges = {}): BulkOnboardingInput => ({
  exchange: { credentialRef: 'api-key' },
  facilityId: 'facility-1',
  dryRun: false,
  file: {
    ref: 'upload/file',
    sha256: 'f1',
    sizeBytes: 2_000,
    contentType: 'text/csv',
  },
  rows: 20,
  timing: { ...DEFAULT_BULK_TIMING, ...timing },
  ...overrides,
});

export const result = (failed = 2): BulkResult => ({
  counts: { rows: 20, created: 17 - failed, updated: 3, failed },
  result: ref('all'),
  patients: ref('patients'),
  ...(failed === 0 ? {} : { corrections: ref('corrections') }),
});

/** What the exchange says of a request. */
export const answer = (
  status: string,
  more: { paused?: boolean; reason?: string; requestId?: string } = {},
) => ({
  requestId: 'request-1',
  status,
  counts: { rows: 20, handled: 10, created: 8, updated: 1, failed: 1 },
  ...more,
});

/**
 * An exchange that never gets ready, and never refuses anything; notes what it
 * is asked.
 */
export function slowExchange(activities: BulkActivities = {}) {
  const calls: string[] = [];
  let requests = 0;
  const all: BulkActivities = {
    startBulkCreate: async () => {
      requests += 1;
      return {
        requestId: `request-${requests}`,
        status: 'waiting',
        uploadUrl: `https://exchange.test/${requests}`,
      };
    },
    uploadBulkFile: async () => 'taken',
    getBulkCreate: async () => answer('processing'),
    pauseBulkCreate: async () => answer('processing', { paused: true }),
    resumeBulkCreate: async () => answer('processing'),
    cancelBulkCreate: async () => answer('failed'),
    takeBulkResult: async () => result(),
    discardFiles: async () => undefined,
    ...activities,
  };
  const noted = Object.fromEntries(
    Object.entries(all).map(([name, activity]) => [
      name,
      (...args: unknown[]) => {
        calls.push(name);
        return (activity as (...args: unknown[]) => unknown)(...args);
      },
    ]),
  );
  return {
    calls,
    activities: noted,
    count: (name: string) => calls.filter((call) => call === name).length,
  };
}

let count = 0;

export async function startBulk(
  { environment }: OnboardingEnvironment,
  overrides: BulkChanges = {},
  carried?: BulkState,
) {
  count += 1;
  return environment.client.workflow.start<
    (
      input: BulkOnboardingInput,
      carried?: BulkState,
    ) => Promise<BulkOnboardingSummary>
  >(WORKFLOW_TYPES.bulkOnboarding, {
    taskQueue: TASK_QUEUES.orchestrator,
    workflowId: bulkOnboardingWorkflowId(`job-${count}`),
    args: [bulkInput(overrides), carried],
  });
}

export const bulkStatus = (run: BulkRun): Promise<BulkOnboardingStatus> =>
  run.query<BulkOnboardingStatus>(BULK_ONBOARDING_MESSAGES.status);

export const tell = (
  run: BulkRun,
  event: Partial<BulkCreateSignal>,
): Promise<void> =>
  run.signal(BULK_ONBOARDING_MESSAGES.bulkCreateEvent, {
    messageId: `message-${event.status}`,
    requestId: 'request-1',
    ...event,
  });
