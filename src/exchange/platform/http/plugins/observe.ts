import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Counter, Histogram, type Registry } from 'prom-client';
import type { Logger } from '../../../../lib/logger.ts';

/**
 * One log line and one measurement per request, by the operation's name: addresses, queries, headers and bodies
 * stay out of both, for they may tell about a person.
 */
export function observeRequests(app: FastifyInstance, deps: { logger: Logger; metrics: Registry }): void {
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the request to the end of its answer, by operation and status',
    labelNames: ['operation', 'status'] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [deps.metrics],
  });
  const failures = new Counter({
    name: 'authentication_failures_total',
    help: 'Requests answered with 401, by what their key or token was',
    labelNames: ['reason'] as const,
    registers: [deps.metrics],
  });
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
  });
  // Its status was sent before: without a line of its own, an answer that breaks off looks like a good one.
  app.addHook('onSend', async (request, _reply, payload) => {
    if (payload instanceof Readable)
      payload.once('error', (error: Error) =>
        deps.logger.error(
          { requestId: request.id, operation: operationOf(request), error: error.name },
          'answer broke off',
        ),
      );
    return payload;
  });
  app.addHook('onResponse', async (request, reply) => {
    const operation = operationOf(request);
    durations.observe({ operation, status: String(reply.statusCode) }, reply.elapsedTime / 1000);
    if (reply.statusCode === 401) failures.inc({ reason: request.refusalNotes?.why ?? 'signature' });
    logRequest(deps.logger, operation, request, reply);
  });
  app.get(
    '/metrics',
    { schema: { hide: true }, config: { operation: 'metrics' } },
    async (_request, reply) => {
      reply.type(deps.metrics.contentType);
      return deps.metrics.metrics();
    },
  );
}

const operationOf = (request: FastifyRequest): string => request.routeOptions.config.operation ?? 'other';

/** What a load balancer and a scraper ask every few seconds is not worth a line at the usual level. */
const QUIET = new Set(['health', 'ready', 'metrics']);

function logRequest(logger: Logger, operation: string, request: FastifyRequest, reply: FastifyReply): void {
  logger[QUIET.has(operation) ? 'debug' : 'info'](
    {
      requestId: request.id,
      operation,
      method: request.method,
      status: reply.statusCode,
      // Ours failed in the middle of it, or the caller left.
      ...(reply.raw.writableFinished ? {} : { brokenOff: true }),
      durationMs: Math.round(reply.elapsedTime),
      ...(request.caller === null
        ? request.refusalNotes?.by
        : { accountId: request.caller.account.id, actor: request.caller.actor }),
      // Nothing else tells who tries keys.
      ...(reply.statusCode === 401 && {
        reason: request.refusalNotes?.why,
        remoteAddress: request.ip,
      }),
    },
    'request',
  );
}
