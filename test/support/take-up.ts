import type { Recovery } from '../../src/exchange/platform/recovery/recovery.ts';

/** Runs a recovery once. Returns how many items it healed; throws the first failure. */
export async function takeUp(
  { takeUp: run }: Recovery,
  limit = 500,
  lookAgainBefore = new Date(Date.now() - 15 * 60_000),
): Promise<number> {
  const { healed, failures } = await run({ limit, signal: new AbortController().signal, lookAgainBefore });
  if (failures.length > 0) throw failures[0];
  return healed;
}
