/** An instant for people, in the one time zone that all output uses: `2026-11-22 09:52 UTC`. */
export const minuteOf = (instant: Date): string =>
  `${instant.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
