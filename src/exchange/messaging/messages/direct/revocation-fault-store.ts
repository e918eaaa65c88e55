import { sql } from 'kysely';
import type { Store, SystemTx } from '../../../platform/database/database.ts';
import { rowsOf } from '../../../platform/database/pg-arrays.ts';

/** A revocation list that cannot be read. */
export interface RevocationFault {
  address: string;
  fault: string;
  since: Date;
}

/** Notes that a list could not be read; since when is kept. */
export async function noteRevocationFault(
  tx: SystemTx,
  address: string,
  fault: string,
): Promise<void> {
  await tx.db
    .insertInto('revocation_fault')
    .values({ address, fault })
    .onConflict((conflict) =>
      conflict
        .column('address')
        .doUpdateSet({ fault, checked_at: sql<Date>`now()` }),
    )
    .execute();
}

/** It can be read again, or nobody has asked for it in a month. */
export async function endRevocationFault(
  tx: SystemTx,
  address: string,
): Promise<void> {
  await tx.db
    .deleteFrom('revocation_fault')
    .where((where) =>
      where.or([
        where('address', '=', address),
        where('checked_at', '<', sql<Date>`now() - interval '30 days'`),
      ]),
    )
    .execute();
}

/** Those that were wanted within the last days. */
export const readRevocationFaults = (
  store: Pick<Store, 'asSystem'>,
): Promise<RevocationFault[]> =>
  store.asSystem((tx) =>
    rowsOf(
      tx,
      sql<RevocationFault>`
        select address, fault, since from revocation_fault
        where checked_at > now() - interval '3 days' order by since limit 50`,
    ),
  );
