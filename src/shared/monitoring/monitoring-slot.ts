import { createHash } from 'node:crypto';
import { z } from 'zod';
import type {
  MonitoringFrequency,
  MonitoringKind,
} from '../../contract/cohort-monitoring.ts';
import { isTimeZone, offsetReader } from '../../lib/time.ts';

/** The hours in which scheduled monitoring may start, in a time zone. */
export interface MonitoringHours {
  /** IANA name. */
  timeZone: string;
  /** 0–23. */
  fromHour: number;
  /**
   * 0–24, exclusive. If not above `fromHour`, it is on the next day: 22 to 4 is
   * the night, 0 to 0 the whole day.
   */
  toHour: number;
}

export const DEFAULT_MONITORING_HOURS: MonitoringHours = {
  timeZone: 'America/New_York',
  fromHour: 1,
  toHour: 5,
};

/**
 * Parses the hours in an account's settings; missing or invalid members get
 * their default.
 */
export const monitoringHoursSchema = z.object({
  timeZone: z
    .string()
    .refine(isTimeZone)
    .catch(DEFAULT_MONITORING_HOURS.timeZone),
  fromHour: z
    .number()
    .int()
    .min(0)
    .max(23)
    .catch(DEFAULT_MONITORING_HOURS.fromHour),
  toHour: z
    .number()
    .int()
    .min(0)
    .max(24)
    .catch(DEFAULT_MONITORING_HOURS.toHour),
});

/**
 * A run starts up to this long after its minute, so minutes are chosen early
 * enough to stay within the hour.
 */
export const JITTER_MINUTES = 10;

/** When one monitoring of a cohort runs, in local time. */
export interface MonitoringSlot {
  /**
   * Weekly and biweekly: local days since 1970-01-01, modulo 7 or 14. Monthly:
   * day of the month, 1–28, which every month has.
   */
  day: number;
  hour: number;
  minute: number;
}

/**
 * Chooses the slot of a cohort's monitoring: deterministic for the cohort and
 * the hours, and spread over all allowed days and hours. Avoids hours that a
 * clock change skips or repeats on such a day, because Temporal would skip or
 * repeat the run; uses them only if no other hours are allowed.
 */
export function monitoringSlot(
  cohortId: string,
  kind: MonitoringKind,
  frequency: MonitoringFrequency,
  hours: MonitoringHours,
): MonitoringSlot {
  const { changes } = zoneClock(hours.timeZone);
  const all = DAYS[frequency].flatMap((day) =>
    hoursOf(hours).map((hour) => ({ day, hour })),
  );
  const safe = all.filter(
    ({ day, hour }) =>
      !changes.some(
        (change) => change.hour === hour && isOnDay(change, day, frequency),
      ),
  );
  const slots = safe.length > 0 ? safe : all;
  const digest = createHash('sha256').update(`${cohortId}/${kind}`).digest();
  const { day, hour } = slots[digest.readUInt32BE(0) % slots.length] ?? {
    day: 1,
    hour: hours.fromHour,
  };
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

function isOnDay(
  change: ClockChange,
  day: number,
  frequency: MonitoringFrequency,
): boolean {
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

/** A clock change of a time zone, in local time. */
interface ClockChange {
  /** 0 is Sunday. */
  weekday: number;
  dayOfMonth: number;
  /**
   * An hour that is partly skipped or repeated on that day, or an adjacent one.
   */
  hour: number;
}

interface ZoneClock {
  /**
   * The zone's distinct offsets from UTC in the years examined, in
   * milliseconds.
   */
  offsetsMs: readonly number[];
  /**
   * One entry for each hour affected by a change, and for the hours before and
   * after it.
   */
  changes: readonly ClockChange[];
}

/** Fixed years, so that a zone always leads to the same schedule. */
const FROM = Date.UTC(2026, 0, 1);
const TO = Date.UTC(2056, 0, 1);
/**
 * Shorter than the time between any two changes of a zone (Morocco's, around
 * Ramadan, are five weeks apart).
 */
const STEP_MS = 7 * 86_400_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const clocks = new Map<string, ZoneClock>();

/**
 * Finds the offsets and clock changes of a time zone from 2026 to 2055. Throws
 * RangeError for an unknown time zone.
 */
export function zoneClock(timeZone: string): ZoneClock {
  const known = clocks.get(timeZone);
  if (known !== undefined) return known;
  const offsetAt = offsetReader(timeZone);
  const offsets = new Set([offsetAt(FROM)]);
  const changes: ClockChange[] = [];
  for (let at = FROM; at < TO; at += STEP_MS) {
    const before = offsetAt(at);
    const after = offsetAt(at + STEP_MS);
    if (before === after) continue;
    offsets.add(after);
    changes.push(
      ...hoursTouched(changeBetween(at, at + STEP_MS, offsetAt), before, after),
    );
  }
  const clock = { offsetsMs: [...offsets].sort((a, b) => a - b), changes };
  clocks.set(timeZone, clock);
  return clock;
}

/** Finds the time of a change by bisection, to the minute. */
function changeBetween(
  from: number,
  to: number,
  offsetAt: (at: number) => number,
): number {
  let low = from;
  let high = to;
  while (high - low > MINUTE_MS) {
    const middle = low + Math.floor((high - low) / 2 / MINUTE_MS) * MINUTE_MS;
    if (offsetAt(middle) === offsetAt(from)) low = middle;
    else high = middle;
  }
  return high;
}

/**
 * Lists the local hours affected by a change, with an hour on either side,
 * because the Temporal server's time zone data may differ from ours: in server
 * 1.32, Cairo's clocks go back an hour too early on 2027-10-28.
 */
function hoursTouched(
  changeAt: number,
  before: number,
  after: number,
): ClockChange[] {
  const start = changeAt + Math.min(before, after) - HOUR_MS;
  const end = changeAt + Math.max(before, after) + HOUR_MS;
  const touched: ClockChange[] = [];
  for (
    let hour = Math.floor(start / HOUR_MS) * HOUR_MS;
    hour < end;
    hour += HOUR_MS
  ) {
    const local = new Date(hour);
    touched.push({
      weekday: local.getUTCDay(),
      dayOfMonth: local.getUTCDate(),
      hour: local.getUTCHours(),
    });
  }
  return touched;
}
