import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AccountTurns } from '../../../src/exchange/platform/database/account-turns.ts';
import { closedGate } from '../../support/gate.ts';

describe('turns of accounts', () => {
  test('never run more of one account than they may, and each piece of work once, whatever fails', () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.record({ account: fc.constantFrom('a', 'b', 'c'), fails: fc.boolean() }), {
          maxLength: 60,
        }),
        async (atOnceMax, pieces) => {
          const turns = new AccountTurns({ atOnceMax, waitMs: 60_000 });
          const running = new Map<string, number>();
          const most = new Map<string, number>();
          const begun: number[] = [];
          const ends = await Promise.allSettled(
            pieces.map(({ account, fails }, index) =>
              turns.run(account, async () => {
                begun.push(index);
                const now = (running.get(account) ?? 0) + 1;
                running.set(account, now);
                most.set(account, Math.max(most.get(account) ?? 0, now));
                await Promise.resolve();
                running.set(account, (running.get(account) ?? 0) - 1);
                if (fails) throw new Error('failed');
              }),
            ),
          );
          expect([...most.values()].every((count) => count <= atOnceMax)).toBe(true);
          expect(begun.toSorted((left, right) => left - right)).toEqual(pieces.map((_, index) => index));
          expect(ends.map(({ status }) => status === 'rejected')).toEqual(pieces.map(({ fails }) => fails));
          for (const account of ['a', 'b', 'c']) {
            const own = begun.filter((index) => pieces[index]?.account === account);
            expect(own).toEqual(own.toSorted((left, right) => left - right));
          }
        },
      ),
    ));

  test('let an account begin at once while another one has all its turns taken', async () => {
    const turns = new AccountTurns({ atOnceMax: 1, waitMs: 60_000 });
    const blocked = closedGate();
    const first = turns.run('a', () => blocked.passed);
    const second = turns.run('a', async () => 'second');
    expect(await turns.run('b', async () => 'other')).toBe('other');
    blocked.open();
    await first;
    expect(await second).toBe('second');
  });

  test('refuse with 503 and Retry-After whose turn does not come in time, and never begin it later', async () => {
    const turns = new AccountTurns({ atOnceMax: 1, waitMs: 5 });
    const blocked = closedGate();
    const first = turns.run('a', () => blocked.passed);
    let begun = false;
    const late = turns.run('a', async () => {
      begun = true;
    });
    await expect(late).rejects.toMatchObject({ status: 503, options: { headers: { 'retry-after': '1' } } });
    blocked.open();
    await first;
    await sleep(1);
    expect(begun).toBe(false);
    expect(await turns.run('a', async () => 'next')).toBe('next');
  });
});
