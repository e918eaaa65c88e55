import type { FastifyRequest } from 'fastify';
import { BatchedWriter } from '../../../lib/batched-writer.ts';
import { type AuditRecord, insertAuditEntries, insertAuditEntry } from '../audit/audit-store.ts';
import type { AccountTx, Store } from '../database/database.ts';
import { retryOvertaken } from '../database/retry.ts';
import { patientNamedBy, targetNamedBy } from './audited-reads.ts';
import { firstResponse, type IdempotencyDeps, idempotencyOf, keepResponse } from './idempotency.ts';
import { releaseIdempotencyKey } from './idempotency-store.ts';
import type { AnyResponse } from './operation.ts';
import { callerOf } from './plugins/auth.ts';

export interface WriteDeps extends IdempotencyDeps {
  store: Store;
}

/** Entries that are written together, and waited for: see `runAuditedRead`. */
export type ReadAudit = BatchedWriter<AuditRecord & { accountId: string }>;

export const createReadAudit = (store: Store): ReadAudit =>
  new BatchedWriter((records) => insertAuditEntries(store, records));

/**
 * A change in one transaction: the effect, its audit entry and the answer under its idempotency key are committed
 * together or not at all. Only answers of success are kept: a refused request changed nothing and is simply judged
 * anew when it comes again. What was refused or failed is audited where errors are answered (refusals.ts).
 */
export async function runWrite(
  deps: WriteDeps,
  operation: string,
  request: FastifyRequest,
  work: (tx: AccountTx) => Promise<AnyResponse>,
): Promise<AnyResponse> {
  const key = idempotencyOf(request, deps);
  const answer = await retryOvertaken(() =>
    deps.store.asAccount(callerOf(request).account.id, async (tx) => {
      const first = key && (await firstResponse(tx, key, deps));
      const given = first ?? (await work(tx));
      await audit(tx, operation, request, given, first ? 'replayed' : undefined);
      if (key !== undefined && first === undefined) await keepResponse(tx, key, given, deps);
      return given;
    }),
  );
  answer.afterCommit?.();
  return answer;
}

/**
 * A read of a patient's data: nothing is shown that is not in the audit by then. Reads that end at the same time share the
 * write of their entries, and its commit.
 */
export async function runAuditedRead(
  deps: { store: Store; readAudit: ReadAudit },
  operation: string,
  request: FastifyRequest,
  read: (tx: AccountTx) => Promise<AnyResponse>,
): Promise<AnyResponse> {
  const { id: accountId } = callerOf(request).account;
  const answer = await deps.store.asAccount(accountId, read);
  const { patientId = patientNamedBy(request), targetId = targetNamedBy(request) } = answer;
  const record = recordOf(operation, request, { ...answer, patientId, targetId });
  await deps.readAudit.write({ accountId, ...record });
  return answer;
}

/**
 * A change that somebody else makes while we wait: the key is claimed before and the answer kept after it, each in
 * a transaction of its own. A key whose request was cut off is free again after a minute.
 */
export async function runAction(
  deps: WriteDeps,
  operation: string,
  request: FastifyRequest,
  work: () => Promise<AnyResponse>,
): Promise<AnyResponse> {
  const key = idempotencyOf(request, deps);
  const asAccount = <T>(inTx: (tx: AccountTx) => Promise<T>) =>
    deps.store.asAccount(callerOf(request).account.id, inTx);
  const first =
    key &&
    (await asAccount(async (tx) => {
      const known = await firstResponse(tx, key, deps);
      if (known !== undefined) await audit(tx, operation, request, known, 'replayed');
      return known;
    }));
  if (first !== undefined) return first;
  try {
    const answer = await work();
    await asAccount(async (tx) => {
      await audit(tx, operation, request, answer);
      if (key !== undefined) await keepResponse(tx, key, answer, deps);
    });
    return answer;
  } catch (error) {
    if (key !== undefined) await asAccount((tx) => releaseIdempotencyKey(tx, key.hash));
    throw error;
  }
}

const audit = (
  tx: AccountTx,
  operation: string,
  request: FastifyRequest,
  answer: AnyResponse,
  remark?: string,
): Promise<void> => insertAuditEntry(tx, recordOf(operation, request, answer, remark));

const recordOf = (
  operation: string,
  request: FastifyRequest,
  { patientId, targetId, status }: AnyResponse,
  remark?: string,
): AuditRecord => ({
  actor: callerOf(request).actor,
  operation,
  patientId,
  targetId,
  outcome: remark === undefined ? String(status) : `${status} ${remark}`,
  remoteAddress: request.ip,
});
