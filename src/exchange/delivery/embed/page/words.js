/** As the summary names them. @type {Record<string, string>} */
export const SOURCE_NAMES = {
  hie: 'HIE',
  pharmacy: 'Pharmacy',
  lab: 'Laboratory',
  message: 'Messages',
};

/** @param {string} source */
export const sourceName = (source) => SOURCE_NAMES[source] ?? source;

// Dates are written as in the summary: day, month name, year, which cannot be misread. Formatted here, because browsers
// differ ("Sept").
const MONTHS = [
  'Jan',
  'Feb',
  'Mar',
  'Apr',
  'May',
  'Jun',
  'Jul',
  'Aug',
  'Sep',
  'Oct',
  'Nov',
  'Dec',
];
const two = (/** @type {number} */ number) => String(number).padStart(2, '0');

/** Hours and minutes in the reader's time zone. @param {Date} instant */
export const clockText = (instant) =>
  `${two(instant.getHours())}:${two(instant.getMinutes())}`;

/** Day and time in the reader's time zone. @param {string} instant ISO 8601 */
export function timeText(instant) {
  const time = new Date(instant);
  return `${time.getDate()} ${MONTHS[time.getMonth()]} ${time.getFullYear()}, ${clockText(time)}`;
}

/** Only the time if it is on the same day as the reference. @param {string} instant @param {string} reference both ISO 8601 */
export function timeAfter(instant, reference) {
  const time = new Date(instant);
  return time.toDateString() === new Date(reference).toDateString()
    ? clockText(time)
    : timeText(instant);
}

/** A day as written, independent of the reader's time zone. @param {string | undefined} text */
export function dayText(text) {
  const [, year, month, day] =
    /^(\d{4})-(\d{2})-(\d{2})/.exec(text ?? '') ?? [];
  return year === undefined
    ? ''
    : `${Number(day)} ${MONTHS[Number(month) - 1]} ${year}`;
}

/** @param {number} count @param {string} one @param {string} [many] */
export const counted = (count, one, many = `${one}s`) =>
  `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;

/** @param {number} bytes */
export function sizeText(bytes) {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000
    ? `${Math.round(bytes / 1_000)} kB`
    : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
