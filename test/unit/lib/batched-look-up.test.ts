import { describe, expect, test } from 'vitest';
import { BatchedLookUp, LookUpsFullError } from '../../../src/lib/batches.ts';
import { closedGate } from '../../support/gate.ts';

describe('a batched look-up', () => {
  test('looks up so many at a time, those first that wait longest, and refuses what is too much', async () => {
    const batches: string[][] = [];
    const gate = closedGate();
    const lookUp = new BatchedLookUp(
      async (keys) => {
        batches.push(keys);
        await gate.passed;
        return new Map(keys.map((key) => [key, key.toUpperCase()]));
      },
      { atOnce: 2, waiting: 3 },
    );
    const answers = ['a', 'b', 'c', 'd', 'd'].map((key) => lookUp.get(key));
    await expect(lookUp.get('e')).rejects.toBeInstanceOf(LookUpsFullError);
    gate.open();
    expect(await Promise.all(answers)).toEqual(['A', 'B', 'C', 'D', 'D']);
    expect(batches).toEqual([['a'], ['b', 'c'], ['d']]);
    expect(await lookUp.get('e')).toBe('E');
  });
});
