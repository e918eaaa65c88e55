import type { Recovery } from '../../src/exchange/platform/recovery/recovery.ts';

/**
 * Runs a recovery once. Returns how many items it healed; throws the first
 * failure.
 */
export async function takeUp(
  { takeUp: run }: Recovery,
  limit = 500,
  recheckBefore = new Date(Date.now() - 15 * 60_000),
): Promise<number> {
  const { healed, failures } = await run({
    limit,
    signal: new AbortController().signal,
    recheckBefore,
  });
  if (failures.length > 0) throw failures[0];
  return healed;
}

/**
 * Runs rounds of a recovery that examines everything slice by slice, from the
 * beginning to the end. Returns how many items it healed.
 */
export async function takeUpAll({ takeUp: run }: Recovery): Promise<number> {
  const round = {
    limit: 500,
    signal: new AbortController().signal,
    recheckBefore: new Date(),
  };
  let healed = 0;
  let cursor: string | undefined;
  do {
    const taken = await run({ ...round, cursor });
    if (taken.failures.length > 0) throw taken.failures[0];
    healed += taken.healed;
    cursor = taken.cursor;
  } while (cursor !== undefined);
  return healed;
}
