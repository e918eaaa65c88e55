/*
 * Times as HL7 writes them: digits of falling size, `YYYY` to
 * `YYYYMMDDHHMMSS.sss`, and perhaps an offset. IHE's own times are UTC and have
 * none (ITI TF-3 4.2.3.1.7); gateways send offsets all the same.
 */

/** What can be told from a time as a message wrote it. */
export interface Hl7Time {
  /** As the message has it, without outer space. */
  readonly written: string;

  /**
   * `YYYY`, `YYYY-MM` or `YYYY-MM-DD`, by the digits as written: an offset never
   * moves it. Undefined if the digits are no date.
   */
  readonly date: string | undefined;

  /**
   * ISO 8601 in UTC, if the time has at least hours. Without an offset it is
   * taken as UTC. Undefined for a date alone, and for what is no time.
   */
  readonly instant: string | undefined;
}

const HL7_TIME =
  /^(\d{4})(?:(\d{2})(?:(\d{2})(?:(\d{2})(?:(\d{2})(?:(\d{2})(?:\.(\d{1,9}))?)?)?)?)?)?(Z|[+-]\d{2}:?\d{2})?$/;

/**
 * Reads a time of HL7. Digits that do not come to a time (13 of them, the month
 * 97) leave `date` and `instant` undefined: nothing is guessed.
 */
export function readHl7Time(text: string): Hl7Time {
  const written = text.trim();
  const match = written.match(HL7_TIME);
  const date = match === null ? undefined : dateOfDigits(match);

  if (match === null || date === undefined) {
    return { written, date: undefined, instant: undefined };
  }

  return { written, date, instant: instantOfDigits(match, date) };
}

/**
 * The date of birth that a birth time states: its digits, whatever the offset.
 * Somebody born on 4 August at 23:30 -0500 was born on 4 August.
 */
export function birthDateOfHl7(text: string): string | undefined {
  return readHl7Time(text).date;
}

/** An instant as IHE writes it: UTC, to the second, without an offset. */
export function writeHl7Time(instant: Date): string {
  return instant.toISOString().replace(/[-:T]/g, '').slice(0, 14);
}

/** `YYYY-MM-DD`, `YYYY-MM` or `YYYY` as HL7 digits. */
export function writeHl7Date(date: string): string {
  return date.replaceAll('-', '');
}

/** The date that the digits state, or undefined if the calendar has none. */
function dateOfDigits(match: RegExpMatchArray): string | undefined {
  const [, year = '', month, day] = match;

  if (month === undefined) return year;
  if (Number(month) < 1 || Number(month) > 12) return undefined;
  if (day === undefined) return `${year}-${month}`;

  const lastOfMonth = new Date(Date.UTC(Number(year), Number(month), 0));
  const isDay = Number(day) >= 1 && Number(day) <= lastOfMonth.getUTCDate();

  return isDay ? `${year}-${month}-${day}` : undefined;
}

/** The instant of the digits; `date` is their date. */
function instantOfDigits(
  match: RegExpMatchArray,
  date: string,
): string | undefined {
  const [, , , , hours, minutes = '00', seconds = '00', fraction, zone] = match;

  if (hours === undefined) return undefined;

  const milliseconds = (fraction ?? '').slice(0, 3).padEnd(3, '0');
  const offset =
    zone === undefined
      ? 'Z'
      : zone.replace(/(\d{2})$/, ':$1').replace('::', ':');
  const instant = new Date(
    `${date}T${hours}:${minutes}:${seconds}.${milliseconds}${offset}`,
  );

  return Number.isNaN(instant.getTime()) ? undefined : instant.toISOString();
}
