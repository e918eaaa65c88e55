/** Whether two texts differ by one typing error: a letter added, left out or replaced, or two neighbours exchanged. */
export function isOneEditApart(left: string, right: string): boolean {
  const [shorter, longer] = left.length <= right.length ? [left, right] : [right, left];
  if (longer.length - shorter.length > 1 || left === right) return false;
  let start = 0;
  while (start < shorter.length && shorter[start] === longer[start]) start += 1;
  const [restShort, restLong] = [shorter.slice(start), longer.slice(start)];
  if (shorter.length < longer.length) return restShort === restLong.slice(1);
  const isExchanged = restShort[0] === restLong[1] && restShort[1] === restLong[0];
  return (
    restShort.slice(1) === restLong.slice(1) || (isExchanged && restShort.slice(2) === restLong.slice(2))
  );
}

/** Whether two full dates (YYYY-MM-DD) differ by one typing error: one digit, two neighbouring digits, or day and month. */
export function isDateMistyped(left: string, right: string): boolean {
  if (!FULL_DATE.test(left) || !FULL_DATE.test(right) || left === right) return false;
  const [digits, others] = [left.replaceAll('-', ''), right.replaceAll('-', '')];
  const [year, month, day] = left.split('-');
  return isOneEditApart(digits, others) || right === `${year}-${day}-${month}`;
}

const FULL_DATE = /^\d{4}-\d{2}-\d{2}$/;

/** Every date from 1850 to 2150 for which `isDateMistyped` is true of a full date. */
export function mistypedDates(date: string): string[] {
  const digits = [...date.replaceAll('-', '')];
  const dated = (all: readonly string[]) => all.join('').replace(/^(\d{4})(\d{2})(\d{2})$/, '$1-$2-$3');
  const [year, month, day] = date.split('-');
  const variants = [
    ...digits.flatMap((_, place) => DIGITS.map((digit) => dated(digits.toSpliced(place, 1, digit)))),
    ...digits.map((digit, place) => dated(digits.toSpliced(place, 2, digits[place + 1] ?? '', digit))),
    `${year}-${day}-${month}`,
  ];
  return [...new Set(variants)].filter((variant) => isDateMistyped(date, variant) && isDate(variant));
}

const DIGITS = [...'0123456789'];

/** Whether the calendar has this day, in years in which people are born. (PostgreSQL has no year 0.) */
const isDate = (text: string): boolean => {
  const date = new Date(`${text}T00:00:00Z`);
  const isDay = !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
  return isDay && text >= '1850' && text < '2151';
};
