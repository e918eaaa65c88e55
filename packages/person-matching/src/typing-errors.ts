import { distance } from 'fastest-levenshtein';

/**
 * Whether two texts differ by one typing error: a letter added, left out or
 * replaced, or two neighbours exchanged.
 */
export const isOneEditApart = (left: string, right: string): boolean =>
  distance(left, right) <= 2 && editsApart(left, right) === 1;

/**
 * Whether two texts differ only by neighbouring letters that are exchanged,
 * once or several times: an error of typing that no two names are apart by,
 * from four letters on.
 */
export function isSlipped(left: string, right: string): boolean {
  if (
    left.length !== right.length ||
    left.length < SLIPPED_FROM_LETTERS ||
    left === right
  )
    return false;
  for (let at = 0; at < left.length; at += 1) {
    if (left[at] === right[at]) continue;
    if (left[at] !== right[at + 1] || left[at + 1] !== right[at]) return false;
    at += 1;
  }
  return true;
}
const SLIPPED_FROM_LETTERS = 4;

/**
 * Whether two full dates (YYYY-MM-DD) differ by one typing error: one digit,
 * two neighbouring digits, day and month, or one day.
 */
export function isDateMistyped(left: string, right: string): boolean {
  if (!FULL_DATE.test(left) || !FULL_DATE.test(right) || left === right)
    return false;
  const digits = left.replaceAll('-', '');
  const others = right.replaceAll('-', '');
  const [year, month, day] = left.split('-');
  return (
    isOneEditApart(digits, others) ||
    right === `${year}-${day}-${month}` ||
    dayGap(left, right) === 1
  );
}

/**
 * Whether two full dates are close: within three days, the same year and month
 * or day, or the same day up to two years apart. Two members of one family
 * hardly have such dates and the same name; one person whose date was misread
 * has.
 */
export function isDateClose(left: string, right: string): boolean {
  if (!FULL_DATE.test(left) || !FULL_DATE.test(right) || left === right)
    return false;
  const [year = 0, month, day] = left.split('-').map(Number);
  const [otherYear = 0, otherMonth, otherDay] = right.split('-').map(Number);
  const sameMonth = month === otherMonth;
  const sameDay = day === otherDay;
  if (year === otherYear && (sameMonth || sameDay)) return true;
  return (
    (sameMonth && sameDay && Math.abs(year - otherYear) <= 2) ||
    dayGap(left, right) <= 3
  );
}

/**
 * One day apart is also the day of the other time zone, or of before and after
 * midnight.
 */
const dayGap = (left: string, right: string): number =>
  Math.abs(Date.parse(left) - Date.parse(right)) / 86_400_000;

const FULL_DATE = /^\d{4}-\d{2}-\d{2}$/;

/**
 * Every date from 1850 to 2150 for which `isDateMistyped` is true of a full
 * date. Works on the eight digits as a number, because it runs for each patient
 * who is created.
 */
export function mistypedDates(date: string): string[] {
  const [year = 0, month = 0, day = 0] = date.split('-').map(Number);
  const number = numberOf(year, month, day);
  const variants = new Set([numberOf(year, day, month)]);
  for (let unit = 1; unit <= FIRST_DIGIT; unit *= 10) {
    const digit = Math.floor(number / unit) % 10;
    for (let other = 0; other <= 9; other += 1)
      variants.add(number + (other - digit) * unit);
    const before = Math.floor(number / (unit * 10)) % 10;
    if (unit < FIRST_DIGIT)
      variants.add(
        number + (before - digit) * unit + (digit - before) * unit * 10,
      );
  }
  for (const days of [-1, 1]) {
    const next = new Date(Date.UTC(year, month - 1, day + days));
    variants.add(
      numberOf(
        next.getUTCFullYear(),
        next.getUTCMonth() + 1,
        next.getUTCDate(),
      ),
    );
  }
  variants.delete(number);
  return [...variants].filter(isDay).map(dateOf);
}

const FIRST_DIGIT = 10_000_000;
const numberOf = (year: number, month: number, day: number): number =>
  year * 10_000 + month * 100 + day;
const dateOf = (number: number): string =>
  `${Math.floor(number / 10_000)}-${twoDigits(Math.floor(number / 100) % 100)}-${twoDigits(number % 100)}`;
const twoDigits = (number: number): string =>
  number < 10 ? `0${number}` : String(number);

/**
 * Whether the calendar has this day, in years in which people are born.
 * (PostgreSQL has no year 0.)
 */
function isDay(number: number): boolean {
  const year = Math.floor(number / 10_000);
  const month = Math.floor(number / 100) % 100;
  const day = number % 100;
  if (year < 1850 || year > 2150 || month < 1 || month > 12) return false;
  return new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day;
}

/**
 * The number of typing errors between two texts: letters added, left out or
 * replaced, and neighbours exchanged.
 */
export function editsApart(left: string, right: string): number {
  let before = [] as number[];
  let last = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const next = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const isSame = left[row - 1] === right[column - 1];
      const isExchanged =
        left[row - 1] === right[column - 2] &&
        left[row - 2] === right[column - 1];
      next.push(
        Math.min(
          (next[column - 1] ?? 0) + 1,
          (last[column] ?? 0) + 1,
          (last[column - 1] ?? 0) + (isSame ? 0 : 1),
          isExchanged
            ? (before[column - 2] ?? 0) + 1
            : Number.POSITIVE_INFINITY,
        ),
      );
    }
    [before, last] = [last, next];
  }
  return last[right.length] ?? 0;
}
