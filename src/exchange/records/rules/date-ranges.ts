import { moment } from './dates.ts';
import { textOf } from './json.ts';

/** The time that a FHIR date stands for: 2024-05 stands for all of May. */
export interface DateRange {
  /** Instants in UTC, to the millisecond. */
  from: string;
  to: string;
  /** Days as written, without regard to a time zone. */
  firstDay: string;
  lastDay: string;
}

export const EARLIEST = { from: '0000-01-01T00:00:00.000Z', firstDay: '0000-01-01' };
export const LATEST = { to: '9999-12-31T23:59:59.999Z', lastDay: '9999-12-31' };

const TIME = /T\d{2}:\d{2}(:\d{2}(\.\d+)?)?/;

/** Undefined when the value is not a date. */
export function rangeOf(value: unknown): DateRange | undefined {
  const text = textOf(value);
  const instant = moment(text);
  if (text === undefined || instant === undefined) return undefined;
  const firstDay = `${text.slice(0, 10)}${'-01-01'.slice(text.slice(0, 10).length - 4)}`;
  const time = TIME.exec(text);
  if (time === null) {
    const lastDay = lastDayOf(text);
    return { from: `${firstDay}T00:00:00.000Z`, to: `${lastDay}T23:59:59.999Z`, firstDay, lastDay };
  }
  const [whole, seconds, fraction] = time;
  // A whole second, as most times are: its instant is known already.
  if (seconds !== undefined && fraction === undefined) {
    const second = instant.slice(0, 19);
    return { from: `${second}.000Z`, to: `${second}.999Z`, firstDay, lastDay: firstDay };
  }
  const zone = text.slice(10 + whole.length) || 'Z';
  const at = Date.parse(`${firstDay}${seconds === undefined ? `${whole}:00` : whole}${zone}`);
  if (Number.isNaN(at)) return undefined;
  const lengthMs = seconds === undefined ? 60_000 : fraction === undefined ? 1_000 : 1;
  const [from, to] = [at, at + lengthMs - 1].map((ms) => new Date(ms).toISOString());
  // A zone may move a time out of the years 0000 to 9999, which sort as text.
  if (from?.length !== 24 || to?.length !== 24) return undefined;
  return { from, to, firstDay, lastDay: firstDay };
}

function lastDayOf(date: string): string {
  if (date.length === 4) return `${date}-12-31`;
  if (date.length > 7) return date;
  return new Date(Date.UTC(Number(date.slice(0, 4)), Number(date.slice(5, 7)), 0)).toISOString().slice(0, 10);
}
