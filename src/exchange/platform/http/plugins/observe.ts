import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { LineBudget } from '../../../../lib/line-budget.ts';
import type { Logger } from '../../../../lib/logger.ts';
import { OVERLOAD_REASONS } from '../../errors.ts';
import { AUTHENTICATION_FAULTS } from './error-responses.ts';

export interface ObserveDeps {
  logger: Logger;
  metrics: Registry;
  /** For tests. Default: the system clock. */
  now?: () => number;
}

/**
 * One log line and one measurement per request, by the name of the operation.
 * URLs, queries, headers and bodies are not included, because they may contain
 * personal data. Of a flood of requests without a valid key, only some are
 * logged.
 */
export function observeRequests(app: FastifyInstance, deps: ObserveDeps): void {
  const unauthenticated = new LineBudget(
    UNAUTHENTICATED_LINES_PER_SECOND,
    deps.now,
  );
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the request to the end of its response, by operation and status',
    labelNames: ['operation', 'status'] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [deps.metrics],
  });
  const failures = new Counter({
    name: 'authentication_failures_total',
    help: 'Requests rejected with 401, by reason',
    labelNames: ['reason'] as const,
    registers: [deps.metrics],
  });
  // From the start, so that the first one of a kind is an increase too.
  for (const reason of [...AUTHENTICATION_FAULTS, SIGNATURE])
    failures.inc({ reason }, 0);
  const shed = new Counter({
    name: 'requests_shed_total',
    help: 'Requests refused with 503 because the account has used its share, or the gateway cannot keep up, by reason',
    labelNames: ['reason'] as const,
    registers: [deps.metrics],
  });
  for (const reason of OVERLOAD_REASONS) shed.inc({ reason }, 0);
  new Gauge({
    name: 'requests_in_progress',
    help: 'Requests of accounts that this gateway is working on',
    registers: [deps.metrics],
    collect() {
      this.set(app.requestShares.total);
    },
  });
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
  });
  // The status has already been sent, so without this line an aborted response
  // would look like a success.
  app.addHook('onSend', async (request, _reply, payload) => {
    if (payload instanceof Readable)
      payload.once('error', (error: Error) =>
        deps.logger.error(
          {
            requestId: request.id,
            operation: operationOf(request),
            error: error.name,
          },
          'response aborted',
        ),
      );
    return payload;
  });
  app.addHook('onResponse', async (request, reply) => {
    const operation = operationOf(request);
    durations.observe(
      { operation, status: String(reply.statusCode) },
      reply.elapsedTime / 1000,
    );
    const reason = request.refusalNotes?.shed;
    if (reason !== undefined) shed.inc({ reason });
    if (reply.statusCode !== 401)
      return logRequest(deps.logger, operation, request, reply);
    failures.inc({ reason: request.refusalNotes?.why ?? SIGNATURE });
    const line = unauthenticated.take();
    if (line !== undefined)
      logRequest(deps.logger, operation, request, reply, line.left);
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

/** Why a callback is rejected: it has no key. */
const SIGNATURE = 'signature';
const UNAUTHENTICATED_LINES_PER_SECOND = 50;

const operationOf = (request: FastifyRequest): string =>
  request.routeOptions.config.operation ?? 'other';

/**
 * Operations that load balancers and scrapers call every few seconds; logged at
 * level debug.
 */
const QUIET = new Set(['health', 'ready', 'metrics']);

/** @param notLogged lines of other requests left out before this one */
function logRequest(
  logger: Logger,
  operation: string,
  request: FastifyRequest,
  reply: FastifyReply,
  notLogged = 0,
): void {
  logger[QUIET.has(operation) ? 'debug' : 'info'](
    {
      requestId: request.id,
      operation,
      method: request.method,
      status: reply.statusCode,
      // The response failed halfway, or the caller disconnected.
      ...(reply.raw.writableFinished ? {} : { brokenOff: true }),
      durationMs: Math.round(reply.elapsedTime),
      ...(request.caller === null
        ? request.refusalNotes?.by
        : {
            accountId: request.caller.account.id,
            actor: request.caller.actor,
          }),
      // The address is the only clue to a caller that guesses keys.
      ...(reply.statusCode === 401 && {
        reason: request.refusalNotes?.why,
        remoteAddress: request.ip,
      }),
      ...(notLogged > 0 && { notLogged }),
    },
    'request',
  );
}
