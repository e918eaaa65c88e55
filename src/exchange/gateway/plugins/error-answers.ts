import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { endpoints } from '../../../contract/endpoints.ts';
import type { Logger } from '../../../lib/logger.ts';
import { ExchangeError } from '../../errors.ts';
import { errorAnswer, PROBLEM_JSON } from '../errors.ts';

/** Every error of every route, and every address without a route, leaves in the same form. */
export function addErrorAnswers(app: FastifyInstance, logger: Logger): void {
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, logger));
  app.setNotFoundHandler((request, reply) => sendError(noRoute(request), request, reply, logger));
}

export function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  logger: Logger,
): FastifyReply {
  const answer = errorAnswer(error, request.id);
  if (answer.isFault) {
    const { operation } = request.routeOptions.config;
    logger.error({ err: error, requestId: request.id, operation, status: answer.status }, 'request failed');
  }
  // The body goes out as text: the response schema of the route is not asked about it.
  return reply
    .code(answer.status)
    .headers(answer.headers)
    .type(PROBLEM_JSON)
    .serializer((body: unknown) => JSON.stringify(body))
    .send(answer.body);
}

const PATHS = Object.values(endpoints).map(({ method, path }) => ({
  method,
  pattern: new RegExp(`^${path.replaceAll(/:[a-zA-Z]+/g, '[^/]+')}/?$`),
}));

function noRoute(request: FastifyRequest): ExchangeError {
  const path = request.url.split('?')[0] ?? '';
  const allowed = PATHS.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
  if (allowed.length === 0) return new ExchangeError(404, 'There is no operation at this address');
  const allow = [...new Set(allowed)].join(', ');
  return new ExchangeError(405, `This address answers ${allow}`, { headers: { allow } });
}
