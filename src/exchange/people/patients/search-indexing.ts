import { sql } from 'kysely';
import type { Store, SystemTx } from '../../platform/database/database.ts';
import type { Recovery } from '../../platform/recovery/recovery.ts';

/** Patients that one transaction indexes. */
const AT_ONCE = 500;

/**
 * Indexes the text by which patients are searched, of those that are new or
 * changed. Each round of `reconcile` takes up a slice; until then a search
 * reads these patients themselves.
 * (docs/decisions/0116-patients-are-searched-by-trigrams.md)
 */
export function searchIndexing({
  store,
}: {
  store: Pick<Store, 'asSystem'>;
}): Recovery {
  return {
    name: 'patients to index',
    canWait: true,
    async takeUp({ limit, signal }) {
      let found = 0;
      while (found < limit && !signal.aborted) {
        const size = Math.min(AT_ONCE, limit - found);
        const indexed = await store.asSystem((tx) => indexSome(tx, size));
        found += indexed;
        if (indexed < size) return { found, healed: found, failures: [] };
      }
      return { found, healed: found, failures: [], isBehind: true };
    },
  };
}

/**
 * Two statements: the lock makes each later change of a patient wait, so that
 * it clears the text again; the second statement sees each change that was
 * committed before the lock.
 */
async function indexSome(tx: SystemTx, limit: number): Promise<number> {
  const { rows } = await sql<{ id: string }>`
    select patient_id as id from patient_search where text is null limit ${limit} for update skip locked
  `.execute(tx.db);
  if (rows.length > 0) {
    const ids = rows.map(({ id }) => id);
    await sql`
      update patient_search set text = patient_search_text(p) from patient p
      where p.id = patient_id and patient_id = any(${ids}::uuid[])
    `.execute(tx.db);
  }
  return rows.length;
}
