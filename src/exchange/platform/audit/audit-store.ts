import { isIP } from 'node:net';
import { sql } from 'kysely';
import type { AccountTx, Store, SystemTx } from '../database/database.ts';

/**
 * An audit entry: actor, operation, patient, origin and outcome. It contains
 * ids only.
 */
export interface AuditRecord {
  /**
   * `key:<id of the API key>`, `embed:<id of the token>`, `client:<id of the
   * FHIR client>`, `community:<OID of another member of a network>`,
   * `internal` (our orchestrator), `link`, `admin` (the CLI), `retention`,
   * `sealer` (of the chain), `several` (summarised refusals).
   */
  actor: string;
  /** Name of the operation in the endpoint table. */
  operation: string;
  patientId?: string;
  targetId?: string;
  /**
   * HTTP status of the response, followed by `replayed` if it was returned
   * again under an idempotency key, or by `revoked` or `expired` for such a key
   * or token. `done` for the CLI.
   */
  outcome: string;
  /** Stored only if it is an IP address: a proxy may forward any text. */
  remoteAddress?: string;
  /**
   * Present if the entry summarises several refusals of the same kind: their
   * number, and the time of the first.
   */
  many?: { times: number; since: Date };
  /**
   * JSON as text: an operator's statement, or for what and for whom a community
   * was given something. It contains no patient data.
   */
  details?: string;
}

/**
 * Finds the account and creation time of an embed token in the audit; tokens
 * themselves are not stored.
 */
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

/**
 * Inserts an audit entry in the transaction of the audited change, so that both
 * are committed or neither.
 */
export async function insertAuditEntry(
  tx: AccountTx,
  record: AuditRecord,
): Promise<void> {
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

/** Inserts audit entries in the transaction of what they record. */
export async function insertAuditEntriesIn(
  tx: AccountTx,
  records: readonly Omit<AuditRecord, 'many' | 'details'>[],
): Promise<void> {
  if (records.length === 0) return;
  await tx.db
    .insertInto('audit_entry')
    .values(
      records.map((record) => ({
        account_id: tx.accountId,
        ...columnsOf(record),
      })),
    )
    .execute();
}

/**
 * Inserts audit entries of any accounts in a transaction of their own. For
 * reads, which have no write transaction.
 */
export async function insertAuditEntries(
  store: Pick<Store, 'call'>,
  records: readonly (Omit<AuditRecord, 'many' | 'details'> & {
    accountId: string;
  })[],
): Promise<void> {
  const entries = records.map(({ accountId, ...record }) => ({
    account_id: accountId,
    ...columnsOf(record),
  }));
  await store.call(
    sql`select add_audit_entries(${JSON.stringify(entries)}::jsonb)`,
  );
}

const columnsOf = ({
  actor,
  operation,
  patientId,
  targetId,
  outcome,
  remoteAddress = '',
}: AuditRecord) => ({
  actor,
  operation,
  patient_id: patientId ?? null,
  target_id: targetId ?? null,
  outcome,
  remote_address: isIP(remoteAddress) === 0 ? null : remoteAddress,
});
