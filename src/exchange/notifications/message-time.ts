/** Nothing a sender tells of happened or will happen outside of these years; a database cannot hold some of them. */
const FIRST_YEAR = 1_900;
const LAST_YEAR = 2_199;

/** Milliseconds since the epoch as ISO 8601 in UTC; undefined for what can be no time of a message. */
export function messageTime(ms: number): string | undefined {
  if (Number.isNaN(ms)) return undefined;
  const at = new Date(ms);
  const year = at.getUTCFullYear();
  return year >= FIRST_YEAR && year <= LAST_YEAR ? at.toISOString() : undefined;
}

/** Whether it is a day of the calendar, as `1980-02-29`, in those years. */
export const isDay = (text: string | undefined): text is string =>
  text !== undefined &&
  /^\d{4}-\d{2}-\d{2}$/.test(text) &&
  messageTime(Date.parse(`${text}T00:00:00Z`))?.startsWith(text) === true;
