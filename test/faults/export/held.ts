import type { TestStack } from '../../support/stack.ts';
import { createHolds, type Hold } from '../kill/holds.ts';
import { until } from '../kill/until.ts';

interface HeldTable {
  hold: Hold;
  release(): Promise<void>;
}

/**
 * Holds a table still, so that the worker waits in the middle of a transaction
 * that writes into it.
 */
export async function holdTable(
  stack: TestStack,
  table: string,
): Promise<HeldTable> {
  const holds = createHolds(stack);
  return {
    hold: await holds.lockTable(table),
    release: () => holds.releaseAll(),
  };
}

/** Slices that an export has committed. */
export async function slicesOf(
  { rows }: TestStack,
  exportId: string,
): Promise<number> {
  const [row] = await rows<{ slices: number }>(
    'select slices from bulk_export where id = $1',
    [exportId],
  );
  return row?.slices ?? 0;
}

export async function reached(
  check: () => Promise<boolean>,
  timeoutMs: number,
  what: string,
): Promise<void> {
  if (!(await until(check, { timeoutMs })))
    throw new Error(`${what}: not within ${timeoutMs} ms`);
}
