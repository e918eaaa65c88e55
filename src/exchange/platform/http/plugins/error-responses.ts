import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LineBudget } from '../../../../lib/line-budget.ts';
import type { Logger } from '../../../../lib/logger.ts';
import { sendNotice } from '../../../../lib/pages/notice-page.ts';
import { isConnectionFault } from '../../database/postgres-errors.ts';
import {
  ExchangeError,
  OverloadError,
  type OverloadReason,
  UnavailableError,
} from '../../errors.ts';
import { patientNamedBy, targetNamedBy } from '../audited-reads.ts';
import type { GatewayPlatform } from '../deps.ts';
import {
  type ErrorResponse,
  OAuthRefusal,
  PROBLEM_JSON,
  toErrorResponse,
  withAddress,
} from '../errors.ts';
import {
  FHIR_JSON_ERROR,
  isFhirUrl,
  operationOutcomeOf,
} from '../operation-outcome.ts';
import type { RefusalAudit, RefusedRequest } from '../refusals.ts';
import { leaveRequestShare } from './request-share.ts';

export const AUTHENTICATION_FAULTS = [
  'missing',
  'unknown',
  'revoked',
  'expired',
] as const;

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Audits an error that a route answers itself, holds back who causes many,
     * and says what a caller may know of it.
     */
    refuse(thrown: unknown, request: FastifyRequest): Promise<ErrorResponse>;
  }
  interface FastifyRequest {
    /**
     * Details for the audit entry, should the request be rejected, that caller
     * and URL do not provide.
     */
    refusalNotes: {
      by?: { accountId: string; actor: string };
      /** Why authentication failed (401). */
      why?: (typeof AUTHENTICATION_FAULTS)[number];
      targetId?: string;
      /**
       * Why the request was refused although nothing is wrong with it (503).
       */
      shed?: OverloadReason;
    } | null;
  }
}

/**
 * Sends all errors, and requests without a route, as responses of the same
 * form. Rejected and failed requests of a known account are audited first.
 */
export function addErrorResponses(
  app: FastifyInstance,
  deps: ErrorDeps,
  refusals: RefusalAudit,
): void {
  const routes = rememberRoutes(app);
  const brake = new RefusalBrake();
  app.decorate('refuse', async (thrown: unknown, request: FastifyRequest) => {
    await auditRefusal(refusals, thrown, request);
    await holdBack(brake, thrown, request);
    return responseTo(thrown, request, deps.logger);
  });
  app.setErrorHandler(async (thrown, request, reply) => {
    // Fastify rejects a QUERY request (RFC 10008) without a content type before
    // it looks up the route.
    const isQuery =
      (thrown as { code?: unknown }).code ===
      'FST_ERR_ROUTE_MISSING_CONTENT_TYPE';
    const error = isQuery ? noRoute(routes, request) : thrown;
    if (error instanceof OverloadError)
      request.refusalNotes = { ...request.refusalNotes, shed: error.reason };
    await auditRefusal(refusals, error, request);
    await holdBack(brake, error, request);
    return sendError(error, request, reply, deps);
  });
  // With a method it does not support, a fixed path would match a path with an
  // id: PUT /patient/match. And the type of a body that no operation reads is
  // not looked at.
  app.addHook('onRequest', async (request) => {
    const isFixed = routes.fixed.has(pathOf(request));
    if (request.is404 || (isFixed && request.routeOptions.url?.includes(':')))
      throw noRoute(routes, request);
  });
  app.addHook('onSend', async (request, reply, payload) => {
    if (reply.statusCode >= 400 && isStranger(request))
      await brake.hold(STRANGERS);
    return payload;
  });
  app.setNotFoundHandler((request, reply) =>
    sendError(noRoute(routes, request), request, reply, deps),
  );
}

/** All callers of whom no key, token or link is known. */
const STRANGERS = 'strangers';
const isStranger = ({ caller, refusalNotes }: FastifyRequest): boolean =>
  caller === null && refusalNotes?.by === undefined;

/** Statuses of errors that cost a client nothing to cause. */
const QUICK_REFUSALS: ReadonlySet<number> = new Set([401, 403, 429, 503]);

async function holdBack(
  brake: RefusalBrake,
  error: unknown,
  request: FastifyRequest,
): Promise<void> {
  if (!QUICK_REFUSALS.has(toErrorResponse(error, request.id).status)) return;
  leaveRequestShare(request);
  const accountId =
    request.caller?.account.id ?? request.refusalNotes?.by?.accountId;
  // Every refusal of strangers is held back, when it is sent.
  if (accountId !== undefined) await brake.hold(accountId);
}

async function auditRefusal(
  refusals: RefusalAudit,
  error: unknown,
  request: FastifyRequest,
): Promise<void> {
  const refusal = refusalOf(request, error);
  if (refusal === undefined) return;
  // The request has already waited for the database, or for its turn; writing
  // the entry now would make it wait again.
  if (isConnectionFault(error) || error instanceof OverloadError)
    refusals.count(refusal);
  else await refusals.note(refusal);
}

function refusalOf(
  request: FastifyRequest,
  error: unknown,
): RefusedRequest | undefined {
  const { caller, refusalNotes: notes } = request;
  const by =
    notes?.by ??
    (caller === null
      ? undefined
      : { accountId: caller.account.id, actor: caller.actor });
  if (by === undefined) return undefined;
  const { status } = toErrorResponse(error, request.id);
  return {
    ...by,
    operation: request.routeOptions.config.operation ?? 'unknown',
    patientId: patientNamedBy(request),
    targetId: notes?.targetId ?? targetNamedBy(request),
    outcome:
      notes?.why === undefined ? String(status) : `${status} ${notes.why}`,
    remoteAddress: request.ip,
  };
}

