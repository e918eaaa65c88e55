import { beforeEach, describe, expect, test, vi } from 'vitest';
import { LargeBodies } from '../../../src/exchange/messaging/messages/large-bodies.ts';

let nowMs = 0;
let bodies: LargeBodies;
beforeEach(() => {
  nowMs = 0;
  bodies = new LargeBodies(() => nowMs);
});

function take(address: string, group: 'known' | 'strangers' = 'strangers') {
  const giveUp = vi.fn();
  return { ...bodies.take(group, address, giveUp), giveUp };
}
const REFUSED = { status: 503, options: { headers: { 'retry-after': '30' } } };
const refused = (address: string) =>
  expect(() => take(address)).toThrow(expect.objectContaining(REFUSED));

describe('places of large bodies', () => {
  test('are three for strangers, and others for the partner', () => {
    const [first] = ['a', 'b', 'c'].map((address) => take(address));
    refused('d');
    for (let taken = 0; taken < 3; taken += 1) take('partner', 'known');
    first?.leave();
    take('d');
  });

  test('are not all for one address', () => {
    take('a');
    take('a');
    refused('a');
    take('b');
  });

  test('go from a body that comes slowly to one that waits', () => {
    const fast = take('a');
    const slow = take('b');
    take('c');
    nowMs = 10_000;
    fast.received(2_000_000);
    slow.received(900_000);
    take('d');
    expect(fast.giveUp).not.toHaveBeenCalled();
    expect(slow.giveUp).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining(REFUSED),
    );
  });

  test('within an address go from its own bodies only', () => {
    const other = take('b');
    const own = [take('a'), take('a')];
    nowMs = 10_000;
    take('a');
    expect(other.giveUp).not.toHaveBeenCalled();
    expect(own[0]?.giveUp).toHaveBeenCalledOnce();
  });

  test('stay with a body that has just begun, and with one that is being processed', () => {
    take('a').complete();
    nowMs = 10_000;
    take('b');
    take('c');
    nowMs = 10_500;
    refused('d');
  });

  test('are given back once, whatever became of the body', () => {
    const slow = take('a');
    take('b');
    take('c');
    nowMs = 10_000;
    take('d').received(5_000_000);
    slow.leave();
    expect([...'ef'].map((address) => take(address)).length).toBe(2);
    refused('g');
  });
});
