import {
  Client,
  type ScheduleHandle,
  type ScheduleSpec,
} from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { MonitoringFrequency } from '../../src/contract/cohort-monitoring.ts';
import { monitoringSchedule } from '../../src/shared/monitoring/monitoring-schedule.ts';
import {
  JITTER_MINUTES,
  type MonitoringHours,
  monitoringSlot,
} from '../../src/shared/monitoring/monitoring-slot.ts';
import { openConnection } from '../../src/temporal/connection.ts';

// The server itself says when a schedule runs in 2027 and 2028: both changes of
// the clocks twice, every end of a month, and a leap day.

const FROM = Date.UTC(2027, 0, 1);
const TO = Date.UTC(2029, 0, 1);
const LEAP_DAY = '2028-02-29';
const DAY_MS = 86_400_000;

/** Always the same ones, so that a run is like the last. */
let cohorts = 0;
const nextCohortId = () =>
  `01900000-0000-7000-8000-${String(++cohorts).padStart(12, '0')}`;

let client: Client;
const created: ScheduleHandle[] = [];
beforeAll(async () => {
  client = new Client({
    connection: await openConnection({ address: inject('temporalAddress') }),
  });
});
afterAll(async () => {
  await Promise.all(created.map((handle) => handle.delete()));
  await client.connection.close();
});

/** Nothing of it runs: it is paused. */
async function createPaused(
  schedule: Omit<ReturnType<typeof monitoringSchedule>, 'spec'> & {
    spec: ScheduleSpec;
  },
) {
  const handle = await client.schedule.create({
    ...schedule,
    scheduleId: schedule.action.workflowId,
    state: { paused: true },
  });
  created.push(handle);
  return handle;
}

async function matchingTimes({
  scheduleId,
}: ScheduleHandle): Promise<number[]> {
  const timestamp = (ms: number) => ({ seconds: (ms / 1_000) as never });
  const { startTime } = await client.workflowService.listScheduleMatchingTimes({
    namespace: 'default',
    scheduleId,
    startTime: timestamp(FROM),
    endTime: timestamp(TO),
  });
  return startTime.map(
    ({ seconds, nanos }) => Number(seconds) * 1_000 + (nanos ?? 0) / 1e6,
  );
}

const plan = (
  frequency: MonitoringFrequency,
  hours: MonitoringHours,
  cohortId: string = nextCohortId(),
) => ({
  cohortId,
  kind: 'hie' as const,
  frequency,
  hours,
  networkQueriesPerMinute: 100,
  credentialRef: 'api-key',
});

/** What a clock on the wall of that zone shows. */
function localTimes(times: readonly number[], timeZone: string) {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  });
  return times.map((at) => {
    const part = Object.fromEntries(
      format.formatToParts(at).map(({ type, value }) => [type, value]),
    );
    const date = `${part.year}-${part.month}-${part.day}`;
    const dayNumber = Date.parse(date) / DAY_MS;
    return {
      date,
      dayNumber,
      hour: Number(part.hour),
      minute: Number(part.minute),
    };
  });
}

/** Cohorts are tried until one has a slot that this test is after. */
function cohortWith(
  frequency: MonitoringFrequency,
  hours: MonitoringHours,
  wanted: (day: number, hour: number) => boolean,
): string {
  for (let tries = 0; tries < 10_000; tries++) {
    const cohortId = nextCohortId();
    const { day, hour } = monitoringSlot(cohortId, 'hie', frequency, hours);
    if (wanted(day, hour)) return cohortId;
  }
  throw new Error('no cohort has such a slot');
}

const ZONES: [string, number, number][] = [
  ['America/New_York', 1, 5],
  ['Europe/Berlin', 0, 4],
  ['Australia/Lord_Howe', 1, 4],
  ['America/Santiago', 22, 3],
  ['Africa/Cairo', 0, 2],
  ['Asia/Kolkata', 1, 5],
  ['Pacific/Auckland', 0, 24],
];

