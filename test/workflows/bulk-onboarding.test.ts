import {
  WorkflowFailedError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import {
  afterAll,
  beforeAll,
  describe,
  expect,
  onTestFinished,
  test,
} from 'vitest';
import {
  BULK_ONBOARDING_MESSAGES,
  type BulkOnboardingStatus,
} from '../../src/contract/bulk-onboarding.ts';
import { searchAttribute } from '../../src/temporal/search-attributes.ts';
import {
  type BulkState,
  newBulkState,
} from '../../src/workflows/orchestrator/bulk-onboarding/bulk-onboarding.ts';
import {
  createOnboardingEnvironment,
  failure,
  type OnboardingEnvironment,
} from '../support/patient-onboarding-environment.ts';
import {
  answer,
  type BulkRun,
  bulkStatus,
  result,
  slowExchange,
  startBulk,
  tell,
} from './bulk-onboarding-environment.ts';

let environment: OnboardingEnvironment;
beforeAll(async () => {
  environment = await createOnboardingEnvironment();
});
afterAll(() => environment?.close());

const served = <R>(
  exchange: ReturnType<typeof slowExchange>,
  use: () => Promise<R>,
): Promise<R> => environment.withWorker(exchange.activities, use);

const processing = (run: BulkRun) =>
  expect
    .poll(async () => (await bulkStatus(run)).phase, { timeout: 240_000 })
    .toBe('processing');

async function failureOf(run: BulkRun): Promise<unknown> {
  const error = await run.result().catch((thrown: unknown) => thrown);
  return error instanceof WorkflowFailedError ? error.cause : error;
}

describe('a bulk onboarding', () => {
  test('asks for a URL, sends the file, and ends by the webhook with what the result says', async () => {
    let asked: unknown;
    let sent: unknown;
    let taken: unknown;
    const exchange = slowExchange({
      startBulkCreate: async (input) => {
        asked = input;
        return {
          requestId: 'request-1',
          status: 'waiting',
          uploadUrl: 'https://exchange.test/u',
        };
      },
      uploadBulkFile: async (input) => {
        sent = input;
        return 'taken';
      },
      takeBulkResult: async (input) => {
        taken = input;
        return result();
      },
    });
    await served(exchange, async () => {
      const run = await startBulk(environment, { dryRun: true });
      await processing(run);
      await tell(run, { status: 'processing' });
      await tell(run, {
        status: 'completed',
        result: 'https://exchange.test/r',
      });
      await tell(run, {
        status: 'completed',
        result: 'https://exchange.test/r',
      });
      expect(await run.result()).toEqual({
        status: 'partial',
        dryRun: true,
        requestIds: ['request-1'],
        outcome: result(),
        via: 'webhook',
        webhooksReceived: 2,
      });
      const { typedSearchAttributes } = await run.describe();
      expect(typedSearchAttributes.get(searchAttribute.requestId)).toBe(
        'request-1',
      );
      expect(typedSearchAttributes.get(searchAttribute.queryStatus)).toBe(
        'partial',
      );
    });
    expect(asked).toMatchObject({
      query: { facilityId: 'facility-1', dryRun: true },
    });
    expect(sent).toMatchObject({
      requestId: 'request-1',
      uploadUrl: 'https://exchange.test/u',
      file: { sha256: 'f1' },
    });
    expect(taken).toMatchObject({
      requestId: 'request-1',
      link: 'https://exchange.test/r',
    });
    expect(exchange.calls.at(-1)).toBe('discardFiles');
  });

  test('looks for itself when webhooks get lost, also through an outage', async () => {
    let polls = 0;
    const exchange = slowExchange({
      getBulkCreate: async () => {
        polls += 1;
        if (polls === 2) throw failure('not-found');
        return answer(polls < 4 ? 'processing' : 'completed');
      },
      takeBulkResult: async () => result(0),
    });
    const summary = await served(exchange, async () =>
      (await startBulk(environment)).result(),
    );
    expect(summary).toMatchObject({
      status: 'completed',
      via: 'poll',
      webhooksReceived: 0,
    });
    expect(polls).toBe(4);
  });

  test('whose upload URL passed asks for another, and hears no more of the first request', async () => {
    let uploads = 0;
    const exchange = slowExchange({
      uploadBulkFile: async () => {
        uploads += 1;
        return uploads === 1 ? 'gone' : 'taken';
      },
    });
    await served(exchange, async () => {
      const run = await startBulk(environment);
      await processing(run);
      await tell(run, {
        status: 'failed',
        requestId: 'request-1',
        reason: 'not this one',
      });
      expect(await bulkStatus(run)).toMatchObject({
        phase: 'processing',
        requestIds: ['request-1', 'request-2'],
      });
      await tell(run, {
        status: 'completed',
        requestId: 'request-2',
        messageId: 'another',
      });
      expect(await run.result()).toMatchObject({
        requestIds: ['request-1', 'request-2'],
        status: 'partial',
      });
    });
  });

  test('that the exchange lets expire although it was uploaded is sent again', async () => {
    let polls = 0;
    const exchange = slowExchange({
      getBulkCreate: async () =>
        answer(++polls === 1 ? 'expired' : 'completed'),
    });
    const summary = await served(exchange, async () =>
      (await startBulk(environment)).result(),
    );
    expect(summary).toMatchObject({
      requestIds: ['request-1', 'request-2'],
      via: 'poll',
    });
    expect(exchange.count('uploadBulkFile')).toBe(2);
  });

  test('gives up when three upload URLs have passed', async () => {
    const exchange = slowExchange({ uploadBulkFile: async () => 'gone' });
    const error = await served(exchange, async () =>
      failureOf(await startBulk(environment)),
    );
    expect(error).toMatchObject({
      type: 'file-not-uploaded',
      message: expect.stringContaining('3 upload URLs'),
    });
    expect(exchange.count('startBulkCreate')).toBe(3);
    // The file stays: a failure must not lose it.
    expect(exchange.count('discardFiles')).toBe(0);
  });

  test.each(['while URLs expire', 'while uploads fail'])(
    'outlives an outage of the exchange of an hour (%s): only the deadline bounds its requests',
    async (how) => {
      const exchange = slowExchange({
        uploadBulkFile: async () => {
          if (exchange.count('startBulkCreate') > 6) return 'taken';
          if (how === 'while uploads fail') throw failure('unavailable');
          return 'gone-in-outage';
        },
        getBulkCreate: async () => answer('completed'),
      });
      const summary = await served(exchange, async () =>
        (await startBulk(environment)).result(),
      );
      expect(summary).toMatchObject({ via: 'poll' });
      expect(summary.requestIds).toHaveLength(7);
    },
  );

  test('of a file that the exchange does not accept ends with its reason, without a result to read', async () => {
    const exchange = slowExchange({
      getBulkCreate: async () =>
        answer('failed', { reason: 'The column zip-1 is missing' }),
    });
    const summary = await served(exchange, async () =>
      (await startBulk(environment)).result(),
    );
    expect(summary).toMatchObject({
      status: 'failed',
      reason: 'The column zip-1 is missing',
    });
    expect(summary.outcome).toBeUndefined();
    expect(exchange.count('takeBulkResult')).toBe(0);
  });

  test.each([
    [
      'cannot be started',
      { startBulkCreate: async () => Promise.reject(failure('not-found')) },
      'bulk-not-started',
    ],
    [
      'cannot be uploaded',
      { uploadBulkFile: async () => Promise.reject(failure('rejected')) },
      'file-not-uploaded',
    ],
    [
      'has no result that can be read',
      {
        getBulkCreate: async () => answer('completed'),
        takeBulkResult: async () => Promise.reject(failure('bad-answer')),
      },
      'result-not-read',
    ],
  ])(
    'that %s fails with the kind of what went wrong',
    async (_, activities, type) => {
      const exchange = slowExchange(activities);
      const error = await served(exchange, async () =>
        failureOf(await startBulk(environment)),
      );
      expect(error).toBeInstanceOf(ApplicationFailure);
      expect(error).toMatchObject({ type, nonRetryable: true });
      expect(exchange.count('discardFiles')).toBe(0);
    },
  );

  test('waits no longer than its deadline', async () => {
    const exchange = slowExchange();
    const summary = await served(exchange, async () =>
      (
        await startBulk(environment, { timing: { deadlineMs: 3_600_000 } })
      ).result(),
    );
    expect(summary).toMatchObject({
      status: 'timed-out',
      reason: 'no outcome before the deadline',
    });
    expect(exchange.count('getBulkCreate')).toBeGreaterThan(5);
    expect(exchange.count('getBulkCreate')).toBeLessThan(30);
  });

  test('that began anew in the middle waits on where it was', async () => {
    const exchange = slowExchange({
      getBulkCreate: async () => answer('completed'),
    });
    const nowMs = await environment.environment.currentTimeMs();
    const carried: BulkState = {
      ...newBulkState(20, nowMs + 3_600_000),
      phase: 'processing',
      requestIds: ['request-7'],
      webhooksReceived: 1,
      nextPollAtMs: nowMs + 60_000,
    };
    const summary = await served(exchange, async () =>
      (await startBulk(environment, {}, carried)).result(),
    );
    expect(summary).toMatchObject({
      requestIds: ['request-7'],
      webhooksReceived: 1,
      status: 'partial',
    });
    expect(
      exchange.count('startBulkCreate') + exchange.count('uploadBulkFile'),
    ).toBe(0);
  });

  test('that is cancelled cancels the request and deletes its copy of the file', async () => {
    const exchange = slowExchange();
    const error = await served(exchange, async () => {
      const run = await startBulk(environment);
      await processing(run);
      await run.cancel();
      return failureOf(run);
    });
    expect(error).toBeInstanceOf(CancelledFailure);
    expect(exchange.calls.slice(-2)).toEqual([
      'cancelBulkCreate',
      'discardFiles',
    ]);
  });

  test('keeps the panel when a bug in our code stops it, so that a corrected worker can continue', async () => {
    const exchange = slowExchange({
      startBulkCreate: async () => undefined as never,
    });
    // It terminates a workflow, which may leave the clock of a time-skipping
    // server standing for the tests after it.
    const own = await createOnboardingEnvironment();
    onTestFinished(own.close);
    await own.withWorker(exchange.activities, async () => {
      const run = await startBulk(own);
      // On a busy machine a task may fail for another reason too, before the
      // exchange was called.
      const hasStopped = async () => {
        const { events = [] } = await run.fetchHistory();
        const answered =
          events?.findLastIndex(
            (event) => event.activityTaskCompletedEventAttributes,
          ) ?? -1;
        const failed = events
          ?.slice(answered)
          .some((event) => event.workflowTaskFailedEventAttributes);
        return (
          exchange.count('startBulkCreate') === 1 && answered >= 0 && failed
        );
      };
      await expect.poll(hasStopped).toBe(true);
      await run.terminate();
    });
    expect(exchange.count('startBulkCreate')).toBe(1);
    expect(exchange.count('discardFiles')).toBe(0);
  });

  test('is paused and resumed at the exchange, and says what it refuses', async () => {
    const exchange = slowExchange({
      resumeBulkCreate: async () =>
        Promise.reject(failure('conflict', 'resumeBulkCreate: 409')),
    });
    await served(exchange, async () => {
      const run = await startBulk(environment);
      await processing(run);
      const steer = (how: 'pause' | 'resume') =>
        run.executeUpdate<BulkOnboardingStatus, []>(
          BULK_ONBOARDING_MESSAGES[how],
        );
      expect(await steer('pause')).toMatchObject({
        phase: 'processing',
        paused: true,
      });
      const refused = await steer('resume').catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(WorkflowUpdateFailedError);
      expect(String((refused as WorkflowUpdateFailedError).cause)).toContain(
        '409',
      );
      await tell(run, { status: 'completed' });
      await run.result();
    });
    expect(exchange.count('pauseBulkCreate')).toBe(1);
  });
});
