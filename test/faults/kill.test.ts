import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seededRandom } from '../support/seeded-random.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { runOverlap } from './bulk/overlap.ts';
import { runBulkRound } from './bulk/round.ts';
import { runExportCancelRound, runExportExpiryRound } from './export/ends.ts';
import { runExportRound } from './export/round.ts';
import { checkOutcome, checkWebhooks } from './kill/check.ts';
import { KILLABLE } from './kill/holds.ts';
import { readOutcome } from './kill/outcome.ts';
import { type RoundReport, runRound, runUndisturbed } from './kill/round.ts';
import { KILL_WINDOWS, planKills } from './kill/windows.ts';
import { runMonitoringRound } from './monitoring/round.ts';

// The short form of `npm run soak -- kills`: one moment for each part, chosen so that all four kinds that issue 3 names are
// there. The soak takes every moment with every part.
const MOMENTS = {
  worker: 'collect: page before its commit',
  gateway: 'query: between commit and start',
  Temporal: 'event: recorded, webhook not answered yet',
  PostgreSQL: 'request: before its commit',
};

describe('work in progress', { timeout: 600_000 }, () => {
  let dataDir: string;
  let stack: TestStack;
  let undisturbed: RoundReport;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'exchange-kill-'));
    stack = await startTestStack({ dataDir });
    undisturbed = await runUndisturbed(stack);
  }, 600_000);
  afterAll(async () => {
    await stack?.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  test.each(KILLABLE)(
    'ends with the same result as undisturbed, each step once, when the %s is killed',
    async (part) => {
      const windows = KILL_WINDOWS.filter(({ name }) => name === MOMENTS[part]);
      const [kill] = planKills(seededRandom(1), { parts: [part], rounds: 1, windows });
      const { hit, faults } = await runRound(stack, kill, undisturbed);
      expect(faults).toEqual([]);
      expect(hit).toBe(true);
    },
  );

  test('asks about each patient of two monitored cohorts once when the worker is killed', async () => {
    const round = { patients: 100, queriesPerMinute: 12_000, kills: 1, timeoutMs: 180_000 };
    const { faults, queries } = await runMonitoringRound(stack, round);
    expect(faults).toEqual([]);
    expect(queries).toBe(100);
  });

  test('creates one patient per person when two CSVs with the same people are imported at once', async () => {
    expect(await runOverlap(stack, 180_000)).toEqual([]);
  });

  test('gives the same result for a CSV, row by row, when the worker and PostgreSQL are killed in the middle of a chunk', async () => {
    const round = { rows: 3_000, toQuery: 30, workerAfterRows: 0, postgresAfterRows: 2_000 };
    const { faults, killedAt } = await runBulkRound(stack, { ...round, timeoutMs: 300_000 });
    expect(faults).toEqual([]);
    expect(killedAt).toEqual({ worker: 0, postgres: expect.any(Number) });
    expect(killedAt.postgres).toBeLessThan(3_000);
  });

  test('exports the same files, byte for byte, when the worker is killed while it merges a record and writes a slice', async () => {
    const { account, exportId, faults, killedAt, slices } = await runExportRound(stack, {
      from: undisturbed.account,
      copies: 3,
      timeoutMs: 120_000,
    });
    expect(faults).toEqual([]);
    expect(killedAt.writing).toBeGreaterThanOrEqual(killedAt.merging);
    expect(slices).toBeGreaterThan(killedAt.writing);
    expect(await runExportCancelRound(stack, { account, timeoutMs: 120_000 })).toEqual([]);
    expect(await runExportExpiryRound(stack, { account, exportId, timeoutMs: 120_000 })).toEqual([]);
  });

  test('the checks of these tests find planted faults', async () => {
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
