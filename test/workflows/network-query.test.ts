import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { countActions, totalOf } from '../../bench/actions/count-actions.ts';
import {
  NETWORK_QUERY_MESSAGES as MESSAGES,
  OUR_OUTAGE_TYPES,
  type SourceStep,
  SOURCE_FAILURE_TYPES as TYPES,
} from '../../src/contract/network-query-workflow.ts';
import {
  SOURCE_TYPES,
  type SourceType,
} from '../../src/contract/primitives.ts';
import { SOURCE_RETRIES } from '../../src/exchange/queries/network-query/rules/retries.ts';
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
  untilReleased,
  update,
  waiting,
} from './network-query-environment.ts';

let skipping: TimeSkipping;
beforeAll(async () => {
  skipping = await createTimeSkippingEnvironment();
});
afterAll(() => skipping.close());

/** Starts a query on scripted sources and leaps to its end. */
async function runToEnd(
  sources: readonly SourceType[],
  script: Parameters<typeof scriptedSources>[0],
) {
  const scripted = scriptedSources(script);
  const result = await skipping.withActivities(scripted.activities, async () =>
    (await skipping.startQuery(sources)).result(),
  );
  return { ...scripted, result };
}

describe('a query', () => {
  test('whose sources answer at once asks each of them once and tells their counts', async () => {
    const { result, calls, failures } = await runToEnd(SOURCE_TYPES, {
      ask: {
        'hie/1': [completed(40)],
        'pharmacy/1': [completed(0)],
        'lab/1': [completed(3)],
      },
    });
    expect(result).toMatchObject({
      status: 'completed',
      sources: [
        { source: 'hie', state: 'completed', resources: 40 },
        { source: 'pharmacy', state: 'completed', resources: 0 },
        { source: 'lab', state: 'completed', resources: 3 },
      ],
    });
    for (const source of SOURCE_TYPES)
      expect(calls('ask', source)).toHaveLength(1);
    expect(failures).toEqual([]);
  });

  test('is partial when one source fails, and the others lose nothing by it', async () => {
    const { result, failures } = await runToEnd(SOURCE_TYPES, {
      ask: { 'pharmacy/1': [failure(TYPES.refused, 'pharmacy answered 403')] },
    });
    expect(result).toMatchObject({
      status: 'partial',
      sources: [
        { state: 'completed' },
        { state: 'failed', reason: 'pharmacy answered 403' },
        { state: 'completed' },
      ],
    });
    expect(failures).toMatchObject([
      { source: 'pharmacy', attempt: 1, reason: 'pharmacy answered 403' },
    ]);
  });

  test('tells that a source does not know the patient', async () => {
    const { result } = await runToEnd(['lab'], {
      ask: {
        'lab/1': [
          {
            state: 'completed',
            resources: 0,
            note: 'The source does not know this patient',
          },
        ],
      },
    });
    expect(result.sources).toMatchObject([
      { state: 'completed', reason: 'The source does not know this patient' },
    ]);
  });

  test('tells at any time where each source stands', async () => {
    const held = untilReleased();
    const { activities } = scriptedSources({
      ask: {
        'hie/1': [held.step],
        'pharmacy/1': [waiting()],
        'lab/1': [completed(5)],
      },
    });
    await skipping.withActivities(activities, async () => {
      const run = await skipping.startQuery(SOURCE_TYPES);
      await eventually(async () => (await stateOf(run, 'lab')) === 'completed');
      await eventually(
        async () => (await stateOf(run, 'pharmacy')) === 'waiting',
      );
      expect(await statusOf(run)).toEqual({
        requestId: expect.any(String),
        run: 0,
        status: 'running',
        sources: [
          { source: 'hie', attempt: 1, state: 'asking', resources: 0 },
          { source: 'pharmacy', attempt: 1, state: 'waiting', resources: 0 },
          { source: 'lab', attempt: 1, state: 'completed', resources: 5 },
        ],
      });
      held.release(completed(1));
      await run.result();
    });
  });
});

