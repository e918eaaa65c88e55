import { sql } from 'kysely';
import type { RecordSource } from '../../contract/primitives.ts';
import type { Store } from '../platform/database/database.ts';
import { itemRecovery, type Recovery } from '../platform/recovery/recovery.ts';
import {
  ProcessEndedTooOften,
  type StartGuard,
} from '../platform/recovery/start-guard.ts';
import type { RecordKeeper } from './record-keeper.ts';

interface ConvertLaterDeps {
  records: Pick<RecordKeeper, 'merge'>;
  startGuard: StartGuard;
}

/**
 * Converts a patient's new C-CDA documents of a source, which came without a
 * query, and merges them. `markRead` notes that this is done; also for
 * documents that end the worker each time, which stay documents.
 *
 * @throws ProcessEndedTooOften for the latter
 */
export async function convertLater(
  { records, startGuard }: ConvertLaterDeps,
  of: {
    accountId: string;
    patientId: string;
    name: string;
    source: RecordSource;
  },
  signal: AbortSignal,
  markRead: () => Promise<void>,
): Promise<void> {
  const { accountId, patientId, name, source } = of;
  try {
    await startGuard.run({ accountId, name, progress: '' }, signal, () =>
      records.merge(accountId, patientId, { documentsOf: source }),
    );
  } catch (error) {
    if (error instanceof ProcessEndedTooOften) await markRead();
    throw error;
  }
  await markRead();
}

/** Per round of `reconcile`: a C-CDA document takes about a second. */
const ROWS_MAX = 20;

/**
 * Converts the C-CDA documents that came with rows of a table, each of one
 * patient and with a column `to_be_read`. A worker does this later, so that the
 * gateway which received them need not wait.
 */
export function documentsToRead(
  { store, ...deps }: ConvertLaterDeps & { store: Store },
  {
    name,
    source,
    since,
  }: { name: string; source: 'message' | 'contribution'; since: string },
): Recovery {
  const table = sql.table(source);
  return itemRecovery({
    name,
    limit: ROWS_MAX,
    find: (limit) =>
      store.asSystem(async (tx) => {
        const found = await sql<{
          accountId: string;
          patientId: string;
          id: string;
          since: Date;
        }>`
          select account_id as "accountId", patient_id as "patientId", id, ${sql.ref(since)} as since
          from ${table} where to_be_read and patient_id is not null order by ${sql.ref(since)} limit ${limit}`.execute(
          tx.db,
        );
        return found.rows;
      }),
    async heal({ id, accountId, patientId }, signal) {
      const work = { accountId, patientId, name: `${source}/${id}`, source };
      await convertLater(deps, work, signal, () =>
        store.asAccount(accountId, async (tx) => {
          await sql`update ${table} set to_be_read = false where id = ${id}`.execute(
            tx.db,
          );
        }),
      );
      return true;
    },
  });
}
