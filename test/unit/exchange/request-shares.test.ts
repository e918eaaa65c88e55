import { describe, expect, test } from 'vitest';
import { RefusalBrake } from '../../../src/exchange/platform/http/plugins/error-responses.ts';
import { RequestShares } from '../../../src/exchange/platform/http/plugins/request-share.ts';
import {
  isUnderPressure,
  watchPressure,
} from '../../../src/exchange/platform/limits/pressure.ts';

describe('shares of requests', () => {
  test('are counted by account, and a place that is left is free once', () => {
    const shares = new RequestShares(2);
    const first = shares.take('a');
    shares.take('a');
    expect(() => shares.take('a')).toThrow('More than 2 concurrent requests');
    shares.take('b');
    first.leave();
    first.leave();
    shares.take('a');
    expect(() => shares.take('a')).toThrow('More than 2 concurrent requests');
  });
});

describe('shares of requests under pressure', () => {
  const take = (shares: RequestShares, account: string, times: number) =>
    Array.from({ length: times }, () => shares.take(account));
  const report = (
    shares: RequestShares,
    isUnderPressure: boolean,
    times: number,
  ) => {
    for (let count = 0; count < times; count++) shares.adapt(isUnderPressure);
  };

  test('refuse the account that has most of them, and none that has few', () => {
    const shares = new RequestShares(200);
    take(shares, 'greedy', 100);
    take(shares, 'other', 2);
    report(shares, true, 100);
    expect(() => shares.take('greedy')).toThrow('The gateway is overloaded');
    take(shares, 'other', 18);
    take(shares, 'third', 20);
  });

  test('allow an account alone fewer and fewer, down to twenty', () => {
    const shares = new RequestShares(200);
    const places = take(shares, 'a', 100);
    report(shares, true, 10);
    for (const place of places.splice(0, 21)) place.leave();
    take(shares, 'a', 1);
    expect(() => shares.take('a')).toThrow('The gateway is overloaded');
    report(shares, true, 100);
    for (const place of places) place.leave();
    expect(shares.underWay('a')).toBe(1);
    take(shares, 'a', 19);
    expect(() => shares.take('a')).toThrow('The gateway is overloaded');
  });

  test('are not reduced by a short burst', () => {
    const shares = new RequestShares(200);
    take(shares, 'a', 150);
    for (let burst = 0; burst < 10; burst++) {
      report(shares, true, 9);
      report(shares, false, 1);
    }
    take(shares, 'a', 50);
    expect(() => shares.take('a')).toThrow('More than 200 concurrent requests');
  });

  test('grow again when the pressure is over, until they are as before', () => {
    const shares = new RequestShares(200);
    const places = take(shares, 'a', 100);
    report(shares, true, 100);
    for (const place of places) place.leave();
    report(shares, false, 5);
    take(shares, 'a', 25);
    report(shares, false, 300);
    take(shares, 'a', 175);
    expect(() => shares.take('a')).toThrow('More than 200 concurrent requests');
  });
});

describe('the pressure on a process', () => {
  test('is noticed while its event loop is busy, and again when it is not', async () => {
    const samples: boolean[] = [];
    const stop = watchPressure(
      () => 0,
      (sample) => samples.push(isUnderPressure(sample)),
    );
    let isBusy = true;
    const work = () => {
      for (const until = performance.now() + 40; performance.now() < until; );
      if (isBusy) setImmediate(work);
    };
    work();
    await expect.poll(() => samples.includes(true)).toBe(true);
    isBusy = false;
    await expect.poll(() => samples.at(-1)).toBe(false);
    stop();
  });

  test('is high when transactions wait for connections, and not because timers are late alone', () => {
    const idle = { utilization: 0.1, lagMs: 1, waiting: 0 };
    expect(isUnderPressure(idle)).toBe(false);
    expect(isUnderPressure({ ...idle, lagMs: 500 })).toBe(false);
    expect(isUnderPressure({ ...idle, utilization: 1 })).toBe(false);
    expect(isUnderPressure({ ...idle, utilization: 1, lagMs: 50 })).toBe(true);
    expect(isUnderPressure({ ...idle, waiting: 1 })).toBe(true);
  });
});

describe('the brake on refusals', () => {
  test('holds back what is above the quick ones of a second, of that account only', async () => {
    const brake = new RefusalBrake({ quickPerSecond: 2, holdMs: 60_000 });
    // A second may begin in between.
    const answered: string[] = [];
    const refuse = (account: string) =>
      void brake.hold(account).then(() => answered.push(account));
    for (let times = 0; times < 9; times++) refuse('a');
    refuse('b');
    await new Promise((resolve) => setImmediate(resolve));
    expect(
      answered.filter((account) => account === 'a').length,
    ).toBeLessThanOrEqual(4);
    expect(answered).toContain('b');
  });
});
