import { createHmac } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { AccountTx } from '../database/database.ts';
import { ConflictError, ExchangeError } from '../errors.ts';
import { claimIdempotencyKey, findKeptAnswer, type KeptResponse, storeAnswer } from './idempotency-store.ts';
import type { AnyResponse } from './operation.ts';
import { callerOf } from './plugins/auth.ts';
import type { ResponseSeal } from './response-seal.ts';

export interface IdempotencyDeps {
  /** Idempotency keys may carry a record number, so only their keyed hash is kept. */
  idHmacKey: string;
  responseSeal: ResponseSeal;
}

export interface IdempotencyKey {
  hash: Buffer;
  /** As the version before hashed it: of the account, whoever of it asked. */
  formerHash: Buffer;
  requestHash: Buffer;
}

/**
 * A key is the caller's who sent it (docs/decisions/0062-idempotency-keys-are-the-callers.md): an answer, which may hold a
 * token, is given again to the same API key only. To the audit's name of the caller, that is, because the orchestrator's
 * tokens change between two attempts of one activity.
 */

export function idempotencyOf(
  request: FastifyRequest,
  { idHmacKey }: IdempotencyDeps,
): IdempotencyKey | undefined {
  const key = request.headers['idempotency-key'];
  if (typeof key !== 'string' || request.method !== 'POST') return undefined;
  const keyed = (text: string) => createHmac('sha256', idHmacKey).update(text).digest();
  const { account, actor } = callerOf(request);
  return {
    hash: keyed(`idempotency-key-of/${account.id}/${actor}/${key}`),
    formerHash: keyed(`idempotency-key/${account.id}/${key}`),
    // The body as the schema made it: two spellings of the same request are the same request.
    requestHash: keyed(`request/${request.method} ${request.url}\n${JSON.stringify(request.body) ?? ''}`),
  };
}

/** Claims the key; the answer to give again, or none when this is the first request under it. Throws 409 and 422. */
export async function firstResponse(
  tx: AccountTx,
  key: IdempotencyKey,
  { responseSeal }: IdempotencyDeps,
): Promise<AnyResponse | undefined> {
  const again = (hash: Buffer, { status, patientId, answer }: KeptResponse): AnyResponse => {
    const { body, headers } = responseSeal.open(hash, answer);
    return { status, body, patientId, headers: { ...headers, 'idempotent-replayed': 'true' } };
  };
  // Until a day after the upgrade from that version, a repeat must not do its work twice.
  const former = await findKeptAnswer(tx, key.formerHash, key.requestHash);
  if (former !== undefined) return again(key.formerHash, former);
  const claim = await claimIdempotencyKey(tx, key.hash, key.requestHash);
  switch (claim.kind) {
    case 'claimed':
      return undefined;
    case 'answered':
      return again(key.hash, claim.kept);
    case 'running':
      throw new ConflictError('A request with this Idempotency-Key is still running');
    case 'other-request':
      throw new ExchangeError(
        422,
        'This Idempotency-Key was used with another request within the last 24 hours',
      );
  }
}

export const keepResponse = (
  tx: AccountTx,
  { hash }: IdempotencyKey,
  { status, body, headers = {}, patientId }: AnyResponse,
  { responseSeal }: IdempotencyDeps,
): Promise<void> =>
  storeAnswer(tx, hash, { status, patientId, sealed: responseSeal.seal(hash, { body, headers }) });
