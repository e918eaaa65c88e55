import { sql } from 'kysely';
import type { Store } from '../../../../platform/database/database.ts';
import { rowsOf } from '../../../../platform/database/pg-arrays.ts';
import { CHECKED_WITHIN } from './bundle-store.ts';

/** A trust bundle that is not as fresh as it should be. */
export interface BundleTrouble {
  name: string;
  /** Why it could not be read the last time; null: nobody has looked. */
  fault: string | null;
  /** When its anchors were read; null: never. */
  loadedAt: Date | null;
  since: Date;
}

/** Those that could not be read the last time, or that nobody looked at. */
export const readBundleTroubles = (
  store: Pick<Store, 'asSystem'>,
): Promise<BundleTrouble[]> =>
  store.asSystem((tx) =>
    rowsOf(
      tx,
      sql<BundleTrouble>`
        select name, fault, loaded_at as "loadedAt", coalesce(loaded_at, changed_at) as since
        from trust_bundle
        where fault is not null or coalesce(checked_at, changed_at) < now() - ${CHECKED_WITHIN}
        order by since`,
    ),
  );
