import { sql } from 'kysely';
import type { TrustBundleRefreshed } from '../../../../../contract/trust-bundle-workflow.ts';
import {
  columnsOf,
  type Members,
  membersOf,
} from '../../../../platform/database/columns.ts';
import type { SystemTx } from '../../../../platform/database/database.ts';
import { rowsOf, textArray } from '../../../../platform/database/pg-arrays.ts';

export type StoredBundle = Members<'trust_bundle'>;

/** A certificate of a bundle that is no anchor of ours, and why. */
export interface RefusedAnchor {
  /** Its subject, in one line; none for what cannot be read. */
  subject: string | null;
  reason: string;
}

export async function listBundles(tx: SystemTx): Promise<StoredBundle[]> {
  const rows = await tx.db
    .selectFrom('trust_bundle')
    .selectAll()
    .orderBy('name')
    .execute();
  return rows.map(membersOf);
}

export async function findBundle(
  tx: SystemTx,
  name: string,
): Promise<StoredBundle | undefined> {
  const row = await tx.db
    .selectFrom('trust_bundle')
    .selectAll()
    .where('name', '=', name)
    .executeTakeFirst();
  return row && membersOf(row);
}

/**
 * Makes a bundle, or changes where it is read from; its anchors stay until it
 * is read from there.
 */
export async function putBundle(
  tx: SystemTx,
  bundle: Pick<StoredBundle, 'name' | 'origin' | 'refreshHours' | 'signedBy'>,
): Promise<void> {
  await tx.db
    .insertInto('trust_bundle')
    .values(columnsOf(bundle))
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet(({ ref }) => ({
        origin: ref('excluded.origin'),
        refresh_hours: ref('excluded.refresh_hours'),
        signed_by: ref('excluded.signed_by'),
        fault: null,
        checked_at: null,
        changed_at: sql<Date>`now()`,
      })),
    )
    .execute();
}

export async function deleteBundle(tx: SystemTx, name: string): Promise<void> {
  await tx.db.deleteFrom('trust_bundle').where('name', '=', name).execute();
}

/** What a bundle that was read holds. */
export interface LoadedBundle {
  /** PEM */
  anchors: string;
  counts: TrustBundleRefreshed;
  refused: RefusedAnchor[];
}

/** Writes what was read; nothing when the bundle was changed meanwhile. */
export async function noteLoaded(
  tx: SystemTx,
  { name, changedAt }: Pick<StoredBundle, 'name' | 'changedAt'>,
  { anchors, counts, refused }: LoadedBundle,
): Promise<void> {
  await tx.db
    .updateTable('trust_bundle')
    .set({
      anchors,
      counts: JSON.stringify(counts),
      refused: JSON.stringify(refused),
      fault: null,
      loaded_at: sql<Date>`now()`,
      checked_at: sql<Date>`now()`,
    })
    .where('name', '=', name)
    .where('changed_at', '=', changedAt)
    .execute();
}

/** Writes why it could not be read: what was read before stays. */
export async function noteFault(
  tx: SystemTx,
  { name, changedAt }: Pick<StoredBundle, 'name' | 'changedAt'>,
  fault: string,
): Promise<void> {
  await tx.db
    .updateTable('trust_bundle')
    .set({ fault, checked_at: sql<Date>`now()` })
    .where('name', '=', name)
    .where('changed_at', '=', changedAt)
    .execute();
}

/** The anchors of some bundles, as PEM. */
export async function anchorsOfBundles(
  tx: SystemTx,
  names: readonly string[],
): Promise<string> {
  if (names.length === 0) return '';
  const rows = await tx.db
    .selectFrom('trust_bundle')
    .select('anchors')
    .where('name', 'in', [...names])
    .execute();
  return rows.map(({ anchors }) => anchors ?? '').join('\n');
}

/** Of some names, those that are no bundle, or one that was never read. */
export async function namesWithoutAnchors(
  tx: SystemTx,
  names: readonly string[],
): Promise<string[]> {
  const rows = await rowsOf(
    tx,
    sql<{ name: string }>`
      select name from unnest(${textArray(names)}::text[]) as wanted (name)
      where not exists (select from trust_bundle b where b.name = wanted.name and b.anchors is not null)`,
  );
  return rows.map(({ name }) => name);
}

/** The accounts whose mailboxes name a bundle. */
export async function accountsThatTrust(
  tx: SystemTx,
  name: string,
): Promise<string[]> {
  const rows = await rowsOf(
    tx,
    sql<{ accountId: string }>`
      select account_id as "accountId" from direct_mailbox
      where settings -> 'bundles' ? ${name}::text order by account_id`,
  );
  return rows.map(({ accountId }) => accountId);
}

/** A bundle is looked at so often, unless something is wrong. */
export const CHECKED_WITHIN = sql`(1.5 * make_interval(hours => refresh_hours) + interval '1 hour')`;
