import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { endpoints } from '../../../contract/endpoints.ts';
import type { Logger } from '../../../lib/logger.ts';
import { ExchangeError } from '../../errors.ts';
import { patientNamedBy, targetNamedBy } from '../audited-reads.ts';
import { errorAnswer, isConnectionFault, PROBLEM_JSON } from '../errors.ts';
import type { Refusal, RefusalAudit } from '../refusals.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What the audit is to say, should the request be refused, that the caller and the address do not tell. */
    refusalNotes: {
      by?: { accountId: string; actor: string };
      /** Of a 401: what the key or token is. */
      why?: 'missing' | 'unknown' | 'revoked' | 'expired';
      targetId?: string;
    } | null;
  }
}

/**
 * Every error of every route, and every address without a route, leaves in the same form. What is refused to an account
 * that is known, or fails for it, is in the audit by then.
 */
export function addErrorAnswers(app: FastifyInstance, logger: Logger, refusals: RefusalAudit): void {
  app.setErrorHandler(async (error, request, reply) => {
    await auditRefusal(refusals, error, request);
    return sendError(error, request, reply, logger);
  });
  app.setNotFoundHandler((request, reply) => sendError(noRoute(request), request, reply, logger));
}

async function auditRefusal(refusals: RefusalAudit, error: unknown, request: FastifyRequest): Promise<void> {
  const refusal = refusalOf(request, error);
  if (refusal === undefined) return;
  // Who waits for a database that is away would wait for it a second time.
  if (isConnectionFault(error)) refusals.count(refusal);
  else await refusals.note(refusal);
}

function refusalOf(request: FastifyRequest, error: unknown): Refusal | undefined {
  const { caller, refusalNotes: notes } = request;
  const by =
    notes?.by ?? (caller === null ? undefined : { accountId: caller.account.id, actor: caller.actor });
  if (by === undefined) return undefined;
  const { status } = errorAnswer(error, request.id);
  return {
    ...by,
    operation: request.routeOptions.config.operation ?? 'unknown',
    patientId: patientNamedBy(request),
    targetId: notes?.targetId ?? targetNamedBy(request),
    outcome: notes?.why === undefined ? String(status) : `${status} ${notes.why}`,
    remoteAddress: request.ip,
  };
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
