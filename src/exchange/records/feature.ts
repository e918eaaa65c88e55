import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { findPatient } from '../people/patients/patient-store.ts';
import { NotFoundError } from '../platform/errors.ts';
import type {
  DepsOf,
  Feature,
  GatewayScopes,
  OpenFeature,
} from '../platform/feature.ts';
import type { GatewayPlatform } from '../platform/http/deps.ts';
import {
  addSignedLinkRoute,
  auditLink,
} from '../platform/http/signed-link-route.ts';
import type { Platform } from '../platform/platform.ts';
import type { Arrivals } from './arrivals/arrivals.ts';
import { packingRecovery } from './packing/packing.ts';
import { consolidatedBundle } from './reading/read-consolidated.ts';
import type { RecordKeeper } from './record-keeper.ts';

/**
 * A patient's consolidated record, the link to it that webhooks carry, the
 * merging of what arrives, and the packing of records at rest.
 */
export const recordsFeature = {
  open: ({
    arrivals,
    store,
  }: { arrivals: Arrivals } & Pick<Platform, 'store'>): OpenFeature => ({
    recoveries: [arrivals.recovery, packingRecovery(store)],
    drain: arrivals.drain,
  }),
  routes: ({ open }: GatewayScopes, deps: DepsOf<typeof addLinkRoutes>) =>
    open((scope) => addLinkRoutes(scope, deps)),
} satisfies Feature;

/**
 * The route behind `consolidatedDataUrl` of webhooks: the signed link
 * authorizes the request.
 */
function addLinkRoutes(
  app: FastifyInstance,
  deps: Pick<GatewayPlatform, 'store' | 'linkSigningKey' | 'publicBaseUrl'> & {
    records: RecordKeeper;
  },
): void {
  addSignedLinkRoute(
    app,
    deps,
    'consolidated',
    'readConsolidatedLink',
    async (link, request, reply) => {
      const { accountId, targetId: patientId } = link;
      await deps.store.asAccount(accountId, async (tx) => {
        if ((await findPatient(tx, patientId)) === undefined)
          throw new NotFoundError('Patient');
        await auditLink(tx, request, {
          operation: 'readConsolidatedLink',
          patientId,
        });
      });
      await deps.records.merge(accountId, patientId);
      return reply.type('application/fhir+json; charset=utf-8').send(
        Readable.from(
          consolidatedBundle(deps.store, {
            accountId,
            patientId,
            publicBaseUrl: deps.publicBaseUrl,
          }),
        ),
      );
    },
  );
}
