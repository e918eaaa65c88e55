/** Formats milliseconds since the epoch as ISO 8601; undefined stays undefined. */
export const instant = (ms: number | undefined): string | undefined =>
  ms === undefined ? undefined : new Date(ms).toISOString();
