/** @type {Record<string, string>} */
export const SOURCE_NAMES = { hie: 'Health networks', pharmacy: 'Pharmacies', lab: 'Laboratories' };

/** @param {string} source */
export const sourceName = (source) => SOURCE_NAMES[source] ?? source;

// As the summary of the record writes its days: day, month by name, year. Nobody takes one for the other.
const DAY = /** @type {const} */ ({ day: 'numeric', month: 'short', year: 'numeric' });
const CLOCK = /** @type {const} */ ({ hour: '2-digit', minute: '2-digit' });
const time = new Intl.DateTimeFormat('en-GB', { ...DAY, ...CLOCK });
const clock = new Intl.DateTimeFormat('en-GB', CLOCK);
const day = new Intl.DateTimeFormat('en-GB', { ...DAY, timeZone: 'UTC' });

/** @param {string} instant ISO 8601 */
export const timeText = (instant) => time.format(new Date(instant));
/** @param {Date} instant */
export const clockText = (instant) => clock.format(instant);

/** A day as it was written, whatever the time zone of the reader. @param {string | undefined} text */
export function dayText(text) {
  const found = /^\d{4}-\d{2}-\d{2}/.exec(text ?? '')?.[0];
  return found === undefined ? '' : day.format(new Date(`${found}T00:00:00Z`));
}

/** In whole years. @param {string} dob YYYY-MM-DD @param {Date} now */
export function ageOn(dob, now) {
  const [year = 0, month = 0, dayOfMonth = 0] = dob.split('-').map(Number);
  const hadBirthday =
    now.getMonth() + 1 > month || (now.getMonth() + 1 === month && now.getDate() >= dayOfMonth);
  return now.getFullYear() - year - (hadBirthday ? 0 : 1);
}

/** @param {number} count @param {string} one @param {string} [many] */
export const counted = (count, one, many = `${one}s`) =>
  `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;

/** @param {number} bytes */
export function sizeText(bytes) {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
