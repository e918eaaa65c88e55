import { type Selectable, sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type {
  AccountTx,
  Store,
  SystemTx,
} from '../../platform/database/database.ts';
import type { Database } from '../../platform/database/schema.ts';
import type {
  HeldCandidate,
  SoughtPerson,
} from '../../sources/connectors/connector.ts';
import { connectionKey, type PartStep } from './attempt-store.ts';

export type StoredCandidate = Selectable<Database['source_candidate']>;
const LISTED_MAX = 1_000;

/**
 * What has been decided about the Patients of this connection, and where those
 * go that a person has to decide on.
 */
export async function reviewOf(
  tx: AccountTx,
  store: Pick<Store, 'asAccount'>,
  step: PartStep,
  patientId: string,
): Promise<NonNullable<SoughtPerson['review']>> {
  return (await reviewsOf(tx, store, patientId))(step);
}

/** What a person has decided about a Patient of a connection. */
export interface DecidedCandidate {
  connection: string;
  sourcePatientId: string;
  isAccepted: boolean;
}

/** The same for all connections of a patient, read once. */
export async function reviewsOf(
  tx: AccountTx,
  store: Pick<Store, 'asAccount'>,
  patientId: string,
): Promise<(step: PartStep) => NonNullable<SoughtPerson['review']>> {
  const rows = await tx.db
    .selectFrom('source_candidate')
    .select(['connection', 'source_patient_id as sourcePatientId', 'status'])
    .where('patient_id', '=', patientId)
    .where('status', '<>', 'open')
    .execute();
  const all = rows.map(({ status, ...row }) => ({
    ...row,
    isAccepted: status === 'accepted',
  }));
  return reviewsBy(store, patientId, all);
}

/** The same from decisions that have been read. */
export function reviewsBy(
  store: Pick<Store, 'asAccount'>,
  patientId: string,
  all: readonly DecidedCandidate[],
): (step: PartStep) => NonNullable<SoughtPerson['review']> {
  const decisions = Map.groupBy(all, ({ connection }) => connection);
  return (step) => {
    const connection = connectionKey(step);
    const decided = decisions.get(connection) ?? [];
    return {
      decided: new Map(
        decided.map(({ sourcePatientId, isAccepted }) => [
          sourcePatientId,
          isAccepted,
        ]),
      ),
      note: async (held) => {
        if (held.length === 0) return;
        await store.asAccount(step.accountId, (later) =>
          noteCandidates(later, { step, connection, patientId }, held),
        );
      },
    };
  };
}

/** What a person has decided stays, whatever is found later. */
async function noteCandidates(
  tx: AccountTx,
  of: { step: PartStep; connection: string; patientId: string },
  held: readonly HeldCandidate[],
): Promise<void> {
  const { step, connection, patientId } = of;
  const row = {
    account_id: step.accountId,
    patient_id: patientId,
    connection,
    source: step.source,
  };
  // Some servers return a Patient twice.
  const each = new Map(held.map((candidate) => [candidate.id, candidate]));
  await tx.db
    .insertInto('source_candidate')
    .values(
      [...each.values()].map(({ id, grade, agrees, contradicts }) => ({
        ...row,
        id: uuidv7(),
        source_patient_id: id,
        grade,
        agrees: [...agrees],
        contradicts: [...contradicts],
      })),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['patient_id', 'connection', 'source_patient_id'])
        .doUpdateSet((eb) => ({
          grade: eb.ref('excluded.grade'),
          agrees: eb.ref('excluded.agrees'),
          contradicts: eb.ref('excluded.contradicts'),
        })),
    )
    .execute();
}

/** The newest first, at most 1,000: those that wait for a decision, or all. */
export const listCandidates = (
  tx: SystemTx,
  { accountId, isAll }: { accountId: string; isAll: boolean },
): Promise<StoredCandidate[]> =>
  tx.db
    .selectFrom('source_candidate')
    .selectAll()
    .where('account_id', '=', accountId)
    .$if(!isAll, (query) => query.where('status', '=', 'open'))
    .orderBy('found_at', 'desc')
    .orderBy('id')
    .limit(LISTED_MAX)
    .execute();

/**
 * Undefined if there is no such candidate. The opposite decision replaces an
 * earlier one.
 */
export const decideCandidate = (
  tx: SystemTx,
  id: string,
  status: 'accepted' | 'refused',
): Promise<StoredCandidate | undefined> =>
  tx.db
    .updateTable('source_candidate')
    .set({ status, decided_at: sql<Date>`now()` })
    .where(sql`id::text`, '=', id)
    .returningAll()
    .executeTakeFirst();
