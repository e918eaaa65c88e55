import { expect, test } from 'vitest';
import type { TemporalClient } from '../../../src/temporal/client.ts';
import { readTroubles } from '../../../src/temporal/troubles.ts';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 10, 29, 12);
const inDays = (days: number) => new Date(NOW + days * DAY_MS);

interface Monitored {
  /** When the last round began, in days from now; absent: none has. */
  last?: number;
  /** The next two rounds. */
  next: readonly number[];
  isPaused?: boolean;
  /** When a round began that still runs. */
  runsSince?: number;
}

/** Temporal with this monitoring of the cohort `c1`. */
const temporalWith = ({ last, next, isPaused = false, runsSince }: Monitored) =>
  ({
    options: { namespace: 'default' },
    withDeadline: (_: unknown, call: () => unknown) => call(),
    schedule: {
      async *list() {
        yield {
          scheduleId: 'cohort-monitoring/c1/hie',
          state: { paused: isPaused },
          info: {
            nextActionTimes: next.map(inDays),
            recentActions:
              last === undefined ? [] : [{ takenAt: inDays(last) }],
          },
        };
        yield { scheduleId: 'of somebody else' };
      },
    },
    workflow: {
      async *list({ query }: { query: string }) {
        if (/WorkflowType = 'cohortMonitoring'/.test(query) && runsSince)
          yield {
            type: 'cohortMonitoring',
            workflowId: 'cohort-monitoring/c1/hie-2026-11-21T06:12:00Z',
            startTime: inDays(runsSince),
          };
      },
    },
  }) as unknown as TemporalClient;

const found = (monitored: Monitored) =>
  readTroubles(temporalWith(monitored), NOW);
const cohort = { cohortId: 'c1', kind: 'hie' };

test('monitoring that is on time is no trouble, nor is what has just been created, or is paused', async () => {
  for (const fine of [
    { last: -3, next: [4, 11] },
    { last: -6.9, next: [0.1, 7.1], runsSince: -6.9 },
    // From one month of 31 days to the next.
    { last: -30, next: [1, 29] },
    { next: [4, 11] },
    { last: -40, next: [4, 11], isPaused: true },
  ])
    expect(await found(fine)).toMatchObject({ hanging: [], skipped: [] });
});

test('a round that runs for longer than a period hangs, and what is skipped meanwhile is no further trouble', async () => {
  const hanging = { last: -8, next: [6, 13], runsSince: -8 };
  expect(await found(hanging)).toMatchObject({
    hanging: [
      {
        ...cohort,
        workflowId: 'cohort-monitoring/c1/hie-2026-11-21T06:12:00Z',
        startedAt: inDays(-8),
      },
    ],
    skipped: [],
  });
});

test('monitoring whose last time passed without a round has skipped it', async () => {
  expect(await found({ last: -10, next: [4, 11] })).toMatchObject({
    hanging: [],
    skipped: [{ ...cohort, startedAt: inDays(-10) }],
  });
});
