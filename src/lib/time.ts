import { z } from 'zod';

/**
 * An instant for people, in the one time zone that all output uses: `2026-11-22
 * 09:52 UTC`.
 */
export const minuteOf = (instant: string | Date): string =>
  `${new Date(instant).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

/**
 * An instant as ISO 8601 for a table whose head names the zone, UTC:
 * `2026-11-22 09:52:21`. Empty without one.
 */
export const utcCell = (instant: string | Date | null | undefined): string =>
  instant == null || instant === ''
    ? ''
    : new Date(instant).toISOString().slice(0, 19).replace('T', ' ');

/**
 * Whether the platform knows this IANA time zone, for example
 * `America/New_York`.
 */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/**
 * Reads the offset of a time zone from UTC at an instant, in milliseconds.
 * `Intl` says it as `GMT-05:00`.
 */
export function offsetReader(timeZone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    timeZoneName: 'longOffset',
  });
  return (at) => {
    const [, sign, hours, minutes] =
      /([+-])(\d{2}):(\d{2})/.exec(format.format(at)) ?? [];
    return (
      (sign === '-' ? -60_000 : 60_000) *
      (Number(hours ?? 0) * 60 + Number(minutes ?? 0))
    );
  };
}

const TIME = { offset: true, local: true };
/** Seconds may be left out: `precision: -1`. */
const DAY_OR_TIME = z.union([
  z.iso.date(),
  z.iso.datetime(TIME),
  z.iso.datetime({ ...TIME, precision: -1 }),
]);

/**
 * An ISO 8601 day (its start in UTC) or time (without an offset: local);
 * undefined for any other text, such as 2026-02-30.
 */
export const instantIn = (text: string): Date | undefined =>
  DAY_OR_TIME.safeParse(text).success ? new Date(text) : undefined;
