import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SourceStep } from '../../src/contract/network-query-workflow.ts';
import { TASK_QUEUES } from '../../src/contract/temporal.ts';
import { idleWaitMs } from '../../src/exchange/queries/network-query/rules/gateway-outcome.ts';
import {
  callBack,
  completed,
  createTimeSkippingEnvironment,
  type QueryRun,
  type TimeSkipping,
} from './network-query-environment.ts';

let environment: TimeSkipping;
beforeAll(async () => {
  environment = await createTimeSkippingEnvironment({
    servesBackground: false,
  });
});
afterAll(() => environment.close());

/**
 * Gateways that answer later, as their rows have them: an answer makes its row
 * due, and the workflow is told of it unless it was told since the last step.
 */
function gatewaysThatAnswerLater(gateways: number) {
  const arrived: number[] = [];
  const delaysMs: number[] = [];
  let open = gateways;
  let isTold = false;
  let steps = 0;
  let signals = 0;
  let startedAt: number | undefined;
  return {
    activities: {
      askSource: async (): Promise<SourceStep> => ({
        state: 'ready',
        asksGateways: true,
      }),
      collectSource: async (): Promise<SourceStep> => {
        const now = await environment.now();
        startedAt ??= now;
        steps += 1;
        isTold = false;
        const used = arrived.splice(0);
        for (const at of used) delaysMs.push(now - at);
        open -= used.length;
        if (open === 0) return completed(1);
        return {
          state: 'waiting',
          retryAfterMs: idleWaitMs(now - startedAt),
          asksGateways: true,
          ...(used.length === 0 ? {} : { hasEndedPart: true as const }),
        };
      },
    },
    async answer(run: QueryRun, { isLost = false } = {}) {
      arrived.push(await environment.now());
      if (isTold || isLost) return;
      isTold = true;
      signals += 1;
      await callBack(run, 'hie');
    },
    seen: () => ({ delaysMs, steps, signals }),
  };
}

const historyOf = async (run: QueryRun) =>
  (await run.fetchHistory()).events ?? [];

test('twenty answers that come within ten minutes are each used within one, with one signal at most for a step', async () => {
  const gateways = gatewaysThatAnswerLater(20);
  await environment.withActivities(gateways.activities, async () => {
    const run = await environment.startQuery(['hie']);
    for (let answers = 0; answers < 20; answers += 1) {
      // Now one after the other, now several at once.
      if (answers % 4 < 2) await environment.sleep('60 seconds');
      await gateways.answer(run);
    }
    expect(await run.result()).toMatchObject({ status: 'completed' });
    const { delaysMs, steps, signals } = gateways.seen();
    expect(delaysMs).toHaveLength(20);
    expect(Math.max(...delaysMs)).toBeLessThan(60_000);
    expect(signals).toBeLessThanOrEqual(steps);
    const events = await historyOf(run);
    expect(events.length).toBeLessThan(500);
    const queues = events.flatMap(
      ({ activityTaskScheduledEventAttributes: scheduled }) =>
        scheduled?.activityType?.name === 'collectSource'
          ? [scheduled.taskQueue?.name]
          : [],
    );
    expect(new Set(queues)).toEqual(new Set([TASK_QUEUES.networks]));
  });
});

test('an answer of which the workflow was not told is used, too', async () => {
  const gateways = gatewaysThatAnswerLater(2);
  await environment.withActivities(gateways.activities, async () => {
    const run = await environment.startQuery(['hie']);
    await environment.sleep('60 seconds');
    await gateways.answer(run, { isLost: true });
    await environment.sleep('10 minutes');
    expect(gateways.seen().delaysMs).toHaveLength(1);
    await gateways.answer(run);
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(gateways.seen().signals).toBe(1);
  });
});
