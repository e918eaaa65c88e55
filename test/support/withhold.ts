import { sql } from 'kysely';
import {
  type Store,
  takeAdminRole,
} from '../../src/exchange/platform/database/database.ts';

/** As `npm run admin -- accounts set --withhold`. */
export const withholdLabels = (
  store: Pick<Store, 'asSystem'>,
  accountId: string,
  labels: readonly string[],
): Promise<unknown> =>
  store.asSystem(async (tx) => {
    await takeAdminRole(tx);
    await sql`update account set settings = settings || ${JSON.stringify({ withhold: labels })}::jsonb
      where id = ${accountId}`.execute(tx.db);
  });
