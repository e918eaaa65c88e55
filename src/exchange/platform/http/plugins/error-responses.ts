import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../../../../lib/logger.ts';
import { ExchangeError, OverloadError } from '../../errors.ts';
import { RefusalBrake } from '../../limits/refusal-brake.ts';
import { patientNamedBy, targetNamedBy } from '../audited-reads.ts';
import { errorAnswer, isConnectionFault, PROBLEM_JSON } from '../errors.ts';
import type { Refusal, RefusalAudit } from '../refusals.ts';
import { leaveRequestShare } from './request-share.ts';

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
export function addErrorResponses(app: FastifyInstance, logger: Logger, refusals: RefusalAudit): void {
  const routes = rememberRoutes(app);
  const brake = new RefusalBrake();
  app.setErrorHandler(async (thrown, request, reply) => {
    // A QUERY (RFC 10008) is refused for its lack of a content type before it is asked what is at the address.
    const isQuery = (thrown as { code?: unknown }).code === 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE';
    const error = isQuery ? noRoute(routes, request) : thrown;
    await auditRefusal(refusals, error, request);
    await holdBack(brake, error, request);
    return sendError(error, request, reply, logger);
  });
  // Asked by a method that it does not know, a fixed address would be taken for one with an id: PUT /patient/match.
  app.addHook('onRequest', async (request) => {
    const isFixed = routes.fixed.has(pathOf(request));
    if (isFixed && request.routeOptions.url?.includes(':')) throw noRoute(routes, request);
  });
  app.setNotFoundHandler((request, reply) => sendError(noRoute(routes, request), request, reply, logger));
}

/** Refusals that a client can cause as fast as it sends. */
const QUICK_REFUSALS: ReadonlySet<number> = new Set([401, 403, 429, 503]);

async function holdBack(brake: RefusalBrake, error: unknown, request: FastifyRequest): Promise<void> {
  if (!QUICK_REFUSALS.has(errorAnswer(error, request.id).status)) return;
  leaveRequestShare(request);
  await brake.hold(request.caller?.account.id ?? request.refusalNotes?.by?.accountId ?? 'strangers');
}

async function auditRefusal(refusals: RefusalAudit, error: unknown, request: FastifyRequest): Promise<void> {
  const refusal = refusalOf(request, error);
  if (refusal === undefined) return;
  // Who waits for a database that is away, or for a turn, would wait for it a second time.
  if (isConnectionFault(error) || error instanceof OverloadError) refusals.count(refusal);
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

interface KnownRoutes {
  /** Methods of an address without parameters. */
  fixed: Map<string, string[]>;
  others: { pattern: RegExp; methods: readonly string[] }[];
}

/** Every address that is added from here on, aliases too. */
function rememberRoutes(app: FastifyInstance): KnownRoutes {
  const routes: KnownRoutes = { fixed: new Map(), others: [] };
  app.addHook('onRoute', ({ method, url }) => {
    if (url.includes('*')) return;
    const methods = [method].flat();
    if (!url.includes(':')) {
      routes.fixed.set(url, [...(routes.fixed.get(url) ?? []), ...methods]);
      return;
    }
    const pattern = new RegExp(`^${url.replaceAll('.', '\\.').replaceAll(/:[a-zA-Z]+/g, '[^/]+')}/?$`);
    routes.others.push({ pattern, methods });
  });
  return routes;
}

/** Without the slash at its end. */
const pathOf = ({ url }: FastifyRequest): string => url.split('?', 1)[0]?.replace(/(?<=.)\/$/, '') ?? '';

function noRoute({ fixed, others }: KnownRoutes, request: FastifyRequest): ExchangeError {
  const path = pathOf(request);
  const allowed =
    fixed.get(path) ?? others.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods);
  if (allowed.length === 0) return new ExchangeError(404, 'There is no operation at this address');
  const allow = [...new Set(allowed)].join(', ');
  return new ExchangeError(405, `This address answers ${allow}`, { headers: { allow } });
}
