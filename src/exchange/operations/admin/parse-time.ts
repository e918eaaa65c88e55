import { AdminError } from './command.ts';

/** Parses an option with an ISO 8601 date (UTC) or time. Throws AdminError. */
export function parseTime(option: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const time = /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return new Date(time);
  throw new AdminError(
    `${option} "${text}" is not a time; expected 2026-11-21 (UTC) or 2026-11-21T12:00:00Z`,
  );
}
