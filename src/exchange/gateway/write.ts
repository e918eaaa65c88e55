import { createHmac } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Logger } from '../../lib/logger.ts';
import { ConflictError, ExchangeError } from '../errors.ts';
import { insertAuditEntry } from '../store/audit.ts';
import type { AccountTx, Store } from '../store/database.ts';
import { type Claim, claimIdempotencyKey, releaseIdempotencyKey, storeAnswer } from '../store/idempotency.ts';
import { retryOvertaken } from '../store/retry.ts';
import { patientNamedBy } from './audited-reads.ts';
import { errorAnswer } from './errors.ts';
import type { AnyAnswer } from './operation.ts';
import { callerOf } from './plugins/auth.ts';

export interface WriteDeps {
  store: Store;
  logger: Logger;
  /** Idempotency keys may carry a record number, so only their keyed hash is kept. */
  idHmacKey: string;
}

/**
 * A change in one transaction: the effect, its audit entry and the answer under its idempotency key are committed
 * together or not at all. Only answers of success are kept: a refused request changed nothing and is simply judged
 * anew when it comes again.
 */
export async function runWrite(
  deps: WriteDeps,
  operation: string,
  request: FastifyRequest,
  work: (tx: AccountTx) => Promise<AnyAnswer>,
): Promise<AnyAnswer> {
  const key = idempotencyOf(request, deps.idHmacKey);
  const { account } = callerOf(request);
  return audited(deps, operation, request, async () => {
    const answer = await retryOvertaken(() =>
      deps.store.asAccount(account.id, async (tx) => {
        const first = key && firstAnswer(await claimIdempotencyKey(tx, key.hash, key.requestHash));
        const given = first ?? (await work(tx));
        await audit(tx, operation, request, given, first ? 'replayed' : undefined);
        if (key !== undefined && first === undefined) await keep(tx, key.hash, given);
        return given;
      }),
    );
    answer.afterCommit?.();
    return answer;
  });
}

/** A read of a patient's data in one transaction with its audit entry: nothing is shown that is not in the audit. */
export function runAuditedRead(
  deps: WriteDeps,
  operation: string,
  request: FastifyRequest,
  read: (tx: AccountTx) => Promise<AnyAnswer>,
): Promise<AnyAnswer> {
  return audited(deps, operation, request, () =>
    deps.store.asAccount(callerOf(request).account.id, async (tx) => {
      const answer = await read(tx);
      const { patientId = patientNamedBy(request), targetId = targetOf(request) } = answer;
      await audit(tx, operation, request, { ...answer, patientId, targetId });
      return answer;
    }),
  );
}

/**
 * A change that somebody else makes while we wait: the key is claimed before and the answer kept after it, each in
 * a transaction of its own. A key whose request was cut off is free again after a minute.
 */
export async function runAction(
  deps: WriteDeps,
  operation: string,
  request: FastifyRequest,
  work: () => Promise<AnyAnswer>,
): Promise<AnyAnswer> {
  const key = idempotencyOf(request, deps.idHmacKey);
  const asAccount = <T>(inTx: (tx: AccountTx) => Promise<T>) =>
    deps.store.asAccount(callerOf(request).account.id, inTx);
  return audited(deps, operation, request, async () => {
    const first =
      key && firstAnswer(await asAccount((tx) => claimIdempotencyKey(tx, key.hash, key.requestHash)));
    if (first !== undefined) return first;
    try {
      const answer = await work();
      await asAccount(async (tx) => {
        await audit(tx, operation, request, answer);
        if (key !== undefined) await keep(tx, key.hash, answer);
      });
      return answer;
    } catch (error) {
      if (key !== undefined) await asAccount((tx) => releaseIdempotencyKey(tx, key.hash));
      throw error;
    }
  });
}

/** Lets nothing that was refused or failed go by without its audit entry. */
async function audited(
  deps: WriteDeps,
  operation: string,
  request: FastifyRequest,
  work: () => Promise<AnyAnswer>,
): Promise<AnyAnswer> {
  try {
    return await work();
  } catch (error) {
    await auditRefusal(deps, operation, request, error);
    throw error;
  }
}

/** An entry of its own for what was refused or failed. Never throws: the refusal is what the caller shall hear of. */
export async function auditRefusal(
  deps: WriteDeps,
  operation: string,
  request: FastifyRequest,
  error: unknown,
): Promise<void> {
  const { status } = errorAnswer(error, request.id);
  const refused: AnyAnswer = { status, body: undefined, targetId: targetOf(request) };
  await deps.store
    .asAccount(callerOf(request).account.id, (tx) => audit(tx, operation, request, refused))
    .catch((err: unknown) => deps.logger.error({ err, requestId: request.id }, 'audit entry not written'));
}

async function audit(
  tx: AccountTx,
  operation: string,
  request: FastifyRequest,
  answer: AnyAnswer,
  remark?: string,
): Promise<void> {
  await insertAuditEntry(tx, {
    actor: callerOf(request).actor,
    operation,
    patientId: answer.patientId,
    targetId: answer.targetId,
    outcome: remark === undefined ? String(answer.status) : `${answer.status} ${remark}`,
    remoteAddress: request.ip,
  });
}

/** The thing that a refused request was about, as its path names it. */
function targetOf(request: FastifyRequest): string | undefined {
  const { id, requestId } = request.params as { id?: string; requestId?: string };
  return id ?? requestId;
}

interface IdempotencyKey {
  hash: Buffer;
  requestHash: Buffer;
}

function idempotencyOf(request: FastifyRequest, hmacKey: string): IdempotencyKey | undefined {
  const key = request.headers['idempotency-key'];
  if (typeof key !== 'string' || request.method !== 'POST') return undefined;
  const keyed = (text: string) => createHmac('sha256', hmacKey).update(text).digest();
  return {
    hash: keyed(`idempotency-key/${callerOf(request).account.id}/${key}`),
    // The body as the schema made it: two spellings of the same request are the same request.
    requestHash: keyed(`request/${request.method} ${request.url}\n${JSON.stringify(request.body) ?? ''}`),
  };
}

/** The answer to give again; none when this is the first request under its key. Throws 409 and 422. */
function firstAnswer(claim: Claim): AnyAnswer | undefined {
  switch (claim.kind) {
    case 'claimed':
      return undefined;
    case 'answered': {
      const { status, body, headers } = claim.answer;
      return { status, body, headers: { ...headers, 'idempotent-replayed': 'true' } };
    }
    case 'running':
      throw new ConflictError('A request with this Idempotency-Key is still running');
    case 'other-request':
      throw new ExchangeError(
        422,
        'This Idempotency-Key was used with another request within the last 24 hours',
      );
  }
}

async function keep(tx: AccountTx, keyHash: Buffer, answer: AnyAnswer): Promise<void> {
  await storeAnswer(tx, keyHash, { status: answer.status, body: answer.body, headers: answer.headers ?? {} });
}
