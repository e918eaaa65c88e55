import { describe, expect, test } from 'vitest';
import { RefusalBrake } from '../../../src/exchange/platform/limits/refusal-brake.ts';
import { RequestShares } from '../../../src/exchange/platform/limits/request-shares.ts';

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

describe('the brake on refusals', () => {
  test('holds back what is above the quick ones of a second, of that account only', async () => {
    const brake = new RefusalBrake({ quickPerSecond: 2, holdMs: 60_000 });
    // A second may begin in between.
    const answered: string[] = [];
    const refuse = (account: string) => void brake.hold(account).then(() => answered.push(account));
    for (let times = 0; times < 9; times++) refuse('a');
    refuse('b');
    await new Promise((resolve) => setImmediate(resolve));
    expect(answered.filter((account) => account === 'a').length).toBeLessThanOrEqual(4);
    expect(answered).toContain('b');
  });
});
