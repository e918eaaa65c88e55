import { ApplicationFailure } from '@temporalio/common';
import type { BulkFileActivities } from '../../../src/activities/orchestrator/bulk-onboarding.ts';
import type { EndpointActivities } from '../../../src/activities/orchestrator/endpoints.ts';
import {
  BULK_ONBOARDING_MESSAGES,
  type BulkCreateSignal,
  type BulkOnboardingInput,
  type BulkOnboardingTiming,
  DEFAULT_BULK_TIMING,
} from '../../../src/contract/bulk-onboarding.ts';
import {
  bulkOnboardingWorkflowId,
  WORKFLOW_TYPES,
} from '../../../src/contract/temporal.ts';
import { ACCOUNT_ID, inTurn, REQUEST_ID, type Scenario } from './scenario.ts';

const NEXT_REQUEST_ID = '01900000-0000-7000-8000-000000000002';
const FACILITY_ID = '01900000-0000-7000-8000-0000000000f1';
const AT = '2026-11-21T12:00:00.000Z';
const file = (name: string) => ({
  ref: name,
  sha256: '0'.repeat(64),
  sizeBytes: 2_000,
  contentType: 'text/csv',
});
const counts = { rows: 20, created: 17, updated: 1, failed: 2 };

const request = (requestId: string) => ({
  requestId,
  facilityId: FACILITY_ID,
  params: { dryRun: false },
  createdAt: AT,
});
const started = (requestId: string) => ({
  ...request(requestId),
  status: 'waiting' as const,
  uploadUrl: `https://exchange.test/links/bulk-upload/${requestId}`,
});
const stands = (
  status: 'processing' | 'completed' | 'failed' | 'expired',
  more: { paused?: true } = {},
) => ({
  ...request(REQUEST_ID),
  status,
  counts: { ...counts, handled: 10 },
  ...more,
});

const bulk = (
  answers: Partial<EndpointActivities & BulkFileActivities>,
  timing: Partial<BulkOnboardingTiming> = {},
): Omit<Scenario, 'meanwhile'> => {
  const input: BulkOnboardingInput = {
    exchange: { credentialRef: `account/${ACCOUNT_ID}` },
    facilityId: FACILITY_ID,
    dryRun: false,
    file: file('upload/0123456789abcdef0123456789abcdef'),
    rows: 20,
    timing: { ...DEFAULT_BULK_TIMING, ...timing },
  };
  return {
    workflowType: WORKFLOW_TYPES.bulkOnboarding,
    workflowId: bulkOnboardingWorkflowId('0123456789abcdef0123456789abcdef'),
    args: [input],
    activities: {
      orchestrator: {
        startBulkCreate: inTurn(started(REQUEST_ID), started(NEXT_REQUEST_ID)),
        uploadBulkFile: inTurn('taken' as const),
        getBulkCreate: inTurn(stands('processing')),
        takeBulkResult: async () => ({
          counts,
          result: file('result/1'),
          corrections: file('result/2'),
        }),
        discardFiles: async () => undefined,
        ...answers,
      },
    },
  };
};

const webhook = (
  status: BulkCreateSignal['status'],
  requestId = REQUEST_ID,
): BulkCreateSignal => ({
  messageId: `message-${status}-${requestId}`,
  requestId,
  status,
  ...(status === 'completed'
    ? { result: 'https://exchange.test/links/bulk-result/1' }
    : {}),
});
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const { bulkCreateEvent } = BULK_ONBOARDING_MESSAGES;

export const bulkOnboardingScenarios: Record<string, Scenario> = {
  /** Paused and resumed on the way; one webhook comes twice. */
  'bulk-onboarding/webhooks-paused-v1': {
    ...bulk({
      pauseBulkCreate: inTurn(stands('processing', { paused: true })),
      resumeBulkCreate: inTurn(stands('processing')),
    }),
    async meanwhile(handle) {
      await pause(1_000);
      await handle.signal(bulkCreateEvent, webhook('processing'));
      await handle.executeUpdate(BULK_ONBOARDING_MESSAGES.pause);
      await handle.executeUpdate(BULK_ONBOARDING_MESSAGES.resume);
      await handle.signal(bulkCreateEvent, webhook('completed'));
      await handle.signal(bulkCreateEvent, webhook('completed'));
    },
  },
  /** The first URL passes unused, no webhook comes. */
  'bulk-onboarding/another-url-polled-v1': bulk(
    {
      uploadBulkFile: inTurn<'gone' | 'taken'>('gone', 'taken'),
      getBulkCreate: inTurn(
        stands('processing'),
        new Error('no answer'),
        stands('completed'),
      ),
    },
    { pollFirstMs: 500, pollMaxMs: 1_000 },
  ),
  /**
   * The exchange cannot take the file while the first URL is valid; the second
   * upload succeeds.
   */
  'bulk-onboarding/uploaded-after-outage-v1': {
    ...bulk({
      startBulkCreate: inTurn(started(NEXT_REQUEST_ID), started(REQUEST_ID)),
      uploadBulkFile: inTurn<'gone-in-outage' | 'taken'>(
        'gone-in-outage',
        'taken',
      ),
    }),
    async meanwhile(handle) {
      await pause(1_500);
      await handle.signal(bulkCreateEvent, webhook('completed'));
    },
  },
  /** The workflow fails and does not delete the file. */
  'bulk-onboarding/upload-refused-v1': bulk({
    uploadBulkFile: inTurn<'taken'>(
      ApplicationFailure.nonRetryable('uploadBulkFile: 413', 'rejected'),
    ),
  }),
  'bulk-onboarding/failed-v1': {
    ...bulk({}),
    async meanwhile(handle) {
      await pause(1_000);
      await handle.signal(bulkCreateEvent, webhook('failed'));
    },
  },
  'bulk-onboarding/cancelled-v1': {
    ...bulk({ cancelBulkCreate: inTurn(stands('failed')) }),
    async meanwhile(handle) {
      await pause(1_500);
      await handle.cancel();
    },
  },
};
