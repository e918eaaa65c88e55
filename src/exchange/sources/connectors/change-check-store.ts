import { sql } from 'kysely';
import type { Store } from '../../platform/database/database.ts';
import type { HonouredChanges } from './connector.ts';

/** What is known about how servers honour requests for changes; shared by all workers. */
export interface ChangeChecks {
  read(connection: string, fingerprint: string): Promise<HonouredChanges>;
  note(connection: string, fingerprint: string, checked: HonouredChanges): Promise<void>;
}

/** A server is checked anew after this: it may be another version by then. */
const KEPT_DAYS = 7;

export const createChangeChecks = (store: Pick<Store, 'asSystem'>): ChangeChecks => ({
  read: (connection, fingerprint) =>
    store.asSystem(async (tx) => {
      const rows = await tx.db
        .selectFrom('source_change_check')
        .select(['asked', 'honoured'])
        .where(({ and }) => and({ connection, fingerprint }))
        .where('checked_at', '>', sql<Date>`now() - ${KEPT_DAYS} * interval '1 day'`)
        .execute();
      return Object.fromEntries(rows.map(({ asked, honoured }) => [asked, honoured]));
    }),
  note: async (connection, fingerprint, checked) => {
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
