/**
 * Parses a Retry-After header (seconds or an HTTP date, RFC 9110) to
 * milliseconds, at most `maxMs`. Returns undefined when the header is missing
 * or invalid.
 */
export function retryAfterMs(
  header: string | string[] | undefined,
  now = Date.now(),
  maxMs = Number.POSITIVE_INFINITY,
): number | undefined {
  const value = Array.isArray(header) ? header[0] : header;
  if (value === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(value.trim()))
    return Math.min(Math.round(Number(value) * 1_000), maxMs);
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.min(Math.max(0, at - now), maxMs);
}
