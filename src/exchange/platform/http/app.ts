import helmet from '@fastify/helmet';
import Fastify, { type FastifyInstance } from 'fastify';
import { serializerCompiler } from 'fastify-type-provider-zod';
import { v7 as uuidv7 } from 'uuid';
import { createMetrics } from '../../../lib/metrics.ts';
import { addBulkResultRoute } from '../../bulk-create/result-routes.ts';
import { addBulkCreateRoutes } from '../../bulk-create/routes.ts';
import { addBulkUploadRoute } from '../../bulk-create/upload-route.ts';
import { addCohortPatientRoutes } from '../../cohorts/member-routes.ts';
import { addCohortRoutes } from '../../cohorts/routes.ts';
import { addConsolidatedResultRoute, addConsolidatedRoutes } from '../../consolidated-query/routes.ts';
import { addDocumentLinkRoute, addDocumentRoutes } from '../../documents/routes.ts';
import { addEmbedDataRoutes } from '../../embed/data-routes.ts';
import { addEmbedPageRoutes } from '../../embed/page-routes.ts';
import { addEmbedTokenRoutes } from '../../embed/token-routes.ts';
import { addFacilityRoutes } from '../../facilities/routes.ts';
import {
  addIdentityCallbackRoute,
  addIdentityReturnRoutes,
  addIdentityRoutes,
} from '../../identity/routes.ts';
import { addMessageCallbackRoute, addMessageRoutes } from '../../messages/routes.ts';
import { addSourceCallbackRoute } from '../../network-query/callback-route.ts';
import { addNetworkQueryRoutes } from '../../network-query/routes.ts';
import { addInboundNotificationRoutes } from '../../notifications/inbound-routes.ts';
import { addNotificationLinkRoute, addNotificationRoutes } from '../../notifications/routes.ts';
import { addPatientRoutes } from '../../patients/routes.ts';
import { addQuerySweepRoutes } from '../../query-sweep/routes.ts';
import { addLinkRoutes } from '../../records/link-routes.ts';
import { addWebhookRoutes } from '../../webhooks/routes.ts';
import { addSettingsRoutes } from '../../webhooks/settings-routes.ts';
import { ExchangeError } from '../errors.ts';
import { answerClientError } from './client-errors.ts';
import type { GatewayDeps } from './deps.ts';
import { addHealthRoutes } from './health.ts';
import { addOpenApi } from './openapi/plugin.ts';
import { createOperations } from './operations.ts';
import { addAuthentication } from './plugins/auth.ts';
import { limitBodyTime } from './plugins/body-time.ts';
import { addErrorAnswers, sendError } from './plugins/error-answers.ts';
import { addRequestLimit } from './plugins/limits.ts';
import { observeRequests } from './plugins/observe.ts';
import { addRequestShare, countRequests } from './plugins/request-share.ts';
import { addScopeCheck } from './plugins/scopes.ts';
import { createRefusalAudit } from './refusals.ts';
import { zodValidator } from './validator.ts';
import { halfCharacter, hasHalfCharacter } from './well-formed.ts';

/** A client that has not sent its headers by then is cut off; its body: plugins/body-time.ts. */
const HEADERS_TIMEOUT_MS = 30_000;

/** The exchange over HTTP. Listens on nothing yet: `await app.listen({ host, port })`. */
export async function createGateway(deps: GatewayDeps): Promise<FastifyInstance> {
  const app = Fastify({
    genReqId: () => uuidv7(),
    requestTimeout: 0,
    trustProxy: deps.trustedProxies?.length ? [...deps.trustedProxies] : false,
    http: { headersTimeout: HEADERS_TIMEOUT_MS },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 256 },
    // Fastify's own log lines carry addresses with their queries; plugins/observe.ts writes ours.
    logger: false,
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => sendError(error, request, reply, deps.logger),
  });
  app.decorateRequest('caller', null);
  app.decorateRequest('refusalNotes', null);
  app.setValidatorCompiler(zodValidator);
  app.setSerializerCompiler(serializerCompiler);
  acceptEmptyBodies(app);

  await app.register(helmet, {
    // Answers are data; the reference page brings a policy of its own.
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    strictTransportSecurity: deps.publicBaseUrl.startsWith('https:'),
  });
  const refusals = createRefusalAudit(deps);
  app.addHook('onClose', () => refusals.close());
  addErrorAnswers(app, deps.logger, refusals);
  limitBodyTime(app);
  observeRequests(app, { logger: deps.logger, metrics: createMetrics('gateway') });
  countRequests(app, deps.accountRequestsMax);
  await addOpenApi(app, deps.publicBaseUrl);
  addHealthRoutes(app, deps);
  addEmbedPageRoutes(app, deps);
  await app.register(async (scope) => addInterface(scope, deps));
  await app.register(async (scope) => addSourceCallbackRoute(scope, deps));
  await app.register(async (scope) => addInboundNotificationRoutes(scope, deps));
  await app.register(async (scope) => addIdentityCallbackRoute(scope, deps));
  await app.register(async (scope) => addMessageCallbackRoute(scope, deps));
  await app.register(async (scope) => {
    addLinkRoutes(scope, deps);
    addNotificationLinkRoute(scope, deps);
    addIdentityReturnRoutes(scope, deps);
    addBulkResultRoute(scope, deps);
    addConsolidatedResultRoute(scope, deps);
    addDocumentLinkRoute(scope, deps);
  });
  return app;
}

/** The operations of the contract, each behind authentication and the account's limit. */
async function addInterface(app: FastifyInstance, deps: GatewayDeps): Promise<void> {
  addAuthentication(app, deps);
  addRequestShare(app);
  addRequestLimit(app, deps.store);
  addScopeCheck(app);
  const operations = createOperations(app, deps);
  addPatientRoutes(operations, deps);
  addCohortRoutes(operations, deps);
  addCohortPatientRoutes(operations, deps);
  addFacilityRoutes(operations);
  addEmbedTokenRoutes(operations, deps);
  addEmbedDataRoutes(app, deps);
  addNetworkQueryRoutes(operations, deps);
  addIdentityRoutes(operations, deps);
  addMessageRoutes(operations, deps);
  addNotificationRoutes(operations, deps);
  addConsolidatedRoutes(operations, deps);
  addDocumentRoutes(operations, deps);
  addQuerySweepRoutes(operations, deps);
  addSettingsRoutes(operations, deps);
  addWebhookRoutes(operations, deps);
  addBulkCreateRoutes(operations, deps);
  await app.register(async (scope) => addBulkUploadRoute(scope, deps));
}

/**
 * An empty body is no body, whatever its content type says: axios, for one, calls a POST without data a form
 * (interface-decisions.md, Empty POST bodies).
 */
function acceptEmptyBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined);
    else
      void parse(request, body, (error, value) =>
        done(error ?? (hasHalfCharacter(body, value) ? halfCharacter() : null), value),
      );
  });
  app.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, (_request, body, done) => {
    if (body.length === 0) done(null, undefined);
    else done(new ExchangeError(415, 'The body must be application/json'));
  });
}
