import type { FastifyInstance } from 'fastify';
import { NotFoundError } from '../../platform/errors.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { addSignedLinkRoute, auditLink } from '../../platform/http/signed-link-route.ts';
import { readBulkRequest } from './request-store.ts';

const OPERATION = 'readBulkResult';

/** Serves the result CSV of a completed bulk create; the signed link is the permission. */
export function addBulkResultRoute(
  app: FastifyInstance,
  deps: Pick<GatewayPlatform, 'store' | 'blobs' | 'linkSigningKey'>,
): void {
  addSignedLinkRoute(app, deps, 'bulk-result', OPERATION, async (link, request, reply) => {
    const { accountId, targetId: requestId } = link;
    const result = await deps.store.asAccount(accountId, async (tx) => {
      const bulkCreate = await readBulkRequest(tx, requestId);
      if (bulkCreate?.status !== 'completed' || bulkCreate.result === undefined)
        throw new NotFoundError('Result');
      await auditLink(tx, request, { operation: OPERATION, targetId: requestId });
      return bulkCreate.result;
    });
    return (
      reply
        .type('text/csv; charset=utf-8')
        // The file name is made from the id alone, so no input of a caller gets into the header.
        .header('content-disposition', `attachment; filename="bulk-patient-create-${requestId}.csv"`)
        .header('content-length', result.sizeBytes)
        .send(await deps.blobs.get(result.ref))
    );
  });
}