describe('a source that takes the request', () => {
  test('is asked as soon as it calls back', async () => {
    const { activities, calls } = scriptedSources({
      ask: { 'hie/1': [waiting(3_600_000)] },
    });
    await skipping.withActivities(activities, async () => {
      const run = await skipping.startQuery(['hie']);
      await eventually(async () => (await stateOf(run, 'hie')) === 'waiting');
      expect(calls('collect', 'hie')).toEqual([]);
      await callBack(run, 'hie');
      await eventually(() => calls('collect', 'hie').length === 1);
      expect(await run.result()).toMatchObject({ status: 'completed' });
    });
  });

  test('may call back before the step that asked it has returned', async () => {
    const held = untilReleased();
    const { activities, calls } = scriptedSources({
      ask: { 'hie/1': [held.step] },
    });
    await skipping.withActivities(activities, async () => {
      const run = await skipping.startQuery(['hie']);
      await eventually(() => calls('ask', 'hie').length === 1);
      await callBack(run, 'hie');
      held.release(waiting(86_400_000) as never);
      // No time is skipped here: only the callback can have brought this about.
      await eventually(() => calls('collect', 'hie').length === 1);
      await run.result();
    });
  });

  test('that calls back twice, early and for attempts that are over is asked no more than it says', async () => {
    const { activities, calls } = scriptedSources({
      ask: { 'hie/1': [waiting(3_600_000)] },
      collect: { 'hie/1': [waiting(3_600_000), completed(2)] },
    });
    await skipping.withActivities(activities, async () => {
      const run = await skipping.startQuery(['hie']);
      await callBack(run, 'hie', 7);
      await callBack(run, 'lab');
      await callBack(run, 'hie');
      await callBack(run, 'hie');
      await eventually(() => calls('collect', 'hie').length >= 1);
      expect(await run.result()).toMatchObject({ status: 'completed' });
      expect(calls('collect', 'hie')).toHaveLength(2);
    });
  });

  test('that calls back again and again before it is ready is obeyed ever less often', async () => {
    const { activities, calls } = scriptedSources({
      ask: { 'hie/1': [waiting(3_600_000)] },
      collect: {
        'hie/1': [waiting(3_600_000), waiting(3_600_000), completed(2)],
      },
    });
    await skipping.withActivities(activities, async () => {
      const run = await skipping.startQuery(['hie']);
      await callBack(run, 'hie');
      await eventually(() => calls('collect', 'hie').length === 1);
      await callBack(run, 'hie');
      expect(await run.result()).toMatchObject({ status: 'completed' });
      const { events } = await run.fetchHistory();
      const waits = (events ?? []).flatMap(
        ({ timerStartedEventAttributes: timer }) =>
          timer?.startToFireTimeout?.seconds == null
            ? []
            : [Number(timer.startToFireTimeout.seconds)],
      );
      // Five seconds after the first early callback, ten after the second.
      expect(waits.filter((seconds) => seconds < 60)).toEqual([5, 10]);
    });
  });

  test('that calls back hundreds of times does not fill the history: the query continues as new where it was', async () => {
    const { activities, calls, failures } = scriptedSources({
      ask: { 'hie/1': [waiting(3_600_000)], 'lab/1': [waiting(3_600_000)] },
      collect: { 'hie/1': [waiting(3_600_000)], 'lab/1': [completed(3)] },
      look: { 'hie/1': [waiting(3_600_000)] },
    });
    await skipping.withActivities(activities, async () => {
      const run = await skipping.startQuery(['hie', 'lab'], {
        historyEventsMax: 100,
      });
      for (let calls = 0; calls < 300; calls += 10)
        await Promise.all(
          Array.from({ length: 10 }, () => callBack(run, 'hie')),
        );
      const handle = skipping.client.workflow.getHandle(run.workflowId);
      await eventually(
        async () => (await handle.describe()).runId !== run.firstExecutionRunId,
      );
      expect(await stateOf(handle, 'lab')).toBe('waiting');
      await callBack(handle, 'lab');
      const result = await handle.result();
      expect(result).toMatchObject({
        status: 'partial',
        sources: [{ state: 'failed' }, { resources: 3 }],
      });
      expect(failures).toMatchObject([
        { source: 'hie', reason: 'No answer within 2 days', abandoned: true },
      ]);
      for (const source of ['hie', 'lab'] as const)
        expect(calls('ask', source)).toHaveLength(1);
      // One look an hour for two days: the deadline is that of the first run.
      const looks =
        calls('collect', 'hie').length + calls('look', 'hie').length;
      expect(looks).toBeGreaterThan(40);
      expect(looks).toBeLessThan(80);
      expect((await handle.describe()).historyLength).toBeLessThan(200);
    });
  });

  test('whose callback is lost is looked at after growing waits, which leave no events', async () => {
    const lookedAt: number[] = [];
    const looks =
      (step: SourceStep): (() => Promise<SourceStep>) =>
      async () => {
        lookedAt.push(await skipping.now());
        return step;
      };
    const pending = looks(waiting());
    const { activities, calls } = scriptedSources({
      ask: { 'hie/1': [waiting(20_000)] },
      collect: { 'hie/1': [pending, completed(4)] },
      look: { 'hie/1': [pending, pending, looks({ state: 'ready' })] },
    });
    await skipping.withActivities(activities, async () => {
      const run = await skipping.startQuery(['hie']);
      expect(await run.result()).toMatchObject({
        status: 'completed',
        sources: [{ resources: 4 }],
      });
      const { events = [] } = await run.fetchHistory();
      const timers = events?.filter(
        (event) => event.timerStartedEventAttributes,
      );
      expect(timers).toHaveLength(1);
    });
    expect(calls('collect', 'hie')).toHaveLength(2);
    const waits = lookedAt
      .slice(1)
      .map((at, index) => at - (lookedAt[index] ?? 0));
    expect(waits).toHaveLength(3);
    expect(waits).toEqual([...waits].sort((left, right) => left - right));
    expect(waits[0]).toBeGreaterThanOrEqual(30_000);
    expect(waits[2]).toBeGreaterThanOrEqual(60_000);
  });

  test('and calls back after many looks has its answer collected at once', async () => {
    let isReady = false;
    const { activities, calls } = scriptedSources({
      ask: { 'hie/1': [waiting(1_000)] },
      collect: {
        'hie/1': [
          waiting(3_600_000),
          async () => (isReady ? completed(2) : waiting()),
        ],
      },
      look: { 'hie/1': [waiting(3_600_000)] },
    });
    await skipping.withActivities(activities, async () => {
      const run = await skipping.startQuery(['hie']);
      await skipping.sleep('5 hours');
      await eventually(() => calls('look', 'hie').length >= 2);
      const looks = calls('look', 'hie').length;
      isReady = true;
      await callBack(run, 'hie');
      // No time is skipped here: only the callback can have brought this about.
      await eventually(() => calls('collect', 'hie').length === 2);
      expect(await run.result()).toMatchObject({ status: 'completed' });
      expect(calls('look', 'hie')).toHaveLength(looks);
    });
  });

  test('and calls back for one of its servers is obeyed at once when the next one calls', async () => {
    const { activities } = scriptedSources({
      ask: { 'hie/1': [waiting(3_600_000)] },
      collect: {
        'hie/1': [
          { state: 'waiting', retryAfterMs: 3_600_000, hasEndedPart: true },
          { state: 'waiting', retryAfterMs: 3_600_000, hasEndedPart: true },
          completed(2),
        ],
      },
    });
    await skipping.withActivities(activities, async () => {
      const run = await skipping.startQuery(['hie']);
      await eventually(async () => (await stateOf(run, 'hie')) === 'waiting');
      for (const _ of [1, 2, 3]) await callBack(run, 'hie');
      expect(await run.result()).toMatchObject({ status: 'completed' });
      const { events = [] } = await run.fetchHistory();
      const summaries = JSON.stringify(
        events?.flatMap(({ timerStartedEventAttributes: timer }) =>
          timer == null ? [] : [Number(timer.startToFireTimeout?.seconds)],
        ),
      );
      // Neither five nor ten seconds, as after callbacks that come early.
      expect(summaries).toBe('[3600]');
    });
  });

  test.each([
    ['hie', '2 days'],
    ['pharmacy', '6 hours'],
    ['lab', '7 days'],
  ] as const)(
    'and never answers ends at the deadline: %s after %s',
    async (source, after) => {
      const { result, failures, calls } = await runToEnd([source], {
        ask: { [`${source}/1`]: [waiting()] },
        collect: { [`${source}/1`]: [waiting()] },
        look: { [`${source}/1`]: [waiting()] },
      });
      const reason = `No answer within ${after}`;
      expect(result).toMatchObject({
        status: 'failed',
        sources: [{ state: 'failed', reason }],
      });
      expect(failures).toMatchObject([{ attempt: 1, reason, abandoned: true }]);
      expect(failures[0]?.retryAfterMs).toBeUndefined();
      expect(calls('look', source).length).toBeGreaterThan(15);
      expect(calls('look', source).length).toBeLessThan(120);
      expect(calls('collect', source)).toHaveLength(2);
    },
  );

  test('and does not answer for a week costs at most 30 actions of Temporal Cloud', async () => {
    const { activities } = scriptedSources({
      ask: { 'lab/1': [waiting()] },
      collect: { 'lab/1': [waiting()] },
      look: { 'lab/1': [waiting()] },
    });
    await skipping.withActivities(activities, async () => {
      const run = await skipping.startQuery(['lab']);
      await run.result();
      const actions = countActions(await run.fetchHistory());
      expect(totalOf(actions)).toBeLessThanOrEqual(30);
    });
  });

  test('is looked at once more at the deadline: an answer that lies ready then is kept', async () => {
    const looks = (): Promise<SourceStep> =>
      skipping
        .now()
        .then((now) => (now >= deadlineAt ? completed(7) : waiting()));
    const { activities, calls } = scriptedSources({
      ask: { 'pharmacy/1': [waiting()] },
      collect: { 'pharmacy/1': [looks] },
      look: { 'pharmacy/1': [waiting()] },
    });
    let deadlineAt = Number.POSITIVE_INFINITY;
    await skipping.withActivities(activities, async () => {
      deadlineAt = (await skipping.now()) + SOURCE_RETRIES.pharmacy.deadlineMs;
      const run = await skipping.startQuery(['pharmacy']);
      expect(await run.result()).toMatchObject({
        status: 'completed',
        sources: [{ resources: 7 }],
      });
    });
    expect(calls('look', 'pharmacy').length).toBeGreaterThan(15);
  });

  describe('while our database is away across the deadline', () => {
    const since = '2026-11-22T14:02:00.000Z';
    const away = ApplicationFailure.create({
      message: 'Our database is away',
      type: OUR_OUTAGE_TYPES.database,
      details: [since],
    });
    /** Away until an hour after the deadline; then the source answers so. */
    const answersAfterwards = (answer: SourceStep) => {
      let backAt = Number.POSITIVE_INFINITY;
      const collect = async (): Promise<SourceStep> => {
        const now = await skipping.now();
        if (backAt === Number.POSITIVE_INFINITY)
          backAt = now + SOURCE_RETRIES.pharmacy.deadlineMs + 3_600_000;
        if (now < backAt) throw away;
        return answer;
      };
      return {
        ask: { 'pharmacy/1': [waiting()] },
        collect: { 'pharmacy/1': [collect] },
      };
    };

    test('an answer that lies ready is fetched when it is back', async () => {
      const { result, failures } = await runToEnd(
        ['pharmacy'],
        answersAfterwards(completed(3)),
      );
      expect(result).toMatchObject({
        status: 'completed',
        sources: [{ attempt: 1, resources: 3 }],
      });
      expect(failures).toEqual([]);
    });

    test('a source that has no answer then ends, and the reason says that it was our database', async () => {
      const { result } = await runToEnd(
        ['pharmacy'],
        answersAfterwards(waiting()),
      );
      expect(result.sources[0]?.reason).toMatch(
        /^No answer within 6 hours; our database was away from 2026-11-22 14:02 UTC to \d{4}-\d\d-\d\d \d\d:\d\d UTC$/,
      );
    });

    test('and for another day the query ends, because of our database', async () => {
      const { result } = await runToEnd(['pharmacy'], {
        ask: { 'pharmacy/1': [waiting()] },
        collect: { 'pharmacy/1': [away] },
      });
      expect(result).toMatchObject({ status: 'failed' });
      expect(result.sources[0]?.reason).toMatch(
        /^The exchange could not fetch the answer: our database was away from 2026-11-22 14:02 UTC to /,
      );
    });
  });

  describe('while an operator has paused it', () => {
    const HOURS_MS = 3_600_000;
    /**
     * Paused for so long from its first step on, and then as `after`; asked
     * every hour, or as seldom as `everyHours`.
     */
    const pausedFor = (hours: number, after: SourceStep, everyHours = 1) => {
      let pausedMs = 0;
      const look = async (): Promise<SourceStep> => {
        if (pausedMs >= hours * HOURS_MS)
          return after.state === 'waiting' ? { ...after, pausedMs } : after;
        pausedMs += everyHours * HOURS_MS;
        const paused = {
          reason: 'paused by an operator (maintenance)',
          nextTryAt: '2026-11-22T10:15:00.000Z',
        };
        return {
          state: 'waiting',
          retryAfterMs: everyHours * HOURS_MS,
          held: paused,
          pausedMs,
        };
      };
      return {
        ask: { 'pharmacy/1': [look] },
        collect: { 'pharmacy/1': [look] },
      };
    };

    test('for 36 hours, its deadline of 6 hours does not pass: the query completes when it is resumed', async () => {
      const { result, failures } = await runToEnd(
        ['pharmacy'],
        pausedFor(36, completed(3)),
      );
      expect(result).toMatchObject({
        status: 'completed',
        sources: [{ attempt: 1, resources: 3 }],
      });
      expect(failures).toEqual([]);
    });

    test('and does not answer after it, the query ends after the 6 hours that count', async () => {
      const begunAt = await skipping.now();
      const { result } = await runToEnd(['pharmacy'], pausedFor(12, waiting()));
      expect(result.sources).toMatchObject([
        { state: 'failed', reason: 'No answer within 6 hours' },
      ]);
      expect((await skipping.now()) - begunAt).toBeGreaterThanOrEqual(
        18 * HOURS_MS,
      );
    });

    test('and forgotten it, the query ends all the same', async () => {
      const { result } = await runToEnd(
        ['pharmacy'],
        pausedFor(24 * 365, completed(3), 6),
      );
      expect(result).toMatchObject({
        status: 'failed',
        sources: [
          {
            reason: expect.stringContaining(
              'paused by an operator (maintenance)',
            ),
          },
        ],
      });
    });
  });

  test('and then fails it is tried again as a new attempt, which has its own callback', async () => {
    const { activities, calls, failures } = scriptedSources({
      ask: { 'hie/1': [waiting()], 'hie/2': [waiting(86_400_000)] },
      collect: { 'hie/1': [failure(TYPES.jobFailed, 'hie failed the job')] },
    });
    await skipping.withActivities(activities, async () => {
      const run = await skipping.startQuery(['hie']);
      await callBack(run, 'hie', 2);
      await callBack(run, 'hie', 1);
      expect(await run.result()).toMatchObject({
        status: 'completed',
        sources: [{ attempt: 2 }],
      });
      expect(failures).toMatchObject([
        { attempt: 1, reason: 'hie failed the job', retryAfterMs: 5_000 },
      ]);
      expect(calls('collect', 'hie').map(({ attempt }) => attempt)).toEqual([
        1, 2,
      ]);
    });
  });
});

