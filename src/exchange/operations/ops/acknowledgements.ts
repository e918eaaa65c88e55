import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Store, SystemTx } from '../../platform/database/database.ts';

/** By this id it can be acknowledged, until it happens again. */
export interface Happened {
  id: string;
  last: Date;
}

/**
 * Names what an operator acknowledges: the same finding has the same id until
 * it is gone, whatever its numbers.
 */
export const findingId = (...parts: readonly string[]): string =>
  createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 8);

/** When findings were acknowledged, by their ids. */
export const readAcknowledgements = (
  store: Pick<Store, 'asSystem'>,
): Promise<ReadonlyMap<string, Date>> =>
  store.asSystem(async (tx) => {
    const rows = await tx.db
      .selectFrom('acknowledged_finding')
      .select(['id', 'acknowledged_at'])
      .execute();
    return new Map(rows.map((row) => [row.id, row.acknowledged_at]));
  });

/** Later ones replace earlier ones. */
export async function acknowledge(
  tx: SystemTx,
  id: string,
  { by, reason }: { by: string; reason: string },
): Promise<void> {
  const said = {
    acknowledged_at: sql<Date>`now()`,
    acknowledged_by: by,
    reason,
  };
  await tx.db
    .insertInto('acknowledged_finding')
    .values({ id, ...said })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(said))
    .execute();
}

/**
 * Without what was acknowledged and has not happened again since. A state, such
 * as a pause, cannot be acknowledged: it ends when it is ended.
 */
export const unacknowledged = <F extends { happened?: Happened }>(
  findings: readonly F[],
  acknowledged: ReadonlyMap<string, Date>,
): F[] =>
  findings.filter(({ happened }) => {
    const at = happened && acknowledged.get(happened.id);
    return !(at !== undefined && happened !== undefined && happened.last <= at);
  });
