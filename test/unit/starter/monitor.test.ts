import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Stub, startStub } from '../../support/http-stub.ts';
import { starter } from '../../support/run-starter.ts';

const COHORT = '0198f1c2-7d11-7f3a-9d52-0c8f2f6f1a01';

let exchange: Stub;
beforeEach(async () => {
  exchange = await startStub();
});
afterEach(() => exchange.close());

const monitor = (...argv: string[]) =>
  starter([
    'monitor',
    ...argv,
    '--base-url',
    exchange.url,
    '--api-key',
    'a-key',
  ]);

describe('monitor', () => {
  test.each([
    [['create', COHORT, 'lab'], 'Expected one of hie, pharmacy'],
    [
      ['create', COHORT, 'hie', '--frequency', 'daily'],
      'weekly, biweekly, monthly',
    ],
    [['create', COHORT, 'hie', '--from-hour', '25'], 'from 0 to 24'],
    [
      ['create', COHORT, 'hie', '--queries-per-minute', '0'],
      'whole number from 1',
    ],
    [['trigger', COHORT], "missing required argument 'source'"],
    [
      ['backfill', COHORT, 'hie', '--from', '2026-01-01'],
      "required option '--to",
    ],
    [
      ['backfill', COHORT, 'hie', '--from', 'spring', '--to', '2026-01-01'],
      'Expected a date such as',
    ],
    [
      ['backfill', COHORT, 'hie', '--from', '2026-02-01', '--to', '2026-01-01'],
      '--from must be before --to',
    ],
    [
      ['backfill', COHORT, 'hie', '--from', '2026-02-01', '--to', '9999-01-01'],
      'not be in the future',
    ],
  ])('%j is a usage error that says what would do', async (argv, message) => {
    const run = await monitor(...argv);
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toContain(message);
    expect(exchange.requests).toEqual([]);
  });

  test('says what it needs to reach the schedules of an exchange elsewhere', async () => {
    const run = await monitor('list', '--json');
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toContain('TEMPORAL_ADDRESS');
  });

  test('explains itself, with examples for each command', async () => {
    for (const name of [
      'create',
      'list',
      'trigger',
      'pause',
      'resume',
      'backfill',
      'delete',
    ]) {
      const run = await starter(['monitor', name, '--help']);
      expect(run.exitCode).toBe(0);
      expect(run.stdout).toContain(`npm run starter -- monitor ${name}`);
    }
  });
});
