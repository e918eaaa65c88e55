import type { FastifyInstance, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { callerOf } from '../../platform/http/caller.ts';
import { countRequest } from '../../platform/http/plugins/request-share.ts';
import { parseApiKey } from '../accounts/rules/api-key.ts';

/** The callers of API keys that were valid lately, by the hash of the key. */
export type KnownKeys = LRUCache<string, { accountId: string; actor: string }>;

export const createKnownKeys = (): KnownKeys => new LRUCache({ max: 10_000 });

/**
 * Rejects requests of an account that has no place left before their key is looked up, if it was valid lately: what is refused
 * then costs no statement. Whether the key still is valid matters only for requests that are served.
 */
export function shedKnownKeys(app: FastifyInstance, knownKeys: KnownKeys): void {
  app.addHook('onRequest', async (request) => {
    const by = knownKeys.get(keyOf(request) ?? '');
    const refusal = by && request.server.requestShares.refusal(by.accountId);
    if (refusal === undefined) return;
    request.refusalNotes = { by };
    throw refusal;
  });
}

/** The hash of the API key in the usual header. */
function keyOf({ headers }: FastifyRequest): string | undefined {
  const apiKey = headers['x-api-key'];
  return typeof apiKey === 'string' ? parseApiKey(apiKey)?.hash.toString('hex') : undefined;
}

/**
 * Rejects requests beyond the account's share with 503, right after authentication and before rate limits, body and
 * transaction use further resources.
 */
export function addRequestShare(app: FastifyInstance, knownKeys: KnownKeys): void {
  app.addHook('onRequest', async (request, reply) => {
    const { account, actor } = callerOf(request);
    const key = keyOf(request);
    if (key !== undefined) knownKeys.set(key, { accountId: account.id, actor });
    countRequest(request, reply, account.id);
  });
}
