import type { FastifyInstance, FastifyRequest } from 'fastify';
import { UPLOAD_BYTES_MAX } from '../../../contract/bulk-create.ts';
import { insertAuditEntry } from '../../platform/audit/audit-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { ExchangeError, NotFoundError } from '../../platform/errors.ts';
import { callerOf } from '../../platform/http/caller.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { createUploads, drain, type UploadLimits } from '../../platform/http/upload-body.ts';
import { type LinkTarget, verifyLink } from '../../platform/links/signed-link.ts';
import type { BulkCreateService } from './service.ts';

const OPERATION = 'uploadBulkCreate';
const LIMITS: UploadLimits = { bytesMax: UPLOAD_BYTES_MAX, idleMs: 60_000, totalMs: 60 * 60_000 };

type UploadDeps = Pick<GatewayPlatform, 'linkSigningKey'> & {
  bulkCreates: BulkCreateService;
};

/**
 * `PUT {uploadUrl}` of E5. The link names the request, and the API key must belong to its account. The request's row decides
 * whether the file is accepted, so a caller with an expired link still learns the outcome of an earlier upload.
 */
export function addBulkUploadRoute(
  app: FastifyInstance,
  deps: UploadDeps,
  limits: Partial<UploadLimits> = {},
): void {
  const uploads = createUploads({ ...LIMITS, ...limits });
  app.removeAllContentTypeParsers();
  // The body stays a stream, whatever its Content-Type.
  app.addContentTypeParser('*', (_request, _body, done) => done(null));
  app.put<{ Params: { token: string } }>(
    '/links/bulk-upload/:token',
    { schema: { hide: true }, config: { operation: OPERATION } },
    async (request, reply) => {
      const { accountId, targetId: requestId } = targetOf(request, deps.linkSigningKey);
      return uploads(request, accountId, async (open) => {
        checkContentType(request);
        const upload = await deps.bulkCreates.receiveUpload({ accountId, requestId }, open(), (tx) =>
          audit(tx, request, requestId, 200),
        );
        deps.bulkCreates.announceUpload(accountId, requestId);
        return reply.send(upload);
      });
    },
  );
}

/** The request that the link names. Throws 404 for an invalid link, and for another account's, whose existence is not revealed. */
function targetOf(request: FastifyRequest<{ Params: { token: string } }>, signingKey: string): LinkTarget {
  const link = verifyLink(signingKey, 'bulk-upload', request.params.token);
  if (link.kind !== 'invalid' && link.accountId === callerOf(request).account.id) {
    request.refusalNotes = { targetId: link.targetId };
    return link;
  }
  drain(request.raw);
  throw new NotFoundError('Upload URL');
}

function checkContentType({ headers }: FastifyRequest): void {
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'text/csv') throw new ExchangeError(415, 'The Content-Type must be text/csv');
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') throw new ExchangeError(415, 'The file must be sent without Content-Encoding');
}

const audit = (tx: AccountTx, request: FastifyRequest, requestId: string, status: number): Promise<void> =>
  insertAuditEntry(tx, {
    actor: callerOf(request).actor,
    operation: OPERATION,
    targetId: requestId,
    outcome: String(status),
    remoteAddress: request.ip,
  });
