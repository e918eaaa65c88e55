import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readAhead } from '../../../src/lib/read-ahead.ts';

async function* counting(
  read: string[],
  to: number,
): AsyncGenerator<number, void> {
  try {
    for (let each = 1; each <= to; each += 1) {
      read.push(`read ${each}`);
      await setImmediate();
      yield each;
    }
  } finally {
    read.push('ended');
  }
}

test('everything comes in order', async () => {
  const items: number[] = [];
  for await (const each of readAhead(counting([], 5))) items.push(each);
  expect(items).toEqual([1, 2, 3, 4, 5]);
});

test('the next item is read while the caller works on one, and never more than one', async () => {
  const read: string[] = [];
  const items = readAhead(counting(read, 5));
  await items.next();
  for (let turn = 0; turn < 10; turn += 1) await setImmediate();
  expect(read).toEqual(['read 1', 'read 2']);
});

test('a caller that stops early ends the source, after what is being read', async () => {
  const read: string[] = [];
  const items = readAhead(counting(read, 5));
  await items.next();
  await items.return();
  expect(read).toEqual(['read 1', 'read 2', 'ended']);
});

test('an error reaches the caller when it asks for that item, and not one that stops before', async () => {
  async function* failing(): AsyncGenerator<number, void> {
    yield 1;
    throw new Error('unreadable');
  }
  const asking = readAhead(failing());
  expect((await asking.next()).value).toBe(1);
  await expect(asking.next()).rejects.toThrow('unreadable');
  const stopping = readAhead(failing());
  await stopping.next();
  await expect(stopping.return()).resolves.toMatchObject({ done: true });
});
