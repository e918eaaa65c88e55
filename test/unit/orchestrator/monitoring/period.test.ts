import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  MONITORING_FREQUENCIES,
  MONITORING_METADATA,
  type MonitoringFrequency,
} from '../../../../src/contract/cohort-monitoring.ts';
import {
  type ListedQuery,
  Period,
} from '../../../../src/orchestrator/monitoring/ask.ts';
import { property } from '../../../support/property.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const START_MS = Date.parse('2026-01-05T06:00:00Z');
const iso = (ms: number) => new Date(ms).toISOString();

const run = (
  cohortId: string,
  dueMs: number,
  frequency: MonitoringFrequency = 'weekly',
) => new Period({ cohortId, kind: 'hie', frequency, dueAt: iso(dueMs) });
const asked = (
  cohortId: string,
  dueMs: number,
  startedMs: number,
): ListedQuery => ({
  startedAt: iso(startedMs),
  metadata: {
    [MONITORING_METADATA.cohortId]: cohortId,
    [MONITORING_METADATA.kind]: 'hie',
    [MONITORING_METADATA.due]: iso(dueMs),
  },
});

/**
 * The nominal times of the nth runs of a schedule, its local hour an hour
 * earlier in summer.
 */
function dueMs(
  frequency: MonitoringFrequency,
  n: number,
  slotMs: number,
): number {
  const day = new Date(START_MS + slotMs);
  if (frequency === 'monthly') day.setUTCMonth(day.getUTCMonth() + n);
  else day.setUTCDate(day.getUTCDate() + n * (frequency === 'weekly' ? 7 : 14));
  const isSummer = day.getUTCMonth() > 2 && day.getUTCMonth() < 10;
  return day.getTime() - (isSummer ? HOUR_MS : 0);
}

/**
 * The nominal times at which one patient of all these cohorts is asked about.
 */
function simulate(
  frequency: MonitoringFrequency,
  cohorts: { slotMs: number; lateMs: number[] }[],
) {
  const runs = cohorts
    .flatMap(({ slotMs, lateMs }, cohort) =>
      lateMs.map((late, n) => ({
        cohortId: `c${cohort}`,
        due: dueMs(frequency, n, slotMs),
        late,
      })),
    )
    .sort((a, b) => a.due + a.late - (b.due + b.late));
  const queries: ListedQuery[] = [];
  const dues: number[] = [];
  for (const { cohortId, due, late } of runs) {
    if (run(cohortId, due, frequency).queriedBy(queries) !== 'none') continue;
    queries.push(asked(cohortId, due, due + late));
    dues.push(due);
  }
  return dues.sort((a, b) => a - b);
}

const LENGTH_DAYS = { weekly: 7, biweekly: 14, monthly: 28 } as const;
const cohort = (frequency: MonitoringFrequency) =>
  fc.record({
    slotMs: fc
      .integer({ min: 0, max: LENGTH_DAYS[frequency] * 24 * 60 - 1 })
      .map((minute) => minute * 60_000),
    // Jitter, pace, a pause, a day of outage.
    lateMs: fc.array(fc.integer({ min: 0, max: 30 * HOUR_MS }), {
      minLength: 14,
      maxLength: 14,
    }),
  });

describe.each(MONITORING_FREQUENCIES)(
  'a patient of a cohort that is monitored %s',
  (frequency) => {
    property([cohort(frequency)])(
      'is asked about at every run of it, however late runs are',
      (one) => {
        expect(simulate(frequency, [one])).toEqual(
          one.lateMs.map((_, n) => dueMs(frequency, n, one.slotMs)),
        );
      },
    );

    property([fc.array(cohort(frequency), { minLength: 2, maxLength: 4 })])(
      'and of others is asked about once in a period, by one of them, and left out in none',
      (cohorts) => {
        // Order of the starts follows the nominal times here: runs more than a
        // day late may overtake each other.
        const onTime = cohorts.map((each) => ({
          ...each,
          lateMs: each.lateMs.map((late) => late / 1_000),
        }));
        const dues = simulate(frequency, onTime);
        const longest = frequency === 'monthly' ? 31 : LENGTH_DAYS[frequency];
        for (const [index, due] of dues.entries()) {
          const next = dues[index + 1];
          if (next === undefined) break;
          expect(next - due).toBeGreaterThanOrEqual(
            LENGTH_DAYS[frequency] * DAY_MS - 2 * HOUR_MS,
          );
          expect(next - due).toBeLessThanOrEqual(
            longest * DAY_MS + 2 * HOUR_MS,
          );
        }
      },
    );
  },
);

describe('other queries', () => {
  const due = START_MS + 7 * DAY_MS;
  test('count as of their start, with a day of the week to spare', () => {
    const plain = (ms: number): ListedQuery => ({
      startedAt: iso(ms),
      metadata: { job: 'x' },
    });
    expect(run('c', due).queriedBy([plain(due - 5.9 * DAY_MS)])).toBe('other');
    expect(run('c', due).queriedBy([plain(due - 6.1 * DAY_MS)])).toBe('none');
  });

  test('of this very run are known again after a crash; those of another kind are not taken for them', () => {
    expect(run('c', due).queriedBy([asked('c', due, due + HOUR_MS)])).toBe(
      'own',
    );
    expect(run('c', due).queriedBy([asked('d', due, due + HOUR_MS)])).toBe(
      'other',
    );
    const odd = {
      startedAt: iso(due),
      metadata: { [MONITORING_METADATA.due]: 'soon' },
    };
    expect(run('c', due).queriedBy([odd])).toBe('other');
  });

  test('of later periods do not make up for those that a backfill runs through', () => {
    const month = (n: number) => dueMs('monthly', n, 0);
    const queries: ListedQuery[] = [];
    for (const n of [0, 1, 2]) {
      expect(run('c', month(n), 'monthly').queriedBy(queries)).toBe('none');
      queries.push(asked('c', month(n), month(3)));
    }
  });
});
