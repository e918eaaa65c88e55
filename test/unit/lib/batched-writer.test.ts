import { expect, test } from 'vitest';
import { BatchedWriter } from '../../../src/lib/batched-writer.ts';

/** A writer whose writes are held until they are let go, and that refuses what is odd. */
function heldWriter() {
  const batches: number[][] = [];
  let letGo: () => void = () => undefined;
  const writer = new BatchedWriter<number>(async (items) => {
    batches.push(items);
    await new Promise<void>((resolve) => {
      letGo = resolve;
    });
    if (items.some((item) => item % 2 === 1)) throw new Error('odd');
  }, 3);
  const turn = async () => {
    letGo();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { writer, batches, turn };
}

test('who comes while a write runs is in the next one, and waits for that one', async () => {
  const { writer, batches, turn } = heldWriter();
  const written: number[] = [];
  for (const item of [2, 4, 6, 8, 10]) void writer.write(item).then(() => written.push(item));
  expect(batches).toEqual([[2]]);
  await turn();
  expect([batches, written]).toEqual([[[2], [4, 6, 8]], [2]]);
  await turn();
  await turn();
  expect([batches.at(-1), written]).toEqual([[10], [2, 4, 6, 8, 10]]);
});

test('who cannot be written fails alone', async () => {
  const { writer, turn } = heldWriter();
  const ends = Promise.allSettled([2, 4, 5, 6].map((item) => writer.write(item)));
  for (let n = 0; n < 6; n += 1) await turn();
  expect((await ends).map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
});
