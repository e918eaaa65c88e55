import { expect } from 'vitest';
import { runOverlap } from './bulk/overlap.ts';
import { runBulkRound } from './bulk/round.ts';
import { runExportCancelRound, runExportExpiryRound } from './export/ends.ts';
import { runExportRound } from './export/round.ts';
import { FAULT_TEST, test } from './fault-stack.ts';
import { settle } from './kill/settle.ts';
import { runWorkload } from './kill/workload.ts';
import { runMonitoringRound } from './monitoring/round.ts';

const TIMEOUT_MS = 240_000;

test(
  'asks about each patient of two monitored cohorts once when the worker is killed',
  FAULT_TEST,
  async ({ stack }) => {
    const round = {
      patients: 60,
      queriesPerMinute: 12_000,
      kills: 1,
      timeoutMs: TIMEOUT_MS,
    };
    const { faults, queries } = await runMonitoringRound(stack, round);
    expect(faults).toEqual([]);
    expect(queries).toBe(60);
  },
);

test(
  'creates one patient per person when two CSVs with the same people are imported at once',
  FAULT_TEST,
  async ({ stack }) => {
    expect(await runOverlap(stack, TIMEOUT_MS)).toEqual([]);
  },
);

test(
  'gives the same result for a CSV, row by row, when the worker and PostgreSQL are killed in the middle of a chunk',
  FAULT_TEST,
  async ({ stack }) => {
    const round = {
      rows: 2_300,
      toQuery: 30,
      workerAfterRows: 0,
      postgresAfterRows: 2_000,
    };
    const { faults, killedAt } = await runBulkRound(stack, {
      ...round,
      timeoutMs: TIMEOUT_MS,
    });
    expect(faults).toEqual([]);
    expect(killedAt).toEqual({ worker: 0, postgres: expect.any(Number) });
    expect(killedAt.postgres).toBeLessThan(2_300);
  },
);

test(
  'exports the same files, byte for byte, when the worker is killed while it merges a record and writes a slice',
  FAULT_TEST,
  async ({ stack }) => {
    const from = await stack.addAccount();
    await runWorkload(stack, from, { timeoutMs: TIMEOUT_MS });
    expect(await settle(stack, from, TIMEOUT_MS)).toEqual([]);
    const round = { from, copies: 2, timeoutMs: TIMEOUT_MS };
    const { account, exportId, faults, killedAt, slices } =
      await runExportRound(stack, round);
    expect(faults).toEqual([]);
    expect(killedAt.writing).toBeGreaterThanOrEqual(killedAt.merging);
    expect(slices).toBeGreaterThan(killedAt.writing);
    expect(
      await runExportCancelRound(stack, { account, timeoutMs: TIMEOUT_MS }),
    ).toEqual([]);
    expect(
      await runExportExpiryRound(stack, {
        account,
        exportId,
        timeoutMs: TIMEOUT_MS,
      }),
    ).toEqual([]);
  },
);
