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
 * Lets routes that are added from here on count their requests by account. A request is over when its answer is out and its
 * handler is done: a caller that hangs up early gets no further place for it.
 */
export function countRequests(app: FastifyInstance, accountMax?: number): void {
  app.decorate('requestShares', new RequestShares(accountMax));
  app.addHook('onRoute', (route) => {
    const { handler } = route;
    route.handler = async function (request, reply) {
      handled.add(request);
      try {
        return await handler.call(this, request, reply);
      } finally {
        handled.delete(request);
        if (isAnswered(reply)) places.get(request)?.leave();
      }
    };
  });
}

/**
 * 503 for what an account sends beyond its share, as soon as it is known whose it is and before its limits, its body and
 * its transaction ask for more.
 */
export function addRequestShare(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) =>
    countRequest(request, reply, callerOf(request).account.id),
  );
}

/** Throws OverloadError when the account has as many under way as it may. */
export function countRequest(request: FastifyRequest, reply: FastifyReply, accountId: string): void {
  const place = request.server.requestShares.take(accountId);
  places.set(request, place);
  const leave = () => {
    if (!handled.has(request)) place.leave();
  };
  reply.raw.once('finish', leave).once('close', leave);
  // Gone while its key was looked up, and nothing will say so again.
  if (isAnswered(reply)) leave();
}

/** For a request that lasts, and is bounded by places of its own from here on: a stream, an upload. */
export function leaveRequestShare(request: FastifyRequest): void {
  places.get(request)?.leave();
}

const isAnswered = ({ raw }: FastifyReply): boolean => raw.writableFinished || raw.destroyed;
