import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type AuditRecord, insertAuditEntry } from '../audit/audit-store.ts';
import type { AccountTx } from '../database/database.ts';
import { ExchangeError, NotFoundError } from '../errors.ts';
import { countRequest } from '../http/plugins/request-share.ts';
import { type LinkKind, type LinkTarget, type VerifiedLink, verifyLink } from './signed-link.ts';

/** Throws 410 for an expired link, 404 for one that is none (of this kind). */
function openLink(link: VerifiedLink): LinkTarget {
  if (link.kind === 'expired') throw new ExchangeError(410, 'This link has expired');
  if (link.kind === 'invalid') throw new NotFoundError('Link');
  return link;
}

/** `GET /links/<kind>/<token>`: the signed link is the permission. */
export function addSignedLinkRoute(
  app: FastifyInstance,
  deps: { linkSigningKey: string },
  kind: LinkKind,
  operation: string,
  handler: (link: LinkTarget, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
): void {
  app.get<{ Params: { token: string } }>(
    `/links/${kind}/:token`,
    { schema: { hide: true }, config: { operation } },
    async (request, reply) => {
      const { token } = request.params;
      const known = verifyLink(deps.linkSigningKey, kind, token);
      if (known.kind !== 'invalid') {
        const { accountId, targetId } = known;
        request.refusalNotes = { by: { accountId, actor: 'link' }, targetId };
      }
      const link = openLink(known);
      countRequest(request, reply, link.accountId);
      return handler(link, request, reply.header('cache-control', 'no-store'));
    },
  );
}

/** What was read through a link, as the audit has it. */
export const auditLink = (
  tx: AccountTx,
  request: FastifyRequest,
  record: Pick<AuditRecord, 'operation' | 'patientId' | 'targetId'>,
): Promise<void> =>
  insertAuditEntry(tx, { actor: 'link', outcome: '200', remoteAddress: request.ip, ...record });
