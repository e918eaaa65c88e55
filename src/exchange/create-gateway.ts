import helmet from '@fastify/helmet';
import Fastify, { type FastifyInstance } from 'fastify';
import { serializerCompiler } from 'fastify-type-provider-zod';
import { v7 as uuidv7 } from 'uuid';
import { prepareDraining, SERVES_WHILE_CLOSING } from '../lib/draining.ts';
import { createMetrics } from '../lib/metrics.ts';
import { traceRequests } from '../lib/tracing/trace-requests.ts';
import {
  addAuthentication,
  addRequestShare,
  createKnownKeys,
  shedKnownKeys,
} from './access/authentication/authenticate.ts';
import { addScopeCheck } from './access/authentication/scope-check.ts';
import { addFeatureRoutes, type GatewayDeps } from './features.ts';
import { measureOperations } from './operations/ops/metrics.ts';
import { measureConnections } from './platform/database/connections.ts';
import { ExchangeError } from './platform/errors.ts';
import type { AddRoutes } from './platform/feature.ts';
import {
  jsonParser,
  respondToClientErrors,
} from './platform/http/client-errors.ts';
import { addHealthRoutes } from './platform/http/health.ts';
import { addOpenApi } from './platform/http/openapi/plugin.ts';
import { createOperations } from './platform/http/operations.ts';
import { limitBodyTime } from './platform/http/plugins/body-time.ts';
import {
  addErrorResponses,
  sendError,
} from './platform/http/plugins/error-responses.ts';
import { addRequestLimit } from './platform/http/plugins/limits.ts';
import { observeRequests } from './platform/http/plugins/observe.ts';
import { countRequests } from './platform/http/plugins/request-share.ts';
import { createRefusalAudit } from './platform/http/refusals.ts';
import { zodValidator } from './platform/http/validator.ts';
import { readSourceJson } from './sources/connectors/http/http-response.ts';
import { measureSources, publicSourceStates } from './sources/health/report.ts';

/**
 * Time in which a client must send its headers. For the body, see
 * plugins/body-time.ts.
 */
const HEADERS_TIMEOUT_MS = 30_000;

/**
 * Creates the HTTP server of the exchange. The caller starts it with `await
 * app.listen({ host, port })`.
 */
export async function createGateway(
  deps: GatewayDeps,
): Promise<FastifyInstance> {
  const app = Fastify({
    genReqId: () => uuidv7(),
    requestTimeout: 0,
    ...SERVES_WHILE_CLOSING,
    trustProxy: deps.trustedProxies?.length ? [...deps.trustedProxies] : false,
    http: { headersTimeout: HEADERS_TIMEOUT_MS },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 256 },
    // Fastify's own log lines contain URLs with queries; plugins/observe.ts
    // writes ours.
    logger: false,
    clientErrorHandler: respondToClientErrors(deps.publicBaseUrl),
    frameworkErrors: (error, request, reply) =>
      sendError(error, request, reply, deps),
  });
  traceRequests(app);
  prepareDraining(app);
  app.decorateRequest('caller', null);
  app.decorateRequest('refusalNotes', null);
  app.setValidatorCompiler(zodValidator);
  app.setSerializerCompiler(serializerCompiler);
  acceptEmptyBodies(app);

  await app.register(helmet, {
    // Responses are data; the API reference page has its own policy.
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    strictTransportSecurity: deps.publicBaseUrl.startsWith('https:'),
  });
  const refusals = createRefusalAudit(deps);
  app.addHook('onClose', () => refusals.close());
  addErrorResponses(app, deps, refusals);
  limitBodyTime(app);
  const metrics = createMetrics('gateway');
  measureConnections(metrics, deps.store);
  measureSources(metrics, deps.store);
  measureOperations(metrics, deps);
  observeRequests(app, { logger: deps.logger, metrics });
  countRequests(app, deps.accountRequestsMax);
  const unwatch = deps.watchPressure?.((isUnderPressure) =>
    app.requestShares.adapt(isUnderPressure),
  );
  app.addHook('onClose', async () => unwatch?.());
  await addOpenApi(app, deps.publicBaseUrl);
  addHealthRoutes(app, deps, publicSourceStates);
  const open: AddRoutes[] = [];
  await app.register(async (scope) => addInterface(scope, deps, open));
  for (const add of open) await app.register(async (scope) => add(scope));
  return app;
}

/**
 * Adds all routes that require authentication. Routes that do not are collected
 * in `open`, for the caller to add.
 */
async function addInterface(
  app: FastifyInstance,
  deps: GatewayDeps,
  open: AddRoutes[],
): Promise<void> {
  // Answers to callers are about patients or contain credentials; no cache
  // between us may keep them.
  app.addHook(
    'onRequest',
    async (_request, reply) => void reply.header('cache-control', 'no-store'),
  );
  const knownKeys = createKnownKeys();
  shedKnownKeys(app, knownKeys);
  addAuthentication(app, deps);
  addRequestShare(app, knownKeys);
  addRequestLimit(app, deps.store);
  addScopeCheck(app);
  const authenticated: AddRoutes[] = [];
  addFeatureRoutes(
    {
      operations: createOperations(app, deps),
      authenticated: (add) => void authenticated.push(add),
      open: (add) => void open.push(add),
    },
    deps,
  );
  for (const add of authenticated)
    await app.register(async (scope) => add(scope));
}

/**
 * Treats an empty body as no body, whatever its content type: axios, for
 * example, sends a POST without data as a form (docs/interface.md, Requests).
 */
function acceptEmptyBodies(app: FastifyInstance): void {
  const parse = jsonParser(app);
  app.removeAllContentTypeParsers();
  const jsonTypes = ['application/json', 'application/fhir+json'];
  app.addContentTypeParser<Buffer>(
    jsonTypes,
    { parseAs: 'buffer' },
    (request, body, done) => {
      parse(request, body, (error, value) => {
        if (
          error !== null ||
          value === undefined ||
          !request.routeOptions.config.isFhir
        )
          return done(error, value);
        const fhir = readSourceJson(body);
        if (fhir.isRead) done(null, fhir.json);
        else
          done(
            new ExchangeError(400, `The body is ${fhir.fault}`, {
              code: 'unreadable-request',
            }),
          );
      });
    },
  );
  app.addContentTypeParser<Buffer>(
    '*',
    { parseAs: 'buffer' },
    (_request, body, done) => {
      if (body.length === 0) done(null, undefined);
      else
        done(new ExchangeError(415, 'Content-Type must be application/json'));
    },
  );
}