describe('a source that fails', () => {
  test.each([TYPES.badAnswer, TYPES.jobFailed])(
    'with %s gets a new attempt after a back-off',
    async (type) => {
      const { result, failures, calls } = await runToEnd(['lab'], {
        ask: {
          'lab/1': [failure(type, 'lab: no')],
          'lab/2': [failure(type, 'lab: no')],
          'lab/3': [completed(9)],
        },
      });
      expect(result).toMatchObject({
        status: 'completed',
        sources: [{ attempt: 3, resources: 9 }],
      });
      expect(failures).toMatchObject([
        { attempt: 1, reason: 'lab: no', retryAfterMs: 5_000 },
        { attempt: 2, reason: 'lab: no', retryAfterMs: 300_000 },
      ]);
      expect(calls('ask', 'lab')).toHaveLength(3);
    },
  );

  test('each time ends when its attempts are used up', async () => {
    const again = [failure(TYPES.badAnswer, 'lab answered with HTML')];
    const { result, failures } = await runToEnd(['lab'], {
      ask: { 'lab/1': again, 'lab/2': again, 'lab/3': again },
    });
    expect(result).toMatchObject({
      status: 'failed',
      sources: [{ attempt: 3, state: 'failed' }],
    });
    expect(failures.map(({ retryAfterMs }) => retryAfterMs)).toEqual([
      5_000,
      300_000,
      undefined,
    ]);
  });

  test('because it refuses this patient ends at once, without another attempt', async () => {
    const error = failure(TYPES.refused, 'lab answered 422');
    const { result, calls, failures } = await runToEnd(['lab'], {
      ask: { 'lab/1': [error] },
    });
    expect(result).toMatchObject({
      status: 'failed',
      sources: [{ attempt: 1, reason: error.message }],
    });
    expect(calls('ask', 'lab')).toHaveLength(1);
    expect(failures).toMatchObject([{ reason: error.message }]);
  });

  test('or refuses everybody is waited for, and completes when it is back hours later', async () => {
    const { result, calls, failures } = await runToEnd(['lab'], {
      ask: { 'lab/1': [held(600_000)] },
      collect: {
        'lab/1': [
          held(1_800_000),
          held(1_800_000),
          held(14_400_000),
          completed(3),
        ],
      },
    });
    expect(result).toMatchObject({
      status: 'completed',
      sources: [{ attempt: 1, resources: 3 }],
    });
    expect(result.sources[0]).not.toHaveProperty('reason');
    expect(calls('collect', 'lab')).toHaveLength(4);
    expect(failures).toEqual([]);
  });

  test('until its deadline ends there, with the last failure as the reason', async () => {
    const { result, failures } = await runToEnd(['pharmacy'], {
      ask: { 'pharmacy/1': [held(1_800_000)] },
      collect: { 'pharmacy/1': [held(1_800_000)] },
    });
    const reason =
      'No answer within 6 hours; the last call failed: lab answered 401 to the token request';
    expect(result).toMatchObject({ status: 'failed', sources: [{ reason }] });
    expect(failures).toMatchObject([{ reason, abandoned: true }]);
  });

  test('through sixty faults of ours completes: only the deadline bounds them', async () => {
    const fault = new Error('the database is away');
    const { result, failures } = await runToEnd(['lab'], {
      ask: {
        'lab/1': [...Array.from({ length: 60 }, () => fault), completed(2)],
      },
    });
    expect(result).toMatchObject({
      status: 'completed',
      sources: [{ attempt: 1 }],
    });
    expect(failures).toEqual([]);
  });

  test('for a while only is asked again within the attempt', async () => {
    const passing = failure(TYPES.transport, 'lab did not answer', false);
    const { result, calls } = await runToEnd(['lab'], {
      ask: { 'lab/1': [passing, passing, passing, completed(1)] },
    });
    expect(result).toMatchObject({
      status: 'completed',
      sources: [{ attempt: 1 }],
    });
    expect(calls('ask', 'lab')).toHaveLength(4);
  });

  test('that is tried again on request has its back-offs anew', async () => {
    const no = [failure(TYPES.badAnswer, 'HTML')];
    const { activities, failures } = scriptedSources({
      ask: {
        ...Object.fromEntries(
          [1, 2, 3, 4].map((attempt) => [`hie/${attempt}`, no]),
        ),
        'lab/1': [waiting(86_400_000)],
      },
    });
    await skipping.withActivities(activities, async () => {
      const run = await skipping.startQuery(['hie', 'lab']);
      await eventually(() => failures.length === 1);
      await update(run, MESSAGES.giveUpSource, 'hie');
      await update(run, MESSAGES.retrySource, 'hie');
      expect(await run.result()).toMatchObject({
        sources: [{ attempt: 4, state: 'failed' }, {}],
      });
    });
    expect(
      failures
        .filter(({ source }) => source === 'hie')
        .map(({ attempt, retryAfterMs }) => [attempt, retryAfterMs]),
    ).toEqual([
      [1, 5_000],
      [1, undefined],
      [2, 5_000],
      [3, 300_000],
      [4, undefined],
    ]);
  });

  test('whose end an operator lets fail in Temporal is recorded again, and the query ends', async () => {
    const { activities, failures } = scriptedSources({
      ask: { 'lab/1': [failure(TYPES.refused, 'lab answered 422')] },
    });
    let isFailed = false;
    const recordFailedAttempt: typeof activities.recordFailedAttempt = async (
      failed,
    ) => {
      if (isFailed) return activities.recordFailedAttempt?.(failed);
      isFailed = true;
      throw failure('error', 'failed by an operator');
    };
    await skipping.withActivities(
      { ...activities, recordFailedAttempt },
      async () => {
        const run = await skipping.startQuery(['lab']);
        expect(await run.result()).toMatchObject({ status: 'failed' });
      },
    );
    expect(failures).toHaveLength(1);
  });

  test('by a fault of ours says nothing of our insides', async () => {
    const { result, failures } = await runToEnd(['lab'], {
      ask: {
        'lab/1': [
          failure('error', 'duplicate key of Tamica Murazik at 10.0.0.5'),
        ],
      },
    });
    expect(JSON.stringify({ result, failures })).not.toMatch(/Tamica|10\.0/);
    expect(failures).toMatchObject([
      { reason: 'The exchange could not process the answer', abandoned: true },
    ]);
  });
});
