import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readOnboardingRequest } from '../../../src/orchestrator/patient-onboarding/onboarding-request.ts';
import { type Stub, startStub } from '../../support/http-stub.ts';
import { starter } from '../../support/run-starter.ts';

const COHORT = '0198f1c2-7d11-7f3a-9d52-0c8f2f6f1a01';
const UNTIL = ['--to', '2026-11-01'];

let exchange: Stub;
beforeEach(async () => {
  exchange = await startStub();
});
afterEach(() => exchange.close());

const elsewhere = (...argv: string[]) =>
  starter([
    ...argv,
    '--base-url',
    exchange.url,
    '--api-key',
    'a-key',
    '--facility',
    'f',
  ]);

test.each([
  ['2026-02-30'],
  ['2026-06-01 about noon'],
  ['2026'],
  ['2026-06-01T25:00:00Z'],
  ['yesterday'],
])('%s is not taken for another time, by any command', async (text) => {
  for (const command of [
    ['redrive', '--source', 'lab'],
    ['monitor', 'backfill', COHORT, 'hie', ...UNTIL],
  ]) {
    const run = await elsewhere(...command, '--from', text);
    expect(run.stderr).toContain('Expected a date such as 2026-06-01');
    expect(run.exitCode).toBe(2);
  }
  expect(exchange.requests).toEqual([]);
});

test.each([
  ['2026-06-01', '2026-06-01T00:00:00.000Z'],
  ['2026-06-01T02:30:00-04:00', '2026-06-01T06:30:00.000Z'],
  ['2026-06-01T02:30:00Z', '2026-06-01T02:30:00.000Z'],
  ['2026-06-01T02:30Z', '2026-06-01T02:30:00.000Z'],
])(
  'a redrive from %s asks the exchange for that instant',
  async (text, failedFrom) => {
    await elsewhere('redrive', '--source', 'lab', '--from', text, '--dry-run');
    expect(
      JSON.parse(exchange.requests[0]?.body.toString() ?? ''),
    ).toMatchObject({ failedFrom });
  },
);

test.each([[''], [' '], ['x'.repeat(256)]])(
  'an import or onboarding under the job id "%s", as of an unset variable, is not started',
  async (job) => {
    const panel = join(await mkdtemp(join(tmpdir(), 'job-')), 'panel.csv');
    await writeFile(panel, 'a');
    for (const command of [
      ['bulk', panel],
      ['onboard', '--sample', 'keith-kiehn'],
    ]) {
      const run = await elsewhere(...command, '--job', job);
      expect(run.stderr).toContain('Expected 1 to 255 characters');
      expect(run.exitCode).toBe(2);
    }
    expect(exchange.requests).toEqual([]);
  },
);

test('a job id or facility that is too long is not called a missing one', () => {
  const long = 'x'.repeat(256);
  const read = readOnboardingRequest({
    jobId: long,
    facilityId: long,
    patient: {},
  });
  const said = read.ok ? [] : read.problems;
  const ofBoth = said.filter(
    ({ path }) => path === 'jobId' || path === 'facilityId',
  );
  expect(ofBoth.map(({ message }) => message)).toEqual([
    expect.stringContaining('<=255'),
    expect.stringContaining('<=200'),
  ]);
  const none = readOnboardingRequest({ patient: {} });
  expect(none.ok ? [] : none.problems.map(({ message }) => message)).toEqual(
    expect.arrayContaining(['jobId is required', 'facilityId is required']),
  );
});
