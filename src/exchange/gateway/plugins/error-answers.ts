import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
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
  const routes = rememberRoutes(app);
  app.setErrorHandler(async (thrown, request, reply) => {
    // A QUERY (RFC 10008) is refused for its lack of a content type before it is asked what is at the address.
    const isQuery = (thrown as { code?: unknown }).code === 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE';
    const error = isQuery ? noRoute(routes, request) : thrown;
    await auditRefusal(refusals, error, request);
    return sendError(error, request, reply, logger);
  });
  app.setNotFoundHandler((request, reply) => sendError(noRoute(routes, request), request, reply, logger));
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
    .headers({ ...answer.headers, 'x-request-id': request.id })
    .type(PROBLEM_JSON)
    .serializer((body: unknown) => JSON.stringify(body))
    .send(answer.body);
}

interface KnownRoute {
  pattern: RegExp;
  methods: readonly string[];
}

/** Every address that is added from here on, aliases too. */
function rememberRoutes(app: FastifyInstance): KnownRoute[] {
  const routes: KnownRoute[] = [];
  app.addHook('onRoute', ({ method, url }) => {
    if (url.includes('*')) return;
    const pattern = new RegExp(`^${url.replaceAll('.', '\\.').replaceAll(/:[a-zA-Z]+/g, '[^/]+')}/?$`);
    routes.push({ pattern, methods: [method].flat() });
  });
  return routes;
}

function noRoute(routes: readonly KnownRoute[], request: FastifyRequest): ExchangeError {
  const path = request.url.split('?')[0] ?? '';
  const allowed = routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods);
  if (allowed.length === 0) return new ExchangeError(404, 'There is no operation at this address');
  const allow = [...new Set(allowed)].join(', ');
  return new ExchangeError(405, `This address answers ${allow}`, { headers: { allow } });
}
