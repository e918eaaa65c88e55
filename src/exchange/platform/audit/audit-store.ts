import { isIP } from 'node:net';
import { sql } from 'kysely';
import type { AccountTx, Store, SystemTx } from '../database/database.ts';

/** Who did what, to which patient, from where, and how it ended. Ids only. */
export interface AuditRecord {
  /**
   * `key:<id of the API key>`, `embed:<id of the token>`, `internal` (ourselves), `link`, `admin` (the CLI), `sealer` (of the
   * chain), `several` (refusals of too many kinds).
   */
  actor: string;
  /** Name of the operation, as in the endpoint table. */
  operation: string;
  patientId?: string;
  targetId?: string;
  /**
   * HTTP status of the answer; with `replayed` when an idempotency key gave the first answer again, with `revoked` or
   * `expired` when that is what the key or token was. `done` for the CLI.
   */
  outcome: string;
  /** What is no IP address (a proxy passes on whatever it was told) is left out. */
  remoteAddress?: string;
  /** Stands for so many of its kind, since then. */
  many?: { times: number; since: Date };
  /** JSON as text: what an operator has said. Nothing of a patient. */
  details?: string;
}

/** Whose embed token it is, and when it was made; tokens themselves are not stored. */
export async function findAuditedEmbedToken(
  tx: SystemTx,
  tokenId: string,
): Promise<{ accountId: string; at: Date } | undefined> {
  return tx.db
    .selectFrom('audit_entry')
    .select(['account_id as accountId', 'at'])
    .where('operation', '=', 'createEmbedToken')
    .where(sql<string>`target_id::text`, '=', tokenId)
    .where('outcome', '=', '200')
    .executeTakeFirst();
}

/** Adds to the audit; in the transaction of the change it tells of, so that there is never one without the other. */
export async function insertAuditEntry(tx: AccountTx, record: AuditRecord): Promise<void> {
  await tx.db
    .insertInto('audit_entry')
    .values({
      account_id: tx.accountId,
      ...columnsOf(record),
      since: record.many?.since ?? null,
      details: record.details ?? null,
      ...(record.many && { times: record.many.times }),
    })
    .execute();
}

/** Adds entries of any accounts in one commit of their own: for what changes nothing, and so has no transaction to be in. */
export async function insertAuditEntries(
  store: Pick<Store, 'call'>,
  records: readonly (Omit<AuditRecord, 'many' | 'details'> & { accountId: string })[],
): Promise<void> {
  const entries = records.map(({ accountId, ...record }) => ({
    account_id: accountId,
    ...columnsOf(record),
  }));
  await store.call(sql`select add_audit_entries(${JSON.stringify(entries)}::jsonb)`);
}

const columnsOf = ({ actor, operation, patientId, targetId, outcome, remoteAddress = '' }: AuditRecord) => ({
  actor,
  operation,
  patient_id: patientId ?? null,
  target_id: targetId ?? null,
  outcome,
  remote_address: isIP(remoteAddress) === 0 ? null : remoteAddress,
});
