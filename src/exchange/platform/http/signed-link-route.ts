import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type AuditRecord, insertAuditEntry } from '../audit/audit-store.ts';
import type { AccountTx } from '../database/database.ts';
import { ExchangeError, NotFoundError } from '../errors.ts';
import {
  type LinkKind,
  type LinkTarget,
  type VerifiedLink,
  verifyLink,
} from '../links/signed-link.ts';
import { countRequest } from './plugins/request-share.ts';

/**
 * Returns the target of a valid link. Throws 410 if it has expired, 404 if it
 * is invalid.
 */
function targetOf(link: VerifiedLink): LinkTarget {
  if (link.kind === 'expired')
    throw new ExchangeError(410, 'This link has expired; request a new one', {
      code: 'link-expired',
    });
  if (link.kind === 'invalid') throw new NotFoundError('Link');
  return link;
}

/**
 * Adds `GET /links/<kind>/<token>`, or PUT. It requires no API key; the
 * signature of the link authorises the request.
 */
export function addSignedLinkRoute(
  app: FastifyInstance,
  deps: { linkSigningKey: string },
  kind: LinkKind,
  operation: string,
  handler: (
    link: LinkTarget,
    request: FastifyRequest,
    reply: FastifyReply,
  ) => Promise<FastifyReply>,
  {
    method = 'GET',
    isForPeople = false,
  }: { method?: 'GET' | 'PUT'; isForPeople?: boolean } = {},
): void {
  app.route<{ Params: { token: string } }>({
    method,
    url: `/links/${kind}/:token`,
    schema: { hide: true },
    config: { operation, isForPeople },
    handler: async (request, reply) => {
      const { token } = request.params;
      const known = verifyLink(deps.linkSigningKey, kind, token);
      if (known.kind !== 'invalid') {
        const { accountId, targetId } = known;
        request.refusalNotes = { by: { accountId, actor: 'link' }, targetId };
      }
      const link = targetOf(known);
      countRequest(request, reply, link.accountId);
      return handler(link, request, reply.header('cache-control', 'no-store'));
    },
  });
}

/** Audits a read through a link. */
export const auditLink = (
  tx: AccountTx,
  request: FastifyRequest,
  record: Pick<AuditRecord, 'operation' | 'patientId' | 'targetId'>,
): Promise<void> =>
  insertAuditEntry(tx, {
    actor: 'link',
    outcome: '200',
    remoteAddress: request.ip,
    ...record,
  });
