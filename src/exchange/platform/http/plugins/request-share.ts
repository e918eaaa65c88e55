import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { parseApiKey } from '../../../accounts/rules/api-key.ts';
import { type RequestPlace, RequestShares } from '../../limits/request-shares.ts';
import { callerOf } from './auth.ts';

declare module 'fastify' {
  interface FastifyInstance {
    requestShares: RequestShares;
  }
}

const places = new WeakMap<FastifyRequest, RequestPlace>();
const handled = new WeakSet<FastifyRequest>();

/**
 * Prepares the routes added from now on for counting concurrent requests per account. A request ends when its response is
 * sent and its handler has finished, so that a caller cannot exceed its share by disconnecting early.
 */
export function countRequests(app: FastifyInstance, accountMax?: number): void {
  app.decorate('requestShares', new RequestShares(accountMax));
  app.addHook('onRoute', (route) => {
    const { handler } = route;
    route.handler = function (request, reply) {
      const end = () => {
        handled.delete(request);
        if (isAnswered(reply)) places.get(request)?.leave();
      };
      handled.add(request);
      let result: unknown;
      try {
        result = handler.call(this, request, reply);
      } catch (error) {
        end();
        throw error;
      }
      if (result instanceof Promise) return result.finally(end);
      // A handler that returns no promise sends its response by itself, later. Returning a promise here would send an empty
      // one at once.
      end();
      return result;
    };
  });
}

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

/** Counts a request. Throws OverloadError if the account already has its maximum of concurrent requests. */
export function countRequest(request: FastifyRequest, reply: FastifyReply, accountId: string): void {
  const place = request.server.requestShares.take(accountId);
  places.set(request, place);
  const leave = () => {
    if (!handled.has(request)) place.leave();
  };
  reply.raw.once('finish', leave).once('close', leave);
  // The client disconnected during authentication; there will be no further event.
  if (isAnswered(reply)) leave();
}

/** Stops counting a long-running request that has a limit of its own: a stream, an upload. */
export function leaveRequestShare(request: FastifyRequest): void {
  places.get(request)?.leave();
}

const isAnswered = ({ raw }: FastifyReply): boolean => raw.writableFinished || raw.destroyed;