/** In this process, whatever is away. */
const OUTAGES = new LineBudget(10);

/** What is answered to an error; a fault of ours is logged. */
function responseTo(
  error: unknown,
  request: FastifyRequest,
  logger: Logger,
): ErrorResponse {
  const response = toErrorResponse(error, request.id);
  if (response.isFault) {
    const { operation } = request.routeOptions.config;
    // Every request fails alike while a part is away.
    const line = response.status === 503 ? OUTAGES.take() : { left: 0 };
    if (line !== undefined)
      logger.error(
        {
          err: error,
          requestId: request.id,
          operation,
          status: response.status,
          ...(line.left > 0 && { notLogged: line.left }),
        },
        'request failed',
      );
  } else if (
    error instanceof UnavailableError &&
    error.options.cause !== undefined
  ) {
    const { operation } = request.routeOptions.config;
    logger.warn(
      { err: error.options.cause, requestId: request.id, operation },
      'request postponed',
    );
  }
  return response;
}

export type ErrorDeps = Pick<GatewayPlatform, 'logger' | 'publicBaseUrl'>;

export function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { logger, publicBaseUrl }: ErrorDeps,
): FastifyReply {
  const response = responseTo(error, request, logger);
  if (error instanceof OAuthRefusal)
    return reply
      .code(error.status)
      .header('x-request-id', request.id)
      .send(error.body);
  if (request.routeOptions.config.isForPeople)
    return sendErrorPage(response, reply.header('x-request-id', request.id));
  // Serialized here, so that the response schema of the route is not applied.
  return reply
    .code(response.status)
    .headers({ ...response.headers, 'x-request-id': request.id })
    .type(isFhirUrl(request.url) ? FHIR_JSON_ERROR : PROBLEM_JSON)
    .serializer((body: unknown) => JSON.stringify(body))
    .send(
      isFhirUrl(request.url)
        ? operationOutcomeOf(response)
        : withAddress(response.body, publicBaseUrl),
    );
}

const sendErrorPage = (
  { status, headers, body }: ErrorResponse,
  reply: FastifyReply,
): FastifyReply =>
  sendNotice(
    reply.code(status).headers(headers),
    'This page cannot be shown',
    `${body.detail}.${status < 429 ? ' If you still need it, ask the organization that sent you here for a new link.' : ''}`,
  );

interface KnownRoutes {
  /** Methods by path, for paths without parameters. */
  fixed: Map<string, string[]>;
  others: { pattern: RegExp; methods: readonly string[] }[];
}

/** Records every route that is added from now on, including aliases. */
function rememberRoutes(app: FastifyInstance): KnownRoutes {
  const routes: KnownRoutes = { fixed: new Map(), others: [] };
  app.addHook('onRoute', ({ method, url }) => {
    if (url.includes('*')) return;
    const methods = [method].flat();
    if (!url.includes(':')) {
      routes.fixed.set(url, [...(routes.fixed.get(url) ?? []), ...methods]);
      return;
    }
    const pattern = new RegExp(
      `^${url.replaceAll(/[.$]/g, '\\$&').replaceAll(/:[a-zA-Z]+/g, '[^/]+')}/?$`,
    );
    routes.others.push({ pattern, methods });
  });
  return routes;
}

/** The path without query and trailing slash. */
const pathOf = ({ url }: FastifyRequest): string =>
  url.split('?', 1)[0]?.replace(/(?<=.)\/$/, '') ?? '';

/** 405 if the path supports other methods, else 404. */
function noRoute(
  { fixed, others }: KnownRoutes,
  request: FastifyRequest,
): ExchangeError {
  const path = pathOf(request);
  const allowed =
    fixed.get(path) ??
    others
      .filter(({ pattern }) => pattern.test(path))
      .flatMap(({ methods }) => methods);
  if (allowed.length === 0)
    return new ExchangeError(404, 'There is no operation at this path', {
      code: 'no-such-operation',
    });
  const allow = [...new Set(allowed)].join(', ');
  return new ExchangeError(405, `This path supports only ${allow}`, {
    headers: { allow },
  });
}

const QUICK_PER_SECOND = 50;
const HOLD_MS = 2_000;

/**
 * Slows down clients that repeat rejected requests immediately, whose error
 * responses would otherwise overload the gateway. The first error responses of
 * a second are sent at once; each further one is delayed for longer than
 * `Retry-After`.
 */
export class RefusalBrake {
  #second = 0;
  #counts = new Map<string, number>();
  private readonly options: { quickPerSecond?: number; holdMs?: number };

  constructor(options: { quickPerSecond?: number; holdMs?: number } = {}) {
    this.options = options;
  }

  /** @param group the account, or a common name for all callers without one */
  async hold(group: string): Promise<void> {
    const { quickPerSecond = QUICK_PER_SECOND, holdMs = HOLD_MS } =
      this.options;
    const second = Math.floor(Date.now() / 1_000);
    if (second !== this.#second) this.#counts = new Map();
    this.#second = second;
    const count = (this.#counts.get(group) ?? 0) + 1;
    this.#counts.set(group, count);
    if (count > quickPerSecond) await sleep(holdMs);
  }
}
