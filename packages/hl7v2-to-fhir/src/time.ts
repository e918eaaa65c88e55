/** How the times of one message are read. */
export interface TimeReading {
  /** IANA time zone of the sender, for times without an offset. */
  zone: string;
  /**
   * Offset of MSH-7, such as `+0500`; it applies to all times of the message
   * without their own offset.
   */
  offset?: string;
}

const TIME =
  /^(\d{4})(\d{2})(\d{2})(?:(\d{2})(?:(\d{2})(?:(\d{2})(?:\.(\d{1,4}))?)?)?)?([+-](?:0\d|1[0-4])[0-5]\d)?$/;

/**
 * An HL7 time (`YYYYMMDD[HH[MM[SS[.S]]]][+ZZZZ]`) as ISO 8601 in UTC; undefined
 * for anything else, as a zone that there is not.
 */
export const parseHl7Time = (
  text: string | undefined,
  reading: TimeReading,
): string | undefined => readTime(text, reading)?.at;

/**
 * The same with the sender's offset: its day is the one that the sender wrote,
 * and in the evening not that of UTC.
 */
export function localTime(
  text: string | undefined,
  reading: TimeReading,
): string | undefined {
  const { at, offsetMs = 0 } = readTime(text, reading) ?? {};
  if (at === undefined || offsetMs === 0) return at;
  const local = new Date(Date.parse(at) + offsetMs).toISOString();
  const offset = new Date(Math.abs(offsetMs)).toISOString().slice(11, 16);
  return local.replace('Z', `${offsetMs < 0 ? '-' : '+'}${offset}`);
}

function readTime(text: string | undefined, reading: TimeReading) {
  const match = TIME.exec(text ?? '');
  if (match === null) return undefined;
  const [
    ,
    year,
    month,
    day,
    hour = '00',
    minute = '00',
    second = '00',
    fraction = '',
    offset,
  ] = match;
  const milliseconds = fraction.padEnd(3, '0').slice(0, 3);
  const wall = `${year}-${month}-${day}T${hour}:${minute}:${second}.${milliseconds}`;
  const asUtcMs = Date.parse(`${wall}Z`);
  // Date.parse accepts 31 February and returns a day in March.
  if (
    Number.isNaN(asUtcMs) ||
    !new Date(asUtcMs).toISOString().startsWith(wall)
  )
    return undefined;
  const given = offset ?? reading.offset;
  const offsetMs =
    given === undefined
      ? zoneOffsetMs(reading.zone, asUtcMs)
      : parseOffset(given);
  return { at: messageTime(asUtcMs - offsetMs), offsetMs };
}

/**
 * An HL7 time in FHIR's form, as precise as it is: `2026`, `2026-11`,
 * `2026-11-20`, or a time with the sender's offset.
 */
export function hl7TimeInFhir(
  text: string | undefined,
  reading: TimeReading,
): string | undefined {
  const day = /^(\d{4})(?:(0[1-9]|1[0-2])(\d{2})?)?$/.exec(text ?? '');
  if (day === null) return localTime(text, reading);
  const [, year, month, date] = day;
  if (date !== undefined && parseHl7Time(text, { zone: 'UTC' }) === undefined)
    return undefined;
  return [year, month, date].filter((part) => part !== undefined).join('-');
}

export const hl7Offset = (text: string | undefined): string | undefined =>
  TIME.exec(text ?? '')?.[8];

/** `YYYYMMDD…` as a date `YYYY-MM-DD`; undefined for anything else. */
export function parseHl7Date(text: string | undefined): string | undefined {
  const match = /^(\d{4})(\d{2})(\d{2})/.exec(text ?? '');
  return match === null ? undefined : `${match[1]}-${match[2]}-${match[3]}`;
}

function parseOffset(offset: string): number {
  const sign = offset.startsWith('-') ? -1 : 1;
  return (
    sign *
    (Number(offset.slice(1, 3)) * 60 + Number(offset.slice(3, 5))) *
    60_000
  );
}

/**
 * The offset of a zone from UTC, in milliseconds, at this local time. A local
 * time that occurs twice in autumn is taken as the first; one skipped in spring
 * is read with the offset before the change.
 */
function zoneOffsetMs(zone: string, wallAsUtcMs: number): number {
  const offsetAt = offsetReader(zone);
  const before = offsetAt(wallAsUtcMs - 86_400_000);
  const after = offsetAt(wallAsUtcMs + 86_400_000);
  const isAfter =
    offsetAt(wallAsUtcMs - before) !== before &&
    offsetAt(wallAsUtcMs - after) === after;
  return isAfter ? after : before;
}

/**
 * Reads the offset of a time zone from UTC at an instant, in milliseconds.
 * `Intl` says it as `GMT-05:00`.
 */
function offsetReader(timeZone: string): (at: number) => number {
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

/**
 * Times outside these years are taken as errors; PostgreSQL cannot store some
 * of them.
 */
const FIRST_YEAR = 1_900;
const LAST_YEAR = 2_199;

/**
 * Milliseconds since the epoch as ISO 8601 in UTC; undefined for NaN and for
 * times outside the accepted years.
 */
export function messageTime(ms: number): string | undefined {
  if (Number.isNaN(ms)) return undefined;
  const at = new Date(ms);
  const year = at.getUTCFullYear();
  return year >= FIRST_YEAR && year <= LAST_YEAR ? at.toISOString() : undefined;
}
