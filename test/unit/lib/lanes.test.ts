import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Lanes, type LanesOptions } from '../../../src/lib/lanes.ts';

/** Lanes whose work ends when the test says so. */
function lanesOf(options: Partial<LanesOptions<number>> = {}) {
  const begun: [string, number[]][] = [];
  const ends: (() => void)[] = [];
  const lanes = new Lanes<number>({
    inProgressMax: 4,
    perLaneMax: 2,
    batchMax: 1,
    waitingMax: 5,
    work: (lane, items) => {
      begun.push([lane, items]);
      return new Promise((resolve) => ends.push(resolve));
    },
    ...options,
  });
  return {
    lanes,
    begun,
    end: async (index: number) => {
      ends[index]?.();
      await nextTurn();
    },
  };
}

describe('lanes', () => {
  test('one with much work leaves places to the others, which take turns', async () => {
    const { lanes, begun, end } = lanesOf();
    lanes.add('a', [1, 2, 3, 4]);
    lanes.add('b', [5, 6]);
    lanes.add('c', [7]);
    expect(begun).toEqual([
      ['a', [1]],
      ['a', [2]],
      ['b', [5]],
      ['b', [6]],
    ]);
    await end(0);
    expect(begun.at(-1)).toEqual(['c', [7]]);
    await end(2);
    expect(begun.at(-1)).toEqual(['a', [3]]);
  });

  test('take up to a batch of what waits', async () => {
    const { lanes, begun, end } = lanesOf({ perLaneMax: 1, batchMax: 2 });
    lanes.add('a', [1]);
    lanes.add('a', [2, 3, 4]);
    await end(0);
    expect(begun).toEqual([
      ['a', [1]],
      ['a', [2, 3]],
    ]);
  });

  test('refuse what exceeds the room of a lane, and only there', () => {
    const { lanes } = lanesOf();
    expect(lanes.add('a', [1, 2, 3, 4, 5])).toBe(true);
    expect(lanes.add('a', [6, 7, 8])).toBe(false);
    expect(lanes.add('a', [6, 7])).toBe(true);
    expect(lanes.add('b', [8])).toBe(true);
  });

  test('are drained when nothing waits and nothing is in progress', async () => {
    const { lanes, end } = lanesOf({ perLaneMax: 1 });
    lanes.add('a', [1, 2]);
    let drained = false;
    const draining = lanes.drain().then(() => {
      drained = true;
    });
    await end(0);
    expect([drained, lanes.isIdle]).toEqual([false, false]);
    await end(1);
    await draining;
    expect(lanes.isIdle).toBe(true);
    await lanes.drain();
  });
});
