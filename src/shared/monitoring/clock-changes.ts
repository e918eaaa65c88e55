/** A clock change of a time zone, in local time. */
export interface ClockChange {
  /** 0 is Sunday. */
  weekday: number;
  dayOfMonth: number;
  /** An hour that is partly skipped or repeated on that day, or an adjacent one. */
  hour: number;
}

export interface ZoneClock {
  /** The zone's distinct offsets from UTC in the years examined, in milliseconds. */
  offsetsMs: readonly number[];
  /** One entry for each hour affected by a change, and for the hours before and after it. */
  changes: readonly ClockChange[];
}

/** Fixed years, so that a zone always leads to the same schedule. */
const FROM = Date.UTC(2026, 0, 1);
const TO = Date.UTC(2056, 0, 1);
/** Shorter than the time between any two changes of a zone (Morocco's, around Ramadan, are five weeks apart). */
const STEP_MS = 7 * 86_400_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const clocks = new Map<string, ZoneClock>();

/** Finds the offsets and clock changes of a time zone from 2026 to 2055. Throws RangeError for an unknown time zone. */
export function zoneClock(timeZone: string): ZoneClock {
  const known = clocks.get(timeZone);
  if (known !== undefined) return known;
  const offsetAt = offsetReader(timeZone);
  const offsets = new Set([offsetAt(FROM)]);
  const changes: ClockChange[] = [];
  for (let at = FROM; at < TO; at += STEP_MS) {
    const [before, after] = [offsetAt(at), offsetAt(at + STEP_MS)];
    if (before === after) continue;
    offsets.add(after);
    changes.push(...hoursTouched(changeBetween(at, at + STEP_MS, offsetAt), before, after));
  }
  const clock = { offsetsMs: [...offsets].sort((a, b) => a - b), changes };
  clocks.set(timeZone, clock);
  return clock;
}

/** Finds the time of a change by bisection, to the minute. */
function changeBetween(from: number, to: number, offsetAt: (at: number) => number): number {
  let [low, high] = [from, to];
  while (high - low > MINUTE_MS) {
    const middle = low + Math.floor((high - low) / 2 / MINUTE_MS) * MINUTE_MS;
    if (offsetAt(middle) === offsetAt(from)) low = middle;
    else high = middle;
  }
  return high;
}

/**
 * Lists the local hours affected by a change, with an hour on either side, because the Temporal server's time zone data may
 * differ from ours: in server 1.32, Cairo's clocks go back an hour too early on 2027-10-28.
 */
function hoursTouched(changeAt: number, before: number, after: number): ClockChange[] {
  const start = changeAt + Math.min(before, after) - HOUR_MS;
  const end = changeAt + Math.max(before, after) + HOUR_MS;
  const touched: ClockChange[] = [];
  for (let hour = Math.floor(start / HOUR_MS) * HOUR_MS; hour < end; hour += HOUR_MS) {
    const local = new Date(hour);
    touched.push({ weekday: local.getUTCDay(), dayOfMonth: local.getUTCDate(), hour: local.getUTCHours() });
  }
  return touched;
}

function offsetReader(timeZone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
    ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
  });
  return (at) => {
    const part = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 1, day, hour, minute, second } = part;
    return Date.UTC(year, month - 1, day, hour, minute, second) - at;
  };
}
