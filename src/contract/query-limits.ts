/** Network queries per account, source and minute, unless the account has its own (interface-decisions.md, Limits). */
export const NETWORK_QUERIES_PER_MINUTE = 120;

/** What sweeps and monitoring leave to people who wait for an answer (design: at most 80 % of a limit). */
const BACKGROUND_SHARE = 0.8;

/** How many queries of a source may have been started in a minute, by whomever, for a background one to start too. */
export const backgroundLimit = (queriesPerMinute: number): number =>
  Math.min(queriesPerMinute, Math.max(1, Math.floor(queriesPerMinute * BACKGROUND_SHARE)));

/** The header `priority` of a request that nobody waits for (RFC 9218, urgency 5 to 7). */
export const BACKGROUND_PRIORITY = 'u=6';

/** Whether an RFC 9218 `priority` header asks for background work. What cannot be read counts as not sent. */
export function isBackground(priority: string | undefined): boolean {
  const urgency = /(?:^|,)\s*u=([0-7])(?=\s*(?:[,;]|$))/.exec(priority ?? '')?.[1];
  return urgency !== undefined && Number(urgency) >= 5;
}
