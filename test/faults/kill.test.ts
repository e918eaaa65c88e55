import { describe, expect } from 'vitest';
import { seededRandom } from '../support/seeded-random.ts';
import { FAULT_TEST, test as withStack } from './fault-stack.ts';
import { checkOutcome, checkWebhooks } from './kill/check.ts';
import { KILLABLE } from './kill/holds.ts';
import { readOutcome } from './kill/outcome.ts';
import { type RoundReport, runRound, runUndisturbed } from './kill/round.ts';
import { KILL_WINDOWS, planKills } from './kill/windows.ts';

// The short form of `npm run soak -- kills`: one moment for each part, chosen
// so that all four kinds that issue 3 names are there. The soak takes every
// moment with every part.
const MOMENTS = {
  worker: 'collect: page before its commit',
  gateway: 'query: between commit and start',
  Temporal: 'event: recorded, webhook not answered yet',
  PostgreSQL: 'request: before its commit',
};

const test = withStack.extend<{ undisturbed: RoundReport }>({
  undisturbed: [
    async ({ stack }, use) => use(await runUndisturbed(stack)),
    { scope: 'file' },
  ],
});

describe('work in progress', FAULT_TEST, () => {
  test.for(KILLABLE)(
    'ends with the same result as undisturbed, each step once, when the %s is killed',
    async (part, { stack, undisturbed }) => {
      const windows = KILL_WINDOWS.filter(({ name }) => name === MOMENTS[part]);
      const [kill] = planKills(seededRandom(1), {
        parts: [part],
        rounds: 1,
        windows,
      });
      const { hit, faults } = await runRound(stack, kill, undisturbed);
      expect(faults).toEqual([]);
      expect(hit).toBe(true);
    },
  );

  test('the checks of these tests find planted faults', async ({
    stack,
    undisturbed,
  }) => {
    const { account, outcome } = undisturbed;
    const values = [account.accountId];
    await stack.rows(
      `insert into network_query_attempt (query_id, source, attempt, run, account_id, status)
       select query_id, source, 2, run, account_id, 'completed' from network_query_attempt
       where account_id = $1 and source = 'lab' limit 1`,
      values,
    );
    await stack.rows(
      'delete from event where id = (select id from event where account_id = $1 limit 1)',
      values,
    );
    const faults = checkOutcome(outcome, await readOutcome(stack, account));
    expect(faults.join()).toContain('lab/2 completed');
    expect((await checkWebhooks(stack, account)).faults).toEqual([
      expect.stringContaining('tells no recorded fact'),
    ]);
  });
});
