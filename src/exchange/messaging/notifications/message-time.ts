/** Times outside these years are taken as errors; PostgreSQL cannot store some of them. */
const FIRST_YEAR = 1_900;
const LAST_YEAR = 2_199;

/** Milliseconds since the epoch as ISO 8601 in UTC; undefined for NaN and for times outside the accepted years. */
export function messageTime(ms: number): string | undefined {
  if (Number.isNaN(ms)) return undefined;
  const at = new Date(ms);
  const year = at.getUTCFullYear();
  return year >= FIRST_YEAR && year <= LAST_YEAR ? at.toISOString() : undefined;
}

/** Whether a text is a calendar date such as `1980-02-29`, within the accepted years. */
export const isDay = (text: string | undefined): text is string =>
  text !== undefined &&
  /^\d{4}-\d{2}-\d{2}$/.test(text) &&
  messageTime(Date.parse(`${text}T00:00:00Z`))?.startsWith(text) === true;
