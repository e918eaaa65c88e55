import { describe, expect, test } from 'vitest';
import type {
  BulkOnboardingStatus,
  BulkOnboardingSummary,
} from '../../../src/contract/bulk-onboarding.ts';
import { LiveLines } from '../../../src/lib/live-lines.ts';
import { bulkResult } from '../../../src/starter/commands/report-bulk.ts';
import { bulkRows, bulkView } from '../../../src/starter/progress/bulk-view.ts';
import type { Target } from '../../../src/starter/target/target.ts';

const status: BulkOnboardingStatus = {
  phase: 'processing',
  dryRun: false,
  fileSha256: 'f',
  requestIds: ['request-1', 'request-2'],
  paused: false,
  counts: { rows: 100_000, handled: 0, created: 0, updated: 0, failed: 0 },
  webhooksReceived: 1,
  polls: 0,
  deadlineAt: '2026-01-01T00:00:00.000Z',
};
const request = (handled: number, more: object = {}) => ({
  requestId: 'request-2',
  status: 'processing',
  counts: { rows: 100_000, handled, created: handled, updated: 0, failed: 0 },
  rowsPerSecond: 2_912.4,
  secondsLeft: 18,
  ...more,
});
const lines = (isTTY: boolean) => new LiveLines({ write: () => true, isTTY });
const plain = (rows: string[]) =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours
  rows.map((row) => row.replaceAll(/\u001b\[\d+m/g, ''));

describe('a bulk onboarding on a terminal', () => {
  test('has a bar, rows a second and the time left, as the exchange tells them', () => {
    const view = bulkView({ status, request: request(50_000) });
    expect(plain(bulkRows(view, lines(true)))).toEqual([
      `processing  ${'█'.repeat(15)}${'░'.repeat(15)} 50 %  50,000 of 100,000 rows, 2,912 rows/s, 18 s left`,
    ]);
  });

  test('where lines stay tells every tenth only', () => {
    const rows = [50_001, 54_000, 59_999, 60_000].map(
      (handled) =>
        bulkRows(
          bulkView({ status, request: request(handled) }),
          lines(false),
        )[0],
    );
    expect(new Set(rows)).toEqual(
      new Set([
        'processing: 50 % of 100,000 rows',
        'processing: 60 % of 100,000 rows',
      ]),
    );
  });

  test('says that it is paused, and what it waits out', () => {
    const view = bulkView({
      status: { ...status, problem: 'no answer' },
      request: request(1, { paused: true }),
    });
    expect(bulkRows(view, lines(false))).toEqual([
      'paused: 0 % of 100,000 rows (no answer)',
    ]);
  });

  test('keeps to the request that counts, and to our own count of rows until the exchange has one', () => {
    const old = bulkView({
      status,
      request: { ...request(70_000), requestId: 'request-1' },
    });
    expect(old.counts?.handled).toBe(0);
    const early = bulkView({
      status,
      request: { ...request(0), counts: { rows: 0, handled: 0 } },
    });
    expect(early.counts?.rows).toBe(100_000);
  });
});

describe('the end of a bulk onboarding', () => {
  const ended = (summary: Partial<BulkOnboardingSummary>) =>
    bulkView({
      status,
      end: {
        state: 'ended',
        summary: {
          status: 'failed',
          dryRun: false,
          requestIds: ['request-2'],
          webhooksReceived: 2,
          ...summary,
        },
      },
    });

  test('of a file that was refused says why', () => {
    const view = ended({ reason: 'The column zip-1 is missing' });
    expect(view).toMatchObject({
      state: 'failed',
      failure: 'The column zip-1 is missing',
    });
    expect(bulkRows(view, lines(false))).toEqual([
      'failed: The column zip-1 is missing',
    ]);
  });

  test('that did not come in time is a failure', () => {
    expect(
      ended({ status: 'timed-out', reason: 'no outcome before the deadline' }),
    ).toMatchObject({
      state: 'failed',
      failure: 'no outcome before the deadline',
    });
  });

  test('without a summary is what Temporal says', () => {
    expect(bulkView({ status, end: { state: 'cancelled' } })).toMatchObject({
      state: 'cancelled',
      phase: 'ended',
    });
    expect(
      bulkView({ end: { state: 'failed', reason: 'It was terminated' } })
        .failure,
    ).toBe('It was terminated');
  });
});

test('a job that goes on names the command that saves its files where the user wants them', () => {
  const live = new LiveLines({ write: () => undefined });
  const context = {
    terminal: { live, interrupted: new AbortController().signal },
    target: {} as Target,
  };
  const { lines } = bulkResult(
    'bulk',
    { jobId: 'j', workflowId: 'w', out: 'out/panel' },
    context,
  );
  expect(lines.at(-1)).toBe(
    '  npm run starter -- bulk status j --out out/panel',
  );
});
