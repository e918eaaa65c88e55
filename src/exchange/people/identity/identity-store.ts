import type { Metadata } from '../../../contract/network-query.ts';
import {
  columnsOf,
  type Members,
  membersOf,
} from '../../platform/database/columns.ts';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';

export type StoredSession = Members<'identity_session'>;
export type StoredChallenge = Members<'aal2_challenge'>;

export async function insertSession(
  tx: AccountTx,
  session: Pick<
    StoredSession,
    'id' | 'patientId' | 'redirectUrl' | 'expiresAt'
  > & { metadata?: Metadata },
): Promise<void> {
  await tx.db
    .insertInto('identity_session')
    .values(
      columnsOf({
        ...session,
        accountId: tx.accountId,
        status: 'pending' as const,
        metadata:
          session.metadata === undefined
            ? null
            : JSON.stringify(session.metadata),
      }),
    )
    .execute();
}

type Verification = 'identity_session' | 'aal2_challenge';

/** Deletes a row that the partner refused to open. */
const deleter =
  (table: Verification) =>
  async (tx: AccountTx, id: string): Promise<void> => {
    await tx.db.deleteFrom(table).where('id', '=', id).execute();
  };
export const deleteSession = deleter('identity_session');
export const deleteChallenge = deleter('aal2_challenge');

/**
 * `lock` locks the row until the transaction ends, so that only the first of
 * several callbacks takes effect.
 */
const finder =
  <Table extends Verification>(table: Table) =>
  async (
    tx: AccountTx,
    id: string,
    { lock = false } = {},
  ): Promise<Members<Table> | undefined> => {
    const query = tx.db
      .selectFrom<Verification>(table)
      .selectAll()
      .where('id', '=', id);
    const row = await (lock ? query.forUpdate() : query).executeTakeFirst();
    return row && (membersOf(row) as Members<Table>);
  };
export const findSession = finder('identity_session');
export const findChallenge = finder('aal2_challenge');

export async function endSession(
  tx: AccountTx,
  id: string,
  end: { status: 'verified' } | { status: 'failed'; reason: string },
  at: Date,
): Promise<void> {
  await tx.db
    .updateTable('identity_session')
    .set({
      status: end.status,
      reason: 'reason' in end ? end.reason : null,
      ended_at: at,
    })
    .where('id', '=', id)
    .execute();
}

export async function insertProofedIdentity(
  tx: AccountTx,
  identity: Omit<Members<'proofed_identity'>, 'accountId'>,
): Promise<void> {
  await tx.db
    .insertInto('proofed_identity')
    .values(columnsOf({ ...identity, accountId: tx.accountId }))
    .execute();
}

export async function findProofedIdentity(
  tx: AccountTx,
  id: string,
): Promise<{ patientId: string; subject: string } | undefined> {
  return tx.db
    .selectFrom('proofed_identity')
    .select(['patient_id as patientId', 'subject'])
    .where('id', '=', id)
    .executeTakeFirst();
}

/** The identity that a session verified; undefined when it verified none. */
export async function findIdentityOfSession(
  tx: AccountTx,
  sessionId: string,
): Promise<{ id: string; verifiedAt: Date } | undefined> {
  return tx.db
    .selectFrom('proofed_identity')
    .select(['id', 'verified_at as verifiedAt'])
    .where('session_id', '=', sessionId)
    .executeTakeFirst();
}

export async function insertChallenge(
  tx: AccountTx,
  challenge: Pick<
    StoredChallenge,
    'id' | 'proofedIdentityId' | 'redirectUrl' | 'expiresAt'
  >,
): Promise<void> {
  await tx.db
    .insertInto('aal2_challenge')
    .values(
      columnsOf({
        ...challenge,
        accountId: tx.accountId,
        status: 'pending' as const,
      }),
    )
    .execute();
}

export async function endChallenge(
  tx: AccountTx,
  id: string,
  end:
    | { status: 'verified'; sessionHash: Buffer; sessionExpiresAt: Date }
    | { status: 'failed'; reason: string },
  at: Date,
): Promise<void> {
  await tx.db
    .updateTable('aal2_challenge')
    .set({ status: end.status, ended_at: at })
    .set(
      end.status === 'verified'
        ? {
            session_hash: end.sessionHash,
            session_expires_at: end.sessionExpiresAt,
          }
        : { reason: end.reason },
    )
    .where('id', '=', id)
    .execute();
}

/**
 * The AAL2 session with this hash, if it belongs to the identity and the
 * identity to the patient.
 */
export async function findAal2Session(
  tx: AccountTx,
  of: { sessionHash: Buffer; proofedIdentityId: string; patientId: string },
): Promise<{ challengeId: string; expiresAt: Date } | undefined> {
  const row = await tx.db
    .selectFrom('aal2_challenge as c')
    .innerJoin('proofed_identity as i', 'i.id', 'c.proofed_identity_id')
    .select(['c.id', 'c.session_expires_at'])
    .where('c.session_hash', '=', of.sessionHash)
    .where('c.status', '=', 'verified')
    .where(({ and }) =>
      and({ 'i.id': of.proofedIdentityId, 'i.patient_id': of.patientId }),
    )
    .executeTakeFirst();
  if (row === undefined || row.session_expires_at === null) return undefined;
  return { challengeId: row.id, expiresAt: row.session_expires_at };
}

/**
 * The account of a session or challenge; the partner's callbacks carry only its
 * id.
 */
export async function accountOfVerification(
  tx: SystemTx,
  kind: 'session' | 'challenge',
  id: string,
): Promise<string | undefined> {
  const table = kind === 'session' ? 'identity_session' : 'aal2_challenge';
  const row = await tx.db
    .selectFrom(table)
    .select('account_id')
    .where('id', '=', id)
    .executeTakeFirst();
  return row?.account_id;
}