describe.each(ZONES)(
  'in %s from %i to %i o’clock',
  (timeZone, fromHour, toHour) => {
    const hours = { timeZone, fromHour, toHour };
    test.each([
      ['weekly', 7, 104],
      ['biweekly', 14, 52],
    ] as const)(
      '%s keeps its day and hour, %i days apart',
      async (frequency, daysApart, runs) => {
        for (let cohort = 0; cohort < 3; cohort++) {
          const chosen = plan(frequency, hours);
          const slot = monitoringSlot(chosen.cohortId, 'hie', frequency, hours);
          const times = localTimes(
            await matchingTimes(await createPaused(monitoringSchedule(chosen))),
            timeZone,
          );
          expect(Math.abs(times.length - runs)).toBeLessThanOrEqual(1);
          for (const [index, time] of times.entries()) {
            expect(time.dayNumber % daysApart).toBe(slot.day);
            expectInSlot(time, slot);
            if (index > 0)
              expect(time.dayNumber - (times[index - 1]?.dayNumber ?? 0)).toBe(
                daysApart,
              );
          }
        }
      },
    );

    test('monthly leaves out no month', async () => {
      for (let cohort = 0; cohort < 3; cohort++) {
        const chosen = plan('monthly', hours);
        const slot = monitoringSlot(chosen.cohortId, 'hie', 'monthly', hours);
        const times = localTimes(
          await matchingTimes(await createPaused(monitoringSchedule(chosen))),
          timeZone,
        );
        expect(times.length).toBeGreaterThanOrEqual(23);
        for (const [index, time] of times.entries()) {
          expect(Number(time.date.slice(8))).toBe(slot.day);
          expectInSlot(time, slot);
          if (index > 0)
            expect(
              monthOf(time.date) - monthOf(times[index - 1]?.date ?? ''),
            ).toBe(1);
        }
      }
    });
  },
);

const monthOf = (date: string): number =>
  Number(date.slice(0, 4)) * 12 + Number(date.slice(5, 7));

function expectInSlot(
  time: { hour: number; minute: number },
  slot: { hour: number; minute: number },
): void {
  expect(time.hour).toBe(slot.hour);
  expect(time.minute).toBeGreaterThanOrEqual(slot.minute);
  expect(time.minute).toBeLessThan(slot.minute + JITTER_MINUTES);
}

describe('at the edges of the calendar', () => {
  const night = { timeZone: 'America/New_York', fromHour: 1, toHour: 5 };

  test('the leap day is a day like any other', async () => {
    // Day 21,243 since the epoch.
    const weekly = cohortWith('weekly', night, (day) => day === 21_243 % 7);
    const biweekly = cohortWith(
      'biweekly',
      night,
      (day) => day === 21_243 % 14,
    );
    const last = cohortWith('monthly', night, (day) => day === 28);
    const datesOf = async (frequency: MonitoringFrequency, cohortId: string) =>
      localTimes(
        await matchingTimes(
          await createPaused(
            monitoringSchedule(plan(frequency, night, cohortId)),
          ),
        ),
        night.timeZone,
      ).map(({ date }) => date);
    expect(await datesOf('weekly', weekly)).toContain(LEAP_DAY);
    const every14Days = await datesOf('biweekly', biweekly);
    expect(
      every14Days.slice(every14Days.indexOf(LEAP_DAY) - 1).slice(0, 3),
    ).toEqual(['2028-02-15', LEAP_DAY, '2028-03-14']);
    expect(
      (await datesOf('monthly', last)).filter(
        (date) => date.slice(5, 7) === '02',
      ),
    ).toEqual(['2027-02-28', '2028-02-28']);
  });

  test('hours that no cohort gets are those that Temporal would leave out or take twice', async () => {
    const schedule = monitoringSchedule(plan('monthly', night));
    const dates = async (hour: number) => {
      const spec = {
        ...schedule.spec,
        calendars: [{ dayOfWeek: 'SUNDAY' as const, hour }],
        jitter: 0,
      };
      const action = { ...schedule.action, workflowId: `sundays/${hour}` };
      const handle = await createPaused({ ...schedule, action, spec });
      return localTimes(await matchingTimes(handle), night.timeZone).map(
        ({ date }) => date,
      );
    };
    expect(await dates(2)).not.toContain('2027-03-14');
    expect(
      (await dates(1)).filter((date) => date === '2027-11-07'),
    ).toHaveLength(2);
    expect(
      (await dates(3)).filter((date) =>
        ['2027-03-14', '2027-11-07'].includes(date),
      ),
    ).toHaveLength(2);
  });

  test('describe shows the same times as the list, so the Temporal UI does too', async () => {
    const handle = await createPaused(
      monitoringSchedule(plan('biweekly', night)),
    );
    const { info } = await handle.describe();
    const coming = info.nextActionTimes
      .filter((time) => time.getTime() >= FROM)
      .map((time) => time.getTime());
    expect(coming.length).toBeGreaterThan(0);
    expect(
      (await matchingTimes(handle)).slice(0, coming.length).map(Math.floor),
    ).toEqual(coming);
  });
});
