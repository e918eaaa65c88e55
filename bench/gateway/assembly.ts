import helmet from '@fastify/helmet';
import Fastify, { type FastifyInstance } from 'fastify';
import { serializerCompiler } from 'fastify-type-provider-zod';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import {
  createKeyCheck,
  type KeyCheck,
} from '../../src/exchange/access/accounts/key-check.ts';
import { addAuthentication } from '../../src/exchange/access/authentication/authenticate.ts';
import { addScopeCheck } from '../../src/exchange/access/authentication/scope-check.ts';
import type { GatewayDeps } from '../../src/exchange/features.ts';
import { addFacilityRoutes } from '../../src/exchange/people/facilities/feature.ts';
import { addPatientRoutes } from '../../src/exchange/people/registration/routes.ts';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import { createResponseSeal } from '../../src/exchange/platform/http/idempotency-store.ts';
import { createOperations } from '../../src/exchange/platform/http/operations.ts';
import { addErrorResponses } from '../../src/exchange/platform/http/plugins/error-responses.ts';
import { addRequestLimit } from '../../src/exchange/platform/http/plugins/limits.ts';
import { observeRequests } from '../../src/exchange/platform/http/plugins/observe.ts';
import { createRefusalAudit } from '../../src/exchange/platform/http/refusals.ts';
import { zodValidator } from '../../src/exchange/platform/http/validator.ts';
import { parseKeyRing } from '../../src/lib/key-ring.ts';

const ID_HMAC_KEY = 'id-hmac-key-of-the-bench-only-000';

/** The parts that one gateway of the benchmark runs without. */
export interface Without {
  keyLookUp?: boolean;
  readAudit?: boolean;
}

/**
 * Assembles a gateway; only here can either of the two measured parts be left
 * out.
 */
export async function createBenchGateway(
  store: Store,
  dataKeys: string,
  without: Without,
): Promise<FastifyInstance> {
  // As in production, except for the destination of the log.
  const logger = pino(
    { level: 'info' },
    pino.destination({ dest: '/dev/null', sync: false }),
  );
  const app = Fastify({
    requestTimeout: 0,
    routerOptions: { ignoreTrailingSlash: true },
    logger: false,
  });
  app.decorateRequest('caller', null);
  app.decorateRequest('refusalNotes', null);
  app.setValidatorCompiler(zodValidator);
  app.setSerializerCompiler(serializerCompiler);
  await app.register(helmet);
  addErrorResponses(
    app,
    { logger, publicBaseUrl: 'http://bench.invalid' },
    createRefusalAudit({ store, logger }),
  );
  observeRequests(app, { logger, metrics: new Registry() });
  await app.register(async (scope) => {
    const keys = createKeyCheck(store);
    addAuthentication(scope, {
      store,
      internalTokenKey: 'internal-token-key-of-the-bench-only',
      publicBaseUrl: 'http://bench.invalid',
      keys: without.keyLookUp ? remembering(keys) : keys,
    });
    addRequestLimit(scope, store);
    addScopeCheck(scope);
    const operations = createOperations(scope, {
      store,
      idHmacKey: ID_HMAC_KEY,
      responseSeal: createResponseSeal(parseKeyRing(dataKeys)),
      ...(without.readAudit && { isAudited: () => false }),
    });
    addFacilityRoutes(operations);
    // Creating and reading a patient use nothing else.
    addPatientRoutes(operations, {
      store,
      idHmacKey: ID_HMAC_KEY,
    } as GatewayDeps);
  });
  return app;
}

/** As before decision 35: a key is looked up once in five seconds. */
function remembering(keys: KeyCheck): KeyCheck {
  const known = new Map<
    string,
    { holder: ReturnType<KeyCheck['byHash']>; untilMs: number }
  >();
  return {
    byId: keys.byId,
    byHash(hash) {
      const found = known.get(hash.toString('hex'));
      if (found !== undefined && found.untilMs > Date.now())
        return found.holder;
      const holder = keys.byHash(hash);
      known.set(hash.toString('hex'), { holder, untilMs: Date.now() + 5_000 });
      return holder;
    },
  };
}
