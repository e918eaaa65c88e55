import { Context } from '@temporalio/activity';
import {
  WorkflowFailedError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { CancelledFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  NETWORK_QUERY_MESSAGES as MESSAGES,
  SOURCE_FAILURE_TYPES as TYPES,
} from '../../src/contract/network-query-workflow.ts';
import {
  SOURCE_TYPES,
  type SourceType,
} from '../../src/contract/primitives.ts';
import {
  callBack,
  completed,
  createTimeSkippingEnvironment,
  eventually,
  failure,
  held,
  scriptedSources,
  stateOf,
  statusOf,
  type TimeSkipping,
  update,
  waiting,
} from './network-query-environment.ts';

// No test of this file waits for a leap of the clock: this server stops leaping
// once an activity was cancelled.
let skipping: TimeSkipping;
beforeAll(async () => {
  skipping = await createTimeSkippingEnvironment();
});
afterAll(() => skipping.close());

const refusalOf = async (
  work: Promise<unknown>,
): Promise<string | undefined> => {
  const error = await work.catch((reason: unknown) => reason);
  if (!(error instanceof WorkflowUpdateFailedError))
    throw new Error('it was not refused', { cause: error });
  return error.cause?.message;
};
/** A step that a cancellation ends, as the connectors' are. */
async function untilCancelled(): Promise<never> {
  const { cancelled, heartbeat } = Context.current();
  const beat = setInterval(() => heartbeat(), 100);
  return cancelled.finally(() => clearInterval(beat));
}

describe('giving a source up', () => {
  test('ends it while it is asked, waited for, or due for another attempt; the others go on', async () => {
    const { activities, failures } = scriptedSources({
      ask: {
        'hie/1': [waiting(86_400_000)],
        'pharmacy/1': [failure(TYPES.badAnswer, 'HTML')],
        'lab/1': [untilCancelled],
      },
    });
    await skipping.withActivities(activities, async () => {
      const run = await skipping.startQuery(SOURCE_TYPES);
      await eventually(
        async () => (await stateOf(run, 'pharmacy')) === 'backing-off',
      );
      await update(run, MESSAGES.giveUpSource, 'pharmacy');
      await eventually(async () => (await stateOf(run, 'hie')) === 'waiting');
      await update(run, MESSAGES.giveUpSource, 'lab');
      expect(await statusOf(run)).toMatchObject({
        status: 'running',
        sources: [
          { state: 'waiting' },
          { state: 'failed', reason: 'Given up on request' },
          { state: 'failed', reason: 'Given up on request' },
        ],
      });
      await update(run, MESSAGES.giveUpSource, 'hie');
      expect(await run.result()).toMatchObject({ status: 'failed' });
    });
    const reason = 'Given up on request';
    const of = (source: SourceType) =>
      failures.filter((each) => each.source === source);
    expect(of('hie')).toMatchObject([{ reason, abandoned: true }]);
    expect(of('lab')).toMatchObject([{ reason, abandoned: true }]);
    expect(of('pharmacy')).toMatchObject([
      { reason: 'HTML', retryAfterMs: 5_000 },
      { reason, abandoned: false },
    ]);
  });

  test('ends it while it waits for a source that refuses everybody, and shows that wait until then', async () => {
    const { activities, failures, calls } = scriptedSources({
      ask: { 'lab/1': [held(1_800_000)] },
    });
    await skipping.withActivities(activities, async () => {
      const run = await skipping.startQuery(['lab']);
      await eventually(async () => (await stateOf(run, 'lab')) === 'waiting');
      expect(await statusOf(run)).toMatchObject({
        sources: [
          {
            state: 'waiting',
            reason: 'lab answered 401 to the token request',
            nextTryAt: '2026-11-22T10:15:00.000Z',
          },
        ],
      });
      await update(run, MESSAGES.giveUpSource, 'lab');
      expect(await run.result()).toMatchObject({ status: 'failed' });
    });
    expect(failures).toMatchObject([
      { reason: 'Given up on request', abandoned: true },
    ]);
    expect(calls('collect', 'lab')).toEqual([]);
  });

  test('is refused when it has ended or is not part of the query', async () => {
    const { activities } = scriptedSources({
      ask: { 'hie/1': [waiting(86_400_000)] },
    });
    await skipping.withActivities(activities, async () => {
      const run = await skipping.startQuery(['hie', 'lab']);
      await eventually(async () => (await stateOf(run, 'lab')) === 'completed');
      expect(await refusalOf(update(run, MESSAGES.giveUpSource, 'lab'))).toBe(
        'The lab source is not running',
      );
      expect(
        await refusalOf(update(run, MESSAGES.giveUpSource, 'pharmacy')),
      ).toBe('The pharmacy source is not running');
      await update(run, MESSAGES.cancelQuery);
      await run.result();
    });
  });
});

describe('cancelling a query', () => {
  test('on request ends all its sources and then the query, as failed', async () => {
    const { activities, failures } = scriptedSources({
      ask: { 'hie/1': [waiting(86_400_000)], 'lab/1': [waiting(86_400_000)] },
    });
    await skipping.withActivities(activities, async () => {
      const run = await skipping.startQuery(['hie', 'lab']);
      await eventually(async () => (await stateOf(run, 'lab')) === 'waiting');
      await eventually(async () => (await stateOf(run, 'hie')) === 'waiting');
      await update(run, MESSAGES.cancelQuery);
      expect(await run.result()).toMatchObject({ status: 'failed' });
    });
    expect(failures.map(({ source }) => source).sort()).toEqual(['hie', 'lab']);
    expect(
      failures.every(
        ({ reason, abandoned }) =>
          abandoned && reason === 'Cancelled on request',
      ),
    ).toBe(true);
  });

  test('in Temporal first writes the ends, each with its own reason, then is cancelled', async () => {
    const { activities, failures } = scriptedSources({
      ask: { 'hie/1': [waiting(86_400_000)], 'lab/1': [waiting(86_400_000)] },
    });
    await skipping.withActivities(activities, async () => {
      const run = await skipping.startQuery(['hie', 'lab']);
      await eventually(async () => (await stateOf(run, 'lab')) === 'waiting');
      await eventually(async () => (await stateOf(run, 'hie')) === 'waiting');
      await update(run, MESSAGES.giveUpSource, 'lab');
      await run.cancel();
      const error = await run.result().catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(WorkflowFailedError);
      expect((error as WorkflowFailedError).cause).toBeInstanceOf(
        CancelledFailure,
      );
    });
    expect(
      failures.map(({ source, reason }) => `${source}: ${reason}`),
    ).toEqual(['lab: Given up on request', 'hie: Cancelled by an operator']);
  });

  test('in Temporal just as a source is tried again leaves nothing open', async () => {
    let letOpen: () => void = () => undefined;
    const opening = new Promise<void>((resolve) => {
      letOpen = resolve;
    });
    const { activities, failures, opened } = scriptedSources({
      ask: {
        'hie/1': [failure(TYPES.refused, 'no')],
        'lab/1': [waiting(86_400_000)],
      },
    });
    const { openNextAttempt } = activities;
    activities.openNextAttempt = async (step) => {
      const result = openNextAttempt?.(step);
      await opening;
      return result ?? { attempt: 0 };
    };
    await skipping.withActivities(activities, async () => {
      const run = await skipping.startQuery(['hie', 'lab']);
      await eventually(async () => (await stateOf(run, 'hie')) === 'failed');
      const retried = update(run, MESSAGES.retrySource, 'hie').catch(
        () => undefined,
      );
      await eventually(() => opened.length === 1);
      await run.cancel();
      await eventually(async () => (await stateOf(run, 'lab')) === 'failed');
      letOpen();
      await retried;
      await run.result().catch(() => undefined);
    });
    expect(
      failures.map(
        ({ source, attempt, reason }) => `${source}/${attempt}: ${reason}`,
      ),
    ).toEqual([
      'hie/1: no',
      'lab/1: Cancelled by an operator',
      'hie/2: Cancelled by an operator',
    ]);
  });
});

describe('trying a source again', () => {
  test('while the query runs is a further attempt of the same query', async () => {
    const { activities, opened, calls } = scriptedSources({
      ask: {
        'hie/1': [failure(TYPES.refused, 'no')],
        'hie/2': [completed(8)],
        'lab/1': [waiting(86_400_000)],
      },
    });
    await skipping.withActivities(activities, async () => {
      const run = await skipping.startQuery(['hie', 'lab']);
      await eventually(async () => (await stateOf(run, 'hie')) === 'failed');
      await update(run, MESSAGES.retrySource, 'hie');
      expect(opened).toMatchObject([{ source: 'hie', attempt: 2 }]);
      await eventually(async () => (await stateOf(run, 'hie')) === 'completed');
      await callBack(run, 'lab');
      expect(await run.result()).toMatchObject({
        status: 'completed',
        sources: [
          { source: 'hie', attempt: 2, resources: 8 },
          { source: 'lab' },
        ],
      });
      expect(calls('ask', 'hie')).toHaveLength(2);
    });
  });

  test('is refused while it runs and when it has completed', async () => {
    const { activities } = scriptedSources({
      ask: { 'hie/1': [waiting(86_400_000)] },
    });
    await skipping.withActivities(activities, async () => {
      const run = await skipping.startQuery(['hie', 'lab']);
      await eventually(async () => (await stateOf(run, 'lab')) === 'completed');
      await eventually(async () => (await stateOf(run, 'hie')) === 'waiting');
      expect(await refusalOf(update(run, MESSAGES.retrySource, 'hie'))).toBe(
        'The hie source is waiting',
      );
      expect(await refusalOf(update(run, MESSAGES.retrySource, 'lab'))).toBe(
        'The lab source is completed',
      );
      await update(run, MESSAGES.cancelQuery);
      await run.result();
    });
  });

  test('takes a source in that this run did not have', async () => {
    const { activities, opened } = scriptedSources({
      ask: { 'hie/1': [waiting(86_400_000)] },
    });
    await skipping.withActivities(activities, async () => {
      const run = await skipping.startQuery(['hie']);
      await eventually(async () => (await stateOf(run, 'hie')) === 'waiting');
      await update(run, MESSAGES.retrySource, 'lab');
      expect(opened).toMatchObject([{ source: 'lab' }]);
      await eventually(async () => (await stateOf(run, 'lab')) === 'completed');
      await callBack(run, 'hie');
      expect(await run.result()).toMatchObject({
        status: 'completed',
        sources: [{}, { source: 'lab' }],
      });
    });
  });
});
