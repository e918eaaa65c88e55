import { createHmac } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { Batches } from '../../../lib/batches.ts';
import {
  type AuditRecord,
  insertAuditEntries,
  insertAuditEntry,
} from '../audit/audit-store.ts';
import type { AccountTx, Store } from '../database/database.ts';
import { retryOvertaken } from '../database/retry.ts';
import { ExchangeError } from '../errors.ts';
import { patientNamedBy, targetNamedBy } from './audited-reads.ts';
import { callerOf } from './caller.ts';
import type { GatewayPlatform } from './deps.ts';
import {
  claimIdempotencyKey,
  releaseIdempotencyKey,
  storeResponse,
} from './idempotency-store.ts';
import type { AnyResponse } from './operation.ts';

export interface WriteDeps extends IdempotencyDeps {
  store: Store;
}

/**
 * Writes audit entries of concurrent reads in batches; see `runAuditedRead`.
 */
export type ReadAudit = Batches<AuditRecord & { accountId: string }, undefined>;

export const createReadAudit = (store: Store): ReadAudit =>
  new Batches({
    batchMax: 200,
    inProgressMax: 1,
    failsAlone: true,
    work: async (records) => {
      await insertAuditEntries(store, records);
      return records.map(() => undefined);
    },
  });

/**
 * Runs a change in one transaction: its effect, its audit entry and the
 * response under its idempotency key are committed together or not at all. Only
 * success responses are stored; a rejected request changed nothing and is
 * evaluated again when it is repeated. Rejected and failed requests are audited
 * by the error handler (refusals.ts).
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
      await audit(
        tx,
        operation,
        request,
        result,
        first ? 'replayed' : undefined,
      );
      if (key !== undefined && first === undefined)
        await saveResponse(tx, key, result, deps);
      return result;
    }),
  );
  response.afterCommit?.();
  return response;
}

/**
 * Runs a read of patient data. The audit entry is committed before the response
 * is sent; concurrent reads share one commit.
 */
export async function runAuditedRead(
  deps: { store: Store; readAudit: ReadAudit },
  operation: string,
  request: FastifyRequest,
  read: (tx: AccountTx) => Promise<AnyResponse>,
): Promise<AnyResponse> {
  const { id: accountId } = callerOf(request).account;
  const response = await deps.store.asAccount(accountId, read);
  const {
    patientId = patientNamedBy(request),
    targetId = targetNamedBy(request),
  } = response;
  await Promise.all(
    [patientId, ...(response.otherPatientIds ?? [])].map((about) =>
      deps.readAudit.run({
        accountId,
        ...recordOf(operation, request, {
          ...response,
          patientId: about,
          targetId,
        }),
      }),
    ),
  );
  return response;
}

/**
 * Runs a change that waits for an external call. The key is claimed before it
 * and the response stored after it, each in a transaction of its own. If the
 * process stops in between, the key can be used again after one minute.
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
      if (known !== undefined)
        await audit(tx, operation, request, known, 'replayed');
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
    if (key !== undefined)
      await asAccount((tx) => releaseIdempotencyKey(tx, key.hash));
    throw error;
  }
}

const audit = (
  tx: AccountTx,
  operation: string,
  request: FastifyRequest,
  response: AnyResponse,
  remark?: string,
): Promise<void> =>
  insertAuditEntry(tx, recordOf(operation, request, response, remark));

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

/**
 * `idHmacKey` keys the hash under which idempotency keys are stored; they may
 * contain a medical record number.
 */
type IdempotencyDeps = Pick<GatewayPlatform, 'idHmacKey' | 'responseSeal'>;

const RUNNING_RETRY_SECONDS = 2;

interface IdempotencyKey {
  hash: Buffer;
  requestHash: Buffer;
}

/**
 * Reads the Idempotency-Key of a write; undefined if there is none. A key
 * belongs to the caller that sent it
 * (docs/decisions/0062-idempotency-keys-are-the-callers.md): a stored response
 * may contain a token, so it is returned to the same API key only. The caller
 * is identified by its name in the audit, because the orchestrator's tokens
 * change between two attempts of an activity.
 */
function idempotencyOf(
  request: FastifyRequest,
  { idHmacKey }: IdempotencyDeps,
): IdempotencyKey | undefined {
  const key = request.headers['idempotency-key'];
  if (typeof key !== 'string') return undefined;
  const keyed = (text: string) =>
    createHmac('sha256', idHmacKey).update(text).digest();
  const { account, actor } = callerOf(request);
  return {
    hash: keyed(`idempotency-key-of/${account.id}/${actor}/${key}`),
    // The body after validation, so that two spellings of the same request have
    // the same hash.
    requestHash: keyed(
      `request/${request.method} ${request.url}\n${JSON.stringify(request.body) ?? ''}`,
    ),
  };
}

/**
 * Claims the key for this request. Returns the stored response if the request
 * is a repeat, undefined if it is the first. Throws 409 with Retry-After while
 * the first request is in progress, and 422 if the key was used for a different
 * request.
 */
async function claimKeyOrFindResponse(
  tx: AccountTx,
  key: IdempotencyKey,
  { responseSeal }: IdempotencyDeps,
): Promise<AnyResponse | undefined> {
  const claim = await claimIdempotencyKey(tx, key.hash, key.requestHash);
  switch (claim.kind) {
    case 'claimed':
      return undefined;
    case 'answered': {
      const { status, patientId, answer } = claim.kept;
      const { body, headers } = responseSeal.open(key.hash, answer);
      return {
        status,
        body,
        patientId,
        headers: { ...headers, 'idempotent-replayed': 'true' },
      };
    }
    case 'running':
      // Retry-After distinguishes it from a conflict with the state of things,
      // which a repetition does not change.
      throw new ExchangeError(
        409,
        'A request with this Idempotency-Key is still in progress; try again shortly',
        {
          code: 'idempotency-key-in-progress',
          headers: { 'retry-after': String(RUNNING_RETRY_SECONDS) },
        },
      );
    case 'other-request':
      throw new ExchangeError(
        422,
        'This Idempotency-Key was used for a different request within the last 24 hours; use a new key',
        { code: 'idempotency-key-reused' },
      );
  }
}

/** Stores the response of the first request under its key. */
const saveResponse = (
  tx: AccountTx,
  { hash }: IdempotencyKey,
  { status, body, headers = {}, patientId }: AnyResponse,
  { responseSeal }: IdempotencyDeps,
): Promise<void> =>
  storeResponse(tx, hash, {
    status,
    // A response without a body says nothing of the patient, and outlives a
    // patient that it reports as deleted.
    patientId: body === undefined || body === null ? undefined : patientId,
    sealed: responseSeal.seal(hash, { body, headers }),
  });
