import { sql } from 'kysely';
import type { Store } from '../../platform/database/database.ts';
import type { HonouredChanges } from './connector.ts';

export type ChangeChecks = ReturnType<typeof createChangeChecks>;

/** A server is checked anew after this: it may be another version by then. */
const KEPT_DAYS = 7;

/**
 * What is known about how servers honour requests for changes; shared by all
 * workers.
 */
export const createChangeChecks = (store: Pick<Store, 'asSystem'>) => ({
  read: (connection: string, fingerprint: string): Promise<HonouredChanges> =>
    store.asSystem(async (tx) => {
      const rows = await tx.db
        .selectFrom('source_change_check')
        .select(['asked', 'honoured'])
        .where(({ and }) => and({ connection, fingerprint }))
        .where(
          'checked_at',
          '>',
          sql<Date>`now() - ${KEPT_DAYS} * interval '1 day'`,
        )
        .execute();
      return Object.fromEntries(
        rows.map(({ asked, honoured }) => [asked, honoured]),
      );
    }),
  note: async (
    connection: string,
    fingerprint: string,
    checked: HonouredChanges,
  ): Promise<void> => {
    const rows = Object.entries(checked).map(([asked, honoured]) => ({
      connection,
      fingerprint,
      asked,
      honoured,
    }));
    if (rows.length === 0) return;
    await store.asSystem((tx) =>
      tx.db
        .insertInto('source_change_check')
        .values(rows)
        .onConflict((conflict) =>
          conflict.columns(['connection', 'asked']).doUpdateSet({
            fingerprint: (eb) => eb.ref('excluded.fingerprint'),
            honoured: (eb) => eb.ref('excluded.honoured'),
            checked_at: sql<Date>`now()`,
          }),
        )
        .execute(),
    );
  },
});
