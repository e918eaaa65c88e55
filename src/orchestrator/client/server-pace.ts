import { boundedRetryAfterMs } from './failures.ts';

/** What the headers of a response say about the service's rate limits. */
export interface ServerPace {
  /**
   * The response repeats that of an earlier call with the same idempotency key.
   */
  isReplay?: boolean;
  /** From `Retry-After`. */
  retryAfterMs?: number;
  /**
   * The caller's remaining requests and when they are reset. Undefined when the
   * headers are missing.
   */
  requests?: { remaining: number; resetMs: number; limit?: number };
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Reads `Retry-After`, and `RateLimit` with `RateLimit-Policy`
 * (draft-ietf-httpapi-ratelimit-headers) or the separate `RateLimit-Remaining`,
 * `-Reset` and `-Limit` of its earlier drafts. Ignores headers that it cannot
 * parse.
 */
export function serverPace(headers: Headers, nowMs: number): ServerPace {
  const retryAfterMs = boundedRetryAfterMs(
    first(headers['retry-after']),
    nowMs,
  );
  const requests = fromItem(headers) ?? fromMembers(headers);
  return {
    ...(first(headers['idempotent-replayed']) === 'true'
      ? { isReplay: true }
      : {}),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(requests && { requests }),
  };
}

/** Parses `"requests";r=1100;t=42` with the policy `"requests";q=1200;w=60`. */
function fromItem(headers: Headers): ServerPace['requests'] {
  const state = first(headers.ratelimit);
  const remaining = parameter(state, 'r');
  const resetSeconds = parameter(state, 't');
  if (remaining === undefined || resetSeconds === undefined) return undefined;
  return requestsOf(
    remaining,
    resetSeconds,
    parameter(first(headers['ratelimit-policy']), 'q'),
  );
}

function fromMembers(headers: Headers): ServerPace['requests'] {
  const remaining = whole(first(headers['ratelimit-remaining']));
  const resetSeconds = whole(first(headers['ratelimit-reset']));
  if (remaining === undefined || resetSeconds === undefined) return undefined;
  return requestsOf(
    remaining,
    resetSeconds,
    whole(first(headers['ratelimit-limit'])),
  );
}

const requestsOf = (
  remaining: number,
  resetSeconds: number,
  limit: number | undefined,
) => ({
  remaining,
  resetMs: resetSeconds * 1000,
  ...(limit === undefined ? {} : { limit }),
});

const parameter = (
  item: string | undefined,
  name: string,
): number | undefined =>
  whole(new RegExp(`;\\s*${name}=(\\d+)`).exec(item ?? '')?.[1]);

const whole = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,9}$/.test(text.trim())
    ? Number(text)
    : undefined;

const first = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;
