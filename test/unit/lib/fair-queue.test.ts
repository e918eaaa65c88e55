import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  FairQueue,
  type FairQueueLimits,
  QueueFullError,
} from '../../../src/lib/lanes.ts';
import { closedGate } from '../../support/gate.ts';

const LIMITS: FairQueueLimits = {
  atOnce: 1,
  ofOneAtOnce: 1,
  waiting: 100,
  ofOneWaiting: 100,
};

describe('a fair queue', () => {
  test('runs every piece once, in the order of its owner, and never more than it may', () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 3 }),
        fc.array(
          fc.record({
            of: fc.constantFrom('a', 'b', 'c'),
            fails: fc.boolean(),
          }),
          { maxLength: 40 },
        ),
        async (atOnce, ofOneAtOnce, pieces) => {
          const queue = new FairQueue({ ...LIMITS, atOnce, ofOneAtOnce });
          const running: string[] = [];
          const begun: number[] = [];
          const ends = await Promise.allSettled(
            pieces.map(({ of, fails }, index) =>
              queue.run(of, async () => {
                begun.push(index);
                running.push(of);
                expect(running.length).toBeLessThanOrEqual(atOnce);
                expect(
                  running.filter((each) => each === of).length,
                ).toBeLessThanOrEqual(ofOneAtOnce);
                await Promise.resolve();
                running.splice(running.indexOf(of), 1);
                if (fails) throw new Error('failed');
              }),
            ),
          );
          expect(
            ends.map((end) =>
              end.status === 'rejected' ? end.reason.message : 'done',
            ),
          ).toEqual(pieces.map(({ fails }) => (fails ? 'failed' : 'done')));
          for (const of of ['a', 'b', 'c']) {
            const own = begun.filter((index) => pieces[index]?.of === of);
            expect(own).toEqual(own.toSorted((left, right) => left - right));
          }
        },
      ),
    ));

  test('gives turns to its owners by turns, however many pieces one of them has', async () => {
    const queue = new FairQueue(LIMITS);
    const gate = closedGate();
    const begun: string[] = [];
    const first = queue.run('a', () => gate.passed);
    const rest = ['a', 'a', 'a', 'b', 'c', 'b'].map((of) =>
      queue.run(of, async () => void begun.push(of)),
    );
    gate.open();
    await Promise.all([first, ...rest]);
    expect(begun.indexOf('b')).toBeLessThanOrEqual(1);
    expect(begun.indexOf('c')).toBeLessThanOrEqual(2);
  });

  test('lets an owner begin beside another one that has its share', async () => {
    const queue = new FairQueue({ ...LIMITS, atOnce: 2 });
    const gate = closedGate();
    const blocked = [1, 2].map(() => queue.run('a', () => gate.passed));
    expect(await queue.run('b', async () => 'done')).toBe('done');
    gate.open();
    await Promise.all(blocked);
  });

  test('refuses what one owner, or all together, have too much of, and nothing else', async () => {
    const queue = new FairQueue({ ...LIMITS, waiting: 3, ofOneWaiting: 2 });
    const gate = closedGate();
    const taken = ['a', 'a', 'a'].map((of) => queue.run(of, () => gate.passed));
    await expect(queue.run('a', async () => undefined)).rejects.toBeInstanceOf(
      QueueFullError,
    );
    taken.push(queue.run('b', async () => undefined));
    await expect(queue.run('c', async () => undefined)).rejects.toBeInstanceOf(
      QueueFullError,
    );
    gate.open();
    await Promise.all(taken);
    await queue.run('c', async () => undefined);
  });
});
