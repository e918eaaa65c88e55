import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { MonitoringFrequency, MonitoringKind } from '../../contract/cohort-monitoring.ts';
import { isTimeZone } from '../../lib/time-zone.ts';
import { type ClockChange, zoneClock } from './clock-changes.ts';

/** The hours in which scheduled monitoring may start, in a time zone. */
export interface MonitoringHours {
  /** IANA name. */
  timeZone: string;
  /** 0–23. */
  fromHour: number;
  /** 0–24, exclusive. If not above `fromHour`, it is on the next day: 22 to 4 is the night, 0 to 0 the whole day. */
  toHour: number;
}

export const DEFAULT_MONITORING_HOURS: MonitoringHours = {
  timeZone: 'America/New_York',
  fromHour: 1,
  toHour: 5,
};

/** Parses the hours in an account's settings; missing or invalid members get their default. */
export const monitoringHoursSchema = z.object({
  timeZone: z.string().refine(isTimeZone).catch(DEFAULT_MONITORING_HOURS.timeZone),
  fromHour: z.number().int().min(0).max(23).catch(DEFAULT_MONITORING_HOURS.fromHour),
  toHour: z.number().int().min(0).max(24).catch(DEFAULT_MONITORING_HOURS.toHour),
});

/** A run starts up to this long after its minute, so minutes are chosen early enough to stay within the hour. */
export const JITTER_MINUTES = 10;

/** When one monitoring of a cohort runs, in local time. */
export interface MonitoringSlot {
  /**
   * Weekly and biweekly: local days since 1970-01-01, modulo 7 or 14. Monthly: day of the month, 1–28, which every month
   * has.
   */
  day: number;
  hour: number;
  minute: number;
}

/**
 * Chooses the slot of a cohort's monitoring: deterministic for the cohort and the hours, and spread over all allowed days
 * and hours. Avoids hours that a clock change skips or repeats on such a day, because Temporal would skip or repeat the run;
 * uses them only if no other hours are allowed.
 */
export function monitoringSlot(
  cohortId: string,
  kind: MonitoringKind,
  frequency: MonitoringFrequency,
  hours: MonitoringHours,
): MonitoringSlot {
  const { changes } = zoneClock(hours.timeZone);
  const all = DAYS[frequency].flatMap((day) => hoursOf(hours).map((hour) => ({ day, hour })));
  const safe = all.filter(
    ({ day, hour }) => !changes.some((change) => change.hour === hour && isOnDay(change, day, frequency)),
  );
  const slots = safe.length > 0 ? safe : all;
  const digest = createHash('sha256').update(`${cohortId}/${kind}`).digest();
  const { day, hour } = slots[digest.readUInt32BE(0) % slots.length] ?? { day: 1, hour: hours.fromHour };
  return { day, hour, minute: digest.readUInt32BE(4) % (60 - JITTER_MINUTES) };
}

const upTo = (count: number, first = 0): number[] =>
  Array.from({ length: count }, (_, index) => first + index);

const DAYS: Readonly<Record<MonitoringFrequency, readonly number[]>> = {
  weekly: upTo(7),
  biweekly: upTo(14),
  monthly: upTo(28, 1),
};

/** 1970-01-01 was a Thursday. 0 is Sunday. */
const weekdayOf = (daysSinceEpoch: number): number => (daysSinceEpoch + 4) % 7;

function isOnDay(change: ClockChange, day: number, frequency: MonitoringFrequency): boolean {
  switch (frequency) {
    case 'weekly':
    case 'biweekly':
      return change.weekday === weekdayOf(day);
    case 'monthly':
      return change.dayOfMonth === day;
  }
}

function hoursOf({ fromHour, toHour }: MonitoringHours): number[] {
  const length = toHour > fromHour ? toHour - fromHour : 24 - fromHour + toHour;
  return upTo(length, fromHour).map((hour) => hour % 24);
}
