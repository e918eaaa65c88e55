import { createHmac } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { AccountTx } from '../database/database.ts';
import { ExchangeError } from '../errors.ts';
import {
  claimIdempotencyKey,
  findStoredResponse,
  type StoredResponse,
  storeResponse,
} from './idempotency-store.ts';
import type { AnyResponse } from './operation.ts';
import { callerOf } from './plugins/auth.ts';
import type { ResponseSeal } from './response-seal.ts';

export interface IdempotencyDeps {
  /** Key of the hash under which idempotency keys are stored; they may contain a medical record number. */
  idHmacKey: string;
  responseSeal: ResponseSeal;
}

const RUNNING_RETRY_SECONDS = 2;

export interface IdempotencyKey {
  hash: Buffer;
  /** The hash of the previous version, which did not include the caller, only the account. */
  formerHash: Buffer;
  requestHash: Buffer;
}

/**
 * Reads the Idempotency-Key of a POST; undefined if there is none. A key belongs to the caller that sent it
 * (docs/decisions/0062-idempotency-keys-are-the-callers.md): a stored response may contain a token, so it is returned to the
 * same API key only. The caller is identified by its name in the audit, because the orchestrator's tokens change between two
 * attempts of an activity.
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
    // The body after validation, so that two spellings of the same request have the same hash.
    requestHash: keyed(`request/${request.method} ${request.url}\n${JSON.stringify(request.body) ?? ''}`),
  };
}

/**
 * Claims the key for this request. Returns the stored response if the request is a repeat, undefined if it is the first.
 * Throws 409 with Retry-After while the first request is in progress, and 422 if the key was used for a different request.
 */
export async function claimKeyOrFindResponse(
  tx: AccountTx,
  key: IdempotencyKey,
  { responseSeal }: IdempotencyDeps,
): Promise<AnyResponse | undefined> {
  const replay = (hash: Buffer, { status, patientId, answer }: StoredResponse): AnyResponse => {
    const { body, headers } = responseSeal.open(hash, answer);
    return { status, body, patientId, headers: { ...headers, 'idempotent-replayed': 'true' } };
  };
  // Keys of the previous version must be honoured for a day after the upgrade.
  const former = await findStoredResponse(tx, key.formerHash, key.requestHash);
  if (former !== undefined) return replay(key.formerHash, former);
  const claim = await claimIdempotencyKey(tx, key.hash, key.requestHash);
  switch (claim.kind) {
    case 'claimed':
      return undefined;
    case 'answered':
      return replay(key.hash, claim.kept);
    case 'running':
      // Retry-After distinguishes it from a conflict with the state of things, which a repetition does not change.
      throw new ExchangeError(
        409,
        'A request with this Idempotency-Key is still in progress; try again shortly',
        { headers: { 'retry-after': String(RUNNING_RETRY_SECONDS) } },
      );
    case 'other-request':
      throw new ExchangeError(
        422,
        'This Idempotency-Key was used for a different request within the last 24 hours; use a new key',
      );
  }
}

/** Stores the response of the first request under its key. */
export const saveResponse = (
  tx: AccountTx,
  { hash }: IdempotencyKey,
  { status, body, headers = {}, patientId }: AnyResponse,
  { responseSeal }: IdempotencyDeps,
): Promise<void> =>
  storeResponse(tx, hash, { status, patientId, sealed: responseSeal.seal(hash, { body, headers }) });
