import { createHmac } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { ConflictError, ExchangeError } from '../errors.ts';
import type { AccountTx } from '../store/database.ts';
import { claimIdempotencyKey, storeAnswer } from '../store/idempotency.ts';
import type { AnswerSeal } from './answer-seal.ts';
import type { AnyAnswer } from './operation.ts';
import { callerOf } from './plugins/auth.ts';

export interface IdempotencyDeps {
  /** Idempotency keys may carry a record number, so only their keyed hash is kept. */
  idHmacKey: string;
  answerSeal: AnswerSeal;
}

export interface IdempotencyKey {
  hash: Buffer;
  requestHash: Buffer;
}

export function idempotencyOf(
  request: FastifyRequest,
  { idHmacKey }: IdempotencyDeps,
): IdempotencyKey | undefined {
  const key = request.headers['idempotency-key'];
  if (typeof key !== 'string' || request.method !== 'POST') return undefined;
  const keyed = (text: string) => createHmac('sha256', idHmacKey).update(text).digest();
  return {
    hash: keyed(`idempotency-key/${callerOf(request).account.id}/${key}`),
    // The body as the schema made it: two spellings of the same request are the same request.
    requestHash: keyed(`request/${request.method} ${request.url}\n${JSON.stringify(request.body) ?? ''}`),
  };
}

/** Claims the key; the answer to give again, or none when this is the first request under it. Throws 409 and 422. */
export async function firstAnswer(
  tx: AccountTx,
  key: IdempotencyKey,
  { answerSeal }: IdempotencyDeps,
): Promise<AnyAnswer | undefined> {
  const claim = await claimIdempotencyKey(tx, key.hash, key.requestHash);
  switch (claim.kind) {
    case 'claimed':
      return undefined;
    case 'answered': {
      const { body, headers } = answerSeal.open(key.hash, claim.answer);
      const { status, patientId } = claim;
      return { status, body, patientId, headers: { ...headers, 'idempotent-replayed': 'true' } };
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

export const keepAnswer = (
  tx: AccountTx,
  { hash }: IdempotencyKey,
  { status, body, headers = {}, patientId }: AnyAnswer,
  { answerSeal }: IdempotencyDeps,
): Promise<void> =>
  storeAnswer(tx, hash, { status, patientId, sealed: answerSeal.seal(hash, { body, headers }) });
