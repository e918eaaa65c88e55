import { type Selectable, sql } from 'kysely';
import {
  type SystemTx,
  takeAdminRole,
} from '../../platform/database/database.ts';
import type { Database } from '../../platform/database/schema.ts';

export type RetentionRule = Selectable<Database['retention_rule']>;

export const listRules = (tx: SystemTx): Promise<RetentionRule[]> =>
  tx.db.selectFrom('retention_rule').selectAll().execute();

/**
 * Sets the rule of a kind; `days` undefined: keeps the kind for ever. A changed
 * rule is applied in the next round.
 */
export async function setRule(
  tx: SystemTx,
  kind: string,
  days: number | undefined,
): Promise<void> {
  await takeAdminRole(tx);
  if (days === undefined) {
    await tx.db.deleteFrom('retention_rule').where('kind', '=', kind).execute();
    return;
  }
  await tx.db
    .insertInto('retention_rule')
    .values({ kind, days })
    .onConflict((conflict) =>
      conflict
        .column('kind')
        .doUpdateSet({ days, swept_at: null, set_at: sql<Date>`now()` }),
    )
    .execute();
}

/**
 * Locks the rule of a kind until the transaction ends. Returns undefined if
 * there is none, if another process applies it, or, unless `isAsked`, if its
 * last sweep ended less than a day ago.
 */
export async function takeRule(
  tx: SystemTx,
  kind: string,
  { isAsked }: { isAsked: boolean },
): Promise<RetentionRule | undefined> {
  let rule = tx.db
    .selectFrom('retention_rule')
    .selectAll()
    .where('kind', '=', kind);
  if (!isAsked)
    rule = rule.where(({ eb, or }) =>
      or([
        eb('swept_at', 'is', null),
        eb('swept_at', '<', sql<Date>`now() - interval '1 day'`),
      ]),
    );
  return rule.forUpdate().skipLocked().executeTakeFirst();
}

export async function recordSlice(
  tx: SystemTx,
  kind: string,
  { removed, isLast }: { removed: number; isLast: boolean },
): Promise<void> {
  await tx.db
    .updateTable('retention_rule')
    .set({
      removed: sql<number>`removed + ${removed}`,
      ...(isLast && { swept_at: sql<Date>`now()` }),
    })
    .where('kind', '=', kind)
    .execute();
}
