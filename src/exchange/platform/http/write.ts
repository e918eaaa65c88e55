import type { FastifyRequest } from 'fastify';
import { BatchedWriter } from '../../../lib/batched-writer.ts';
import { type AuditRecord, insertAuditEntries, insertAuditEntry } from '../audit/audit-store.ts';
import type { AccountTx, Store } from '../database/database.ts';
import { retryOvertaken } from '../database/retry.ts';
import { patientNamedBy, targetNamedBy } from './audited-reads.ts';
import { claimKeyOrFindResponse, type IdempotencyDeps, idempotencyOf, saveResponse } from './idempotency.ts';
import { releaseIdempotencyKey } from './idempotency-store.ts';
import type { AnyResponse } from './operation.ts';
import { callerOf } from './plugins/auth.ts';

export interface WriteDeps extends IdempotencyDeps {
  store: Store;
}

/** Writes audit entries of concurrent reads in batches; see `runAuditedRead`. */
export type ReadAudit = BatchedWriter<AuditRecord & { accountId: string }>;

export const createReadAudit = (store: Store): ReadAudit =>
  new BatchedWriter((records) => insertAuditEntries(store, records));

/**
 * Runs a change in one transaction: its effect, its audit entry and the response under its idempotency key are committed
 * together or not at all. Only success responses are stored; a rejected request changed nothing and is evaluated again when
 * it is repeated. Rejected and failed requests are audited by the error handler (refusals.ts).
 */
export async function runWrite(
  deps: WriteDeps,
  operation: string,
  request: FastifyRequest,
  work: (tx: AccountTx) => Promise<AnyResponse>,
): Promise<AnyResponse> {
  const key = idempotencyOf(request, deps);
  const response = await retryOvertaken(() =>
    deps.store.asAccount(callerOf(request).account.id, async (tx) => {
      const first = key && (await claimKeyOrFindResponse(tx, key, deps));
      const result = first ?? (await work(tx));
      await audit(tx, operation, request, result, first ? 'replayed' : undefined);
      if (key !== undefined && first === undefined) await saveResponse(tx, key, result, deps);
      return result;
    }),
  );
  response.afterCommit?.();
  return response;
}

/**
 * Runs a read of patient data. The audit entry is committed before the response is sent; concurrent reads share one commit.
 */
export async function runAuditedRead(
  deps: { store: Store; readAudit: ReadAudit },
  operation: string,
  request: FastifyRequest,
  read: (tx: AccountTx) => Promise<AnyResponse>,
): Promise<AnyResponse> {
  const { id: accountId } = callerOf(request).account;
  const response = await deps.store.asAccount(accountId, read);
  const { patientId = patientNamedBy(request), targetId = targetNamedBy(request) } = response;
  await Promise.all(
    [patientId, ...(response.otherPatientIds ?? [])].map((about) =>
      deps.readAudit.write({
        accountId,
        ...recordOf(operation, request, { ...response, patientId: about, targetId }),
      }),
    ),
  );
  return response;
}

/**
 * Runs a change that waits for an external call. The key is claimed before it and the response stored after it, each in a
 * transaction of its own. If the process stops in between, the key can be used again after one minute.
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
      const known = await claimKeyOrFindResponse(tx, key, deps);
      if (known !== undefined) await audit(tx, operation, request, known, 'replayed');
      return known;
    }));
  if (first !== undefined) return first;
  try {
    const response = await work();
    await asAccount(async (tx) => {
      await audit(tx, operation, request, response);
      if (key !== undefined) await saveResponse(tx, key, response, deps);
    });
    return response;
  } catch (error) {
    if (key !== undefined) await asAccount((tx) => releaseIdempotencyKey(tx, key.hash));
    throw error;
  }
}

const audit = (
  tx: AccountTx,
  operation: string,
  request: FastifyRequest,
  response: AnyResponse,
  remark?: string,
): Promise<void> => insertAuditEntry(tx, recordOf(operation, request, response, remark));

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
