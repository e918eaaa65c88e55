import type { Recovery } from '../../src/exchange/platform/recovery/recovery.ts';

/** Runs a recovery once. Returns how many items it healed; throws the first failure. */
export async function takeUp({ takeUp: run }: Recovery, limit = 500): Promise<number> {
  const { healed, failures } = await run({ limit, signal: new AbortController().signal });
  if (failures.length > 0) throw failures[0];
  return healed;
}
