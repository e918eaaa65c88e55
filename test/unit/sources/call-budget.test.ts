import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  blockOf,
  type CallBudget,
  type CallBudgets,
  type CallRates,
  callsAtOnce,
  takeCalls,
} from '../../../src/exchange/sources/connectors/budgets.ts';
import { createCallPace } from '../../../src/exchange/sources/connectors/http/source-http.ts';
import { ada, connect, FakeSource, never } from '../../support/fake-source.ts';
import { property } from '../../support/property.ts';

const UNUSED: CallBudget = {
  secondUsedUntil: Number.NEGATIVE_INFINITY,
  minuteUsedUntil: Number.NEGATIVE_INFINITY,
  blockedUntil: Number.NEGATIVE_INFINITY,
};
const rates = fc.record({
  perSecond: fc.oneof(
    fc.integer({ min: 1, max: 60 }),
    fc.constant(Number.POSITIVE_INFINITY),
  ),
  perMinute: fc.oneof(
    fc.integer({ min: 10, max: 600 }),
    fc.constant(Number.POSITIVE_INFINITY),
  ),
});

/**
 * When each call is made if workers ask for batches of these sizes after these
 * pauses.
 */
function callTimes(
  at: CallRates,
  asks: readonly { pauseMs: number; calls: number }[],
): number[] {
  let budget = UNUSED;
  let now = 0;
  return asks.flatMap(({ pauseMs, calls }) => {
    now += pauseMs;
    const size = Math.min(calls, callsAtOnce(at));
    const taken = takeCalls(budget, at, size, now);
    budget = taken.budget;
    return Array.from({ length: size }, () => taken.at);
  });
}
const mostIn = (times: readonly number[], windowMs: number): number =>
  Math.max(
    ...times.map(
      (from) =>
        times.filter((at) => at >= from && at < from + windowMs - 0.001).length,
    ),
  );

describe('the budget of a base address', () => {
  const asks = fc.array(
    fc.record({
      pauseMs: fc.oneof(fc.constant(0), fc.nat(3_000)),
      calls: fc.integer({ min: 1, max: 30 }),
    }),
    { minLength: 1, maxLength: 120 },
  );
  property([rates, asks], { numRuns: 300 })(
    'has no second and no minute with more calls than allowed',
    (at, made) => {
      const times = callTimes(at, made);
      expect(mostIn(times, 1_000)).toBeLessThanOrEqual(at.perSecond);
      expect(mostIn(times, 60_000)).toBeLessThanOrEqual(at.perMinute);
    },
  );

  property([rates])(
    'is used up: calls that wait are made at no less than three quarters of the rate',
    (at) => {
      const times = callTimes(
        at,
        Array.from({ length: 400 }, () => ({ pauseMs: 0, calls: 1 })),
      );
      const tookMs = (times.at(-1) ?? 0) - (times[0] ?? 0);
      const fastestMs = Math.max(
        400_000 / at.perSecond,
        (400 * 60_000) / at.perMinute,
      );
      expect(tookMs).toBeLessThanOrEqual((fastestMs * 4) / 3);
    },
  );

  test('lets nobody call before the time that the source named', () => {
    const { at } = takeCalls(
      { ...UNUSED, blockedUntil: 5_000 },
      { perSecond: 10, perMinute: 100 },
      1,
      1_000,
    );
    expect(at).toBe(5_000);
  });
});

describe('what a source says about its rate', () => {
  const headers = (of: Record<string, string>) => (name: string) => of[name];
  test.each<
    [string, number, Record<string, string>, number | undefined, number]
  >([
    ['a 429 with Retry-After', 429, {}, 3_000, 3_000],
    ['a 429 without a word', 429, {}, undefined, 1_000],
    ['a 429 for hours: a minute, then asked again', 429, {}, 7_200_000, 60_000],
    ['a 200', 200, {}, undefined, 0],
    ['a 503 with Retry-After, which is about this request', 503, {}, 3_000, 0],
    [
      'nothing remaining',
      200,
      { 'ratelimit-remaining': '0', 'ratelimit-reset': '7' },
      undefined,
      7_000,
    ],
    [
      'something remaining',
      200,
      { 'ratelimit-remaining': '3', 'ratelimit-reset': '7' },
      undefined,
      0,
    ],
    [
      'nothing remaining, in one field',
      200,
      { ratelimit: 'limit=250, remaining=0, reset=9' },
      undefined,
      9_000,
    ],
    [
      'nothing remaining, as a structured field',
      200,
      { ratelimit: '"default";r=0;t=4' },
      undefined,
      4_000,
    ],
    [
      'a reset as a time',
      200,
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1700000012' },
      undefined,
      12_000,
    ],
    [
      'nonsense',
      200,
      { 'ratelimit-remaining': '0', 'ratelimit-reset': 'soon' },
      undefined,
      0,
    ],
  ])('%s', (_, status, of, retryAfterMs, expected) => {
    expect(blockOf(status, headers(of), retryAfterMs, 1_700_000_000_000)).toBe(
      expected,
    );
  });
});

describe('the calls of a connector', () => {
  test('are taken from the budget of its base address, and hold all workers when the source says so', async () => {
    const source = await new FakeSource({
      'POST Patient/$match': { status: 429, headers: { 'retry-after': '3' } },
    }).start();
    const taken: string[] = [];
    const blocked: number[] = [];
    const callBudgets: CallBudgets = {
      take: async (target) => {
        taken.push(target);
        return 0;
      },
      block: async (_target, forMs) => void blocked.push(forMs),
    };
    await expect(
      connect(source, {}, { callBudgets }).begin(ada, {}, never),
    ).rejects.toMatchObject({
      kind: 'rate-limited',
    });
    expect(taken.length).toBeGreaterThan(0);
    expect(new Set(taken)).toEqual(
      new Set([source.baseUrl.replace(/\/?$/, '/')]),
    );
    expect(blocked).toEqual([3_000]);
  });

  test('fail as a fault of ours, and not of the source, when the budget cannot be read', async () => {
    const source = await new FakeSource({}).start();
    const fault = new Error('the database is away');
    const callBudgets: CallBudgets = {
      take: () => Promise.reject(fault),
      block: async () => undefined,
    };
    await expect(
      connect(source, {}, { callBudgets }).begin(ada, {}, never),
    ).rejects.toBe(fault);
    expect(source.asked).toEqual([]);
  });
});

describe('a step', () => {
  const paceAfter = async (waitMs: number) => {
    const budgets = { take: async () => waitMs, block: async () => undefined };
    const pace = createCallPace(budgets, 'http://a/', {
      perSecond: 10,
      perMinute: 60,
    });
    const call = new AbortController();
    const turn = pace.turn(call.signal);
    turn.catch(() => undefined);
    await new Promise((resolve) => setImmediate(resolve));
    call.abort();
    return pace;
  };

  test('begins at once while calls hardly wait for the budget', async () => {
    const pace = await paceAfter(5_000);
    expect(pace.waitToBeginMs()).toBe(0);
  });

  test('begins later while they do, each at a time of its own', async () => {
    const pace = await paceAfter(60_000);
    const times = Array.from({ length: 3 }, () => pace.waitToBeginMs());
    expect(times[0]).toBeGreaterThan(50_000);
    expect(new Set(times).size).toBe(3);
    expect(times).toEqual([...times].sort((left, right) => left - right));
  });
});
