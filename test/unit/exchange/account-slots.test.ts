import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { AccountSlots } from '../../../src/exchange/platform/database/account-slots.ts';
import { closedGate } from '../../support/gate.ts';

describe('slots of accounts', () => {
  test('never run more of one account than they may, and each piece of work once, whatever fails', () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(
          fc.record({
            account: fc.constantFrom('a', 'b', 'c'),
            fails: fc.boolean(),
          }),
          {
            maxLength: 60,
          },
        ),
        async (atOnceMax, pieces) => {
          const slots = new AccountSlots({ atOnceMax, waitMs: 60_000 });
          const running = new Map<string, number>();
          const most = new Map<string, number>();
          const begun: number[] = [];
          const ends = await Promise.allSettled(
            pieces.map(({ account, fails }, index) =>
              slots.run(account, async () => {
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
          expect([...most.values()].every((count) => count <= atOnceMax)).toBe(
            true,
          );
          expect(begun.toSorted((left, right) => left - right)).toEqual(
            pieces.map((_, index) => index),
          );
          expect(ends.map(({ status }) => status === 'rejected')).toEqual(
            pieces.map(({ fails }) => fails),
          );
          for (const account of ['a', 'b', 'c']) {
            const own = begun.filter(
              (index) => pieces[index]?.account === account,
            );
            expect(own).toEqual(own.toSorted((left, right) => left - right));
          }
        },
      ),
    ));

  test('are shared by active accounts: none has more than its share, and all begin', () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 9 }),
        fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 60 }),
        async (atOnceMax, sharedMax, pieces) => {
          const slots = new AccountSlots({
            atOnceMax,
            sharedMax,
            waitMs: 60_000,
          });
          const accounts = new Set(pieces);
          for (const account of accounts)
            await slots.run(account, async () => undefined);
          const share =
            accounts.size < 2
              ? atOnceMax
              : Math.max(1, Math.floor(sharedMax / accounts.size));
          const running = new Map<string, number>();
          const runningOf = (account: string) => running.get(account) ?? 0;
          let most = 0;
          let mostTogether = 0;
          let ended = 0;
          await Promise.all(
            pieces.map((account) =>
              slots.run(account, async () => {
                running.set(account, runningOf(account) + 1);
                most = Math.max(most, runningOf(account));
                const together = [...running.values()].reduce(
                  (sum, each) => sum + each,
                  0,
                );
                mostTogether = Math.max(mostTogether, together);
                await Promise.resolve();
                running.set(account, runningOf(account) - 1);
                ended += 1;
              }),
            ),
          );
          expect(most).toBeLessThanOrEqual(Math.min(atOnceMax, share));
          if (accounts.size > 1)
            expect(mostTogether).toBeLessThanOrEqual(
              Math.max(sharedMax, accounts.size),
            );
          expect(ended).toBe(pieces.length);
        },
      ),
    ));

  test('let an account begin at once while another one has all its slots taken', async () => {
    const slots = new AccountSlots({ atOnceMax: 1, waitMs: 60_000 });
    const blocked = closedGate();
    const first = slots.run('a', () => blocked.passed);
    const second = slots.run('a', async () => 'second');
    expect(await slots.run('b', async () => 'other')).toBe('other');
    blocked.open();
    await first;
    expect(await second).toBe('second');
  });

  test('refuse with 503 and Retry-After what finds no slot in time, and never begin it later', async () => {
    const slots = new AccountSlots({ atOnceMax: 1, waitMs: 5 });
    const blocked = closedGate();
    const first = slots.run('a', () => blocked.passed);
    let begun = false;
    const late = slots.run('a', async () => {
      begun = true;
    });
    await expect(late).rejects.toMatchObject({
      status: 503,
      options: { headers: { 'retry-after': '1' } },
    });
    blocked.open();
    await first;
    await sleep(1);
    expect(begun).toBe(false);
    expect(await slots.run('a', async () => 'next')).toBe('next');
  });

  describe('while other accounts are active', () => {
    afterEach(() => vi.useRealTimers());

    /**
     * Starts so many transactions of an account that end only when their gate
     * opens.
     */
    const startMany = (slots: AccountSlots, account: string, count: number) => {
      const gate = closedGate();
      const begun = { count: 0 };
      const ends = Array.from({ length: count }, () =>
        slots.run(account, () => {
          begun.count += 1;
          return gate.passed;
        }),
      );
      const end = () => {
        gate.open();
        return Promise.all(ends);
      };
      return { begun, end };
    };

    test('are fewer, and all again once those are silent', async () => {
      vi.useFakeTimers();
      const slots = new AccountSlots({
        atOnceMax: 8,
        sharedMax: 4,
        waitMs: 60_000,
      });
      await slots.run('other', async () => undefined);
      const many = startMany(slots, 'many', 20);
      await vi.advanceTimersByTimeAsync(500);
      expect(many.begun.count).toBe(2);
      const others = startMany(slots, 'other', 2);
      await vi.advanceTimersByTimeAsync(0);
      expect(others.begun.count).toBe(2);
      await others.end();
      await many.end();
      expect(many.begun.count).toBe(20);
      await vi.advanceTimersByTimeAsync(2_500);
      const again = startMany(slots, 'many', 20);
      await vi.advanceTimersByTimeAsync(0);
      expect(again.begun.count).toBe(8);
      await again.end();
      await vi.advanceTimersByTimeAsync(200);
      expect(vi.getTimerCount()).toBe(0);
    });

    test('are not held up by a transaction that waits for a lock', async () => {
      vi.useFakeTimers();
      const slots = new AccountSlots({
        atOnceMax: 3,
        sharedMax: 2,
        waitMs: 60_000,
      });
      const keepActive = setInterval(
        () => void slots.run('other', async () => undefined),
        100,
      );
      await vi.advanceTimersByTimeAsync(200);
      const blocked = startMany(slots, 'a', 1);
      const behind = startMany(slots, 'a', 5);
      await vi.advanceTimersByTimeAsync(500);
      expect(behind.begun.count).toBe(0);
      await vi.advanceTimersByTimeAsync(1_000);
      expect(behind.begun.count).toBe(1);
      await vi.advanceTimersByTimeAsync(5_000);
      expect(behind.begun.count).toBe(2);
      clearInterval(keepActive);
      await Promise.all([blocked.end(), behind.end()]);
      expect(behind.begun.count).toBe(5);
    });
  });
});
