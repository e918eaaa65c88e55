import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { ExchangeError, NotFoundError } from '../../errors.ts';
import { consolidatedBundle } from '../../links/consolidated-bundle.ts';
import { verifyLink } from '../../links/signed-link.ts';
import { insertAuditEntry } from '../../store/audit.ts';
import { findPatient } from '../../store/patients.ts';
import type { GatewayDeps } from '../deps.ts';

/** What webhooks point to (`consolidatedDataUrl`): the signed link is the permission. */
export function addLinkRoutes(
  app: FastifyInstance,
  deps: Pick<GatewayDeps, 'store' | 'linkSigningKey'>,
): void {
  app.get<{ Params: { token: string } }>(
    '/links/consolidated/:token',
    { schema: { hide: true }, config: { operation: 'readConsolidatedLink' } },
    async (request, reply) => {
      const link = verifyLink(deps.linkSigningKey, request.params.token);
      if (link.kind === 'expired') throw new ExchangeError(410, 'This link has expired');
      if (link.kind === 'invalid') throw new NotFoundError('Link');
      await deps.store.asAccount(link.accountId, async (tx) => {
        if ((await findPatient(tx, link.patientId)) === undefined) throw new NotFoundError('Patient');
        await insertAuditEntry(tx, {
          actor: 'link',
          operation: 'readConsolidatedLink',
          patientId: link.patientId,
          outcome: '200',
          remoteAddress: request.ip,
        });
      });
      return reply
        .type('application/fhir+json; charset=utf-8')
        .header('cache-control', 'no-store')
        .send(Readable.from(consolidatedBundle(deps.store, link)));
    },
  );
}
