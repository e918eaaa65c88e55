import { describe, expect, test } from 'vitest';
import {
  MONITORING_FREQUENCIES,
  MONITORING_KINDS,
} from '../../../src/contract/cohort-monitoring.ts';
import {
  DEFAULT_MONITORING_HOURS,
  JITTER_MINUTES,
  type MonitoringHours,
  monitoringHoursSchema,
  monitoringSlot,
  zoneClock,
} from '../../../src/shared/monitoring/monitoring-slot.ts';

const cohort = (number: number) =>
  `01900000-0000-7000-8000-${String(number).padStart(12, '0')}`;
const cohorts = Array.from({ length: 2_000 }, (_, number) => cohort(number));
const NIGHT = DEFAULT_MONITORING_HOURS;
const slots = (
  frequency: (typeof MONITORING_FREQUENCIES)[number],
  hours: MonitoringHours = NIGHT,
) => cohorts.map((id) => monitoringSlot(id, 'hie', frequency, hours));

describe('the slot of a cohort', () => {
  test('is always the same, and another one for the other kind', () => {
    for (const frequency of MONITORING_FREQUENCIES) {
      const [hie, again, pharmacy] = (['hie', 'hie', 'pharmacy'] as const).map(
        (kind) => monitoringSlot(cohort(1), kind, frequency, NIGHT),
      );
      expect(hie).toEqual(again);
      expect(hie).not.toEqual(pharmacy);
    }
    expect(MONITORING_KINDS).toEqual(['hie', 'pharmacy']);
  });

  test.each([
    ['weekly', 0, 6],
    ['biweekly', 0, 13],
    ['monthly', 1, 28],
  ] as const)(
    '%s: spreads over the days %i to %i and all hours, evenly',
    (frequency, first, last) => {
      const days = new Map<number, number>();
      const hours = new Map<number, number>();
      const minutes = new Set<number>();
      for (const { day, hour, minute } of slots(frequency)) {
        days.set(day, (days.get(day) ?? 0) + 1);
        hours.set(hour, (hours.get(hour) ?? 0) + 1);
        minutes.add(minute);
      }
      expect([...days.keys()].sort((a, b) => a - b)).toEqual(
        Array.from({ length: last - first + 1 }, (_, index) => first + index),
      );
      expect([...hours.keys()].sort()).toEqual([1, 2, 3, 4]);
      expect(minutes.size).toBe(60 - JITTER_MINUTES);
      expect(Math.max(...days.values())).toBeLessThan(
        (2 * cohorts.length) / days.size,
      );
      expect(Math.max(...hours.values())).toBeLessThan(cohorts.length / 2);
    },
  );

  test('with its jitter lies within the hours of the account', () => {
    for (const { minute } of slots('weekly'))
      expect(minute + JITTER_MINUTES).toBeLessThanOrEqual(60);
    const night = slots('monthly', { ...NIGHT, fromHour: 22, toHour: 2 });
    expect(new Set(night.map(({ hour }) => hour))).toEqual(
      new Set([22, 23, 0, 1]),
    );
    const anytime = slots('weekly', { ...NIGHT, fromHour: 6, toHour: 6 });
    expect(new Set(anytime.map(({ hour }) => hour)).size).toBe(24);
  });

  test('is never in an hour that the clocks skip or repeat on such a day', () => {
    // New York: on a Sunday, 2 o'clock from 8 to 14 March, 1 o'clock from 1 to
    // 7 November; an hour around counts too.
    const onSundays = [...slots('weekly'), ...slots('biweekly')].filter(
      ({ day }) => day % 7 === 3,
    );
    expect(new Set(onSundays.map(({ hour }) => hour))).toEqual(new Set([4]));
    const monthly = slots('monthly');
    const hoursOn = (first: number, last: number) =>
      new Set(
        monthly
          .filter(({ day }) => day >= first && day <= last)
          .map(({ hour }) => hour),
      );
    expect(hoursOn(1, 7)).toEqual(new Set([3, 4]));
    expect(hoursOn(8, 14)).toEqual(new Set([4]));
    expect(hoursOn(15, 28)).toEqual(new Set([1, 2, 3, 4]));
  });

  test('is found even where every hour allowed is touched by a change', () => {
    const cairo = { timeZone: 'Africa/Cairo', fromHour: 0, toHour: 1 };
    expect(
      slots('monthly', cairo).every(
        ({ day, hour }) => day >= 1 && day <= 28 && hour === 0,
      ),
    ).toBe(true);
  });
});

describe('the clocks of a zone', () => {
  test.each([
    ['America/New_York', [-5, -4]],
    ['Australia/Lord_Howe', [10.5, 11]],
    ['Africa/Casablanca', [0, 1]],
    ['Asia/Kolkata', [5.5]],
    ['UTC', [0]],
  ])('%s', (zone, hours) => {
    const { offsetsMs, changes } = zoneClock(zone);
    expect(offsetsMs.map((ms) => ms / 3_600_000)).toEqual(hours);
    expect(changes.length > 0).toBe(hours.length > 1);
  });

  test('a change over midnight touches both days', () => {
    const cairo = zoneClock('Africa/Cairo').changes.slice(0, 3);
    expect(cairo).toEqual([
      { weekday: 4, dayOfMonth: 23, hour: 23 },
      { weekday: 5, dayOfMonth: 24, hour: 0 },
      { weekday: 5, dayOfMonth: 24, hour: 1 },
    ]);
  });

  test('a zone that is none is refused, and in an account’s settings replaced by the default', () => {
    expect(() => zoneClock('Mars/Olympus')).toThrow(RangeError);
    expect(monitoringHoursSchema.parse({})).toEqual(DEFAULT_MONITORING_HOURS);
    expect(
      monitoringHoursSchema.parse({
        timeZone: 'Mars/Olympus',
        fromHour: 25,
        toHour: 3,
      }),
    ).toEqual({
      ...DEFAULT_MONITORING_HOURS,
      toHour: 3,
    });
  });
});
