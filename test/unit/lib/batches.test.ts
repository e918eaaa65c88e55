import { describe, expect, test } from 'vitest';
import { Batches } from '../../../src/lib/batches.ts';
import { closedGate } from '../../support/gate.ts';

function batchesOf(
  work: (items: string[]) => Promise<string[]>,
  inProgressMax = 1,
) {
  const seen: string[][] = [];
  const batches = new Batches<string, string>({
    batchMax: 3,
    inProgressMax,
    work: (items) => {
      seen.push(items);
      return work(items);
    },
  });
  return {
    seen,
    run: (items: string[]) =>
      Promise.all(items.map((item) => batches.run(item))),
  };
}
const upper = async (items: string[]) =>
  items.map((item) => item.toUpperCase());

describe('batches', () => {
  test('join calls of the same time, at most so many, and give each its own result', async () => {
    const { seen, run } = batchesOf(upper, 2);
    expect(await run(['a', 'b', 'b', 'c'])).toEqual(['A', 'B', 'B', 'C']);
    expect(seen).toEqual([['a', 'b', 'b'], ['c']]);
  });

  test('join calls that are made while as many batches as allowed are in progress', async () => {
    const gate = closedGate();
    const { seen, run } = batchesOf(async (items) => {
      await gate.passed;
      return upper(items);
    });
    const first = run(['a']);
    await expect.poll(() => seen).toEqual([['a']]);
    const others = [run(['b']), run(['c'])];
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen).toHaveLength(1);
    gate.open();
    expect(await Promise.all([first, ...others])).toEqual([
      ['A'],
      ['B'],
      ['C'],
    ]);
    expect(seen).toEqual([['a'], ['b', 'c']]);
  });

  test('fail together, and go on with the next', async () => {
    const { run } = batchesOf(async (items) => {
      if (items.includes('bad')) throw new Error('a bad item');
      return upper(items);
    });
    const good = run(['good']);
    const bad = run(['bad']);
    await expect(good).rejects.toThrow('a bad item');
    await expect(bad).rejects.toThrow('a bad item');
    expect(await run(['next'])).toEqual(['NEXT']);
  });

  test('whose work forgets an item fail', async () => {
    await expect(batchesOf(async () => ['A']).run(['a', 'b'])).rejects.toThrow(
      'a result for each item',
    );
  });

  test('that may not fail together do the items of a failed batch one by one', async () => {
    const seen: string[][] = [];
    const batches = new Batches<string, string>({
      batchMax: 3,
      inProgressMax: 1,
      failsAlone: true,
      work: async (items) => {
        seen.push(items);
        if (items.includes('bad')) throw new Error('bad');
        return upper(items);
      },
    });
    const ends = await Promise.allSettled(
      ['a', 'bad', 'b', 'c'].map((item) => batches.run(item)),
    );
    expect(ends.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect(seen).toEqual([['a', 'bad', 'b'], ['a'], ['bad'], ['b'], ['c']]);
  });
});
