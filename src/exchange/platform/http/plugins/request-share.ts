import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
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

/**
 * Rejects requests beyond the account's share with 503, right after authentication and before rate limits, body and
 * transaction use further resources.
 */
export function addRequestShare(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) =>
    countRequest(request, reply, callerOf(request).account.id),
  );
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
