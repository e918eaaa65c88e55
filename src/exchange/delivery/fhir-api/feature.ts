import type { FastifyInstance } from 'fastify';
import { type Feature, type GatewayScopes, NOTHING_OPEN } from '../../platform/feature.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { FHIR_PATH } from '../../platform/http/fhir-path.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import { addBinaryRoute } from './binary-route.ts';
import { FHIR_JSON } from './bundles.ts';
import { capabilityStatement } from './capability-statement.ts';
import type { FhirDeps } from './deps.ts';
import { acceptFhirBodies } from './fhir-bodies.ts';
import { addMatchRoute } from './match-route.ts';
import { createPageCursors } from './page-cursor.ts';
import { createFhirReadAudit } from './read-audit.ts';
import { addReadRoutes } from './read-routes.ts';
import { addSearchRoutes } from './search-routes.ts';

type FhirRouteDeps = Pick<
  GatewayPlatform,
  'store' | 'blobs' | 'publicBaseUrl' | 'linkSigningKey' | 'idHmacKey'
> & {
  records: RecordKeeper;
};

/** The FHIR R4 API: consolidated records, read-only (docs/fhir.md). */
export const fhirApiFeature = {
  open: NOTHING_OPEN,
  routes({ authenticated, open }: GatewayScopes, deps: FhirRouteDeps) {
    open((scope) => addMetadataRoute(scope, deps.publicBaseUrl));
    authenticated((scope) => addFhirRoutes(scope, deps));
  },
} satisfies Feature;

/** Without a key: clients read it to learn how to authenticate. */
function addMetadataRoute(app: FastifyInstance, publicBaseUrl: string): void {
  const statement = JSON.stringify(capabilityStatement(publicBaseUrl));
  app.get(
    `${FHIR_PATH}/metadata`,
    { schema: { hide: true }, config: { operation: 'fhirMetadata' } },
    async (_request, reply) => reply.type(FHIR_JSON).send(statement),
  );
}

function addFhirRoutes(
  app: FastifyInstance,
  { publicBaseUrl, linkSigningKey, ...deps }: FhirRouteDeps,
): void {
  acceptFhirBodies(app);
  const fhir: FhirDeps = {
    ...deps,
    cursors: createPageCursors(linkSigningKey),
    audit: createFhirReadAudit(deps.store),
    base: `${publicBaseUrl}${FHIR_PATH}`,
  };
  addSearchRoutes(app, fhir);
  addReadRoutes(app, fhir);
  addBinaryRoute(app, { ...fhir, blobs: deps.blobs });
  addMatchRoute(app, fhir);
}
