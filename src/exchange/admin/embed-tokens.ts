import { decodeJwt } from 'jose';
import { EMBED_TOKEN_SECONDS_MAX } from '../../contract/embed.ts';
import { revokeEmbedToken } from '../embed/token-store.ts';
import { findAuditedEmbedToken } from '../platform/audit/audit-store.ts';
import { auditAdmin } from './accounts.ts';
import { AdminError, type AdminResult, type AdminTarget } from './command.ts';

/** By the token itself, or by its id, as the audit names it (`embed:<id>`). Others of the same key stay good. */
export async function revokeEmbedTokenCommand(
  { store }: AdminTarget,
  tokenOrId: string,
): Promise<AdminResult> {
  const id = tokenOrId.includes('.') ? idIn(tokenOrId) : tokenOrId.replace(/^embed:/, '');
  await store.asSystem(async (tx) => {
    const made = await findAuditedEmbedToken(tx, id);
    if (made === undefined)
      throw new AdminError('There is no such embed token. Give the token, or its id: the audit has it');
    const { accountId, at } = made;
    const expiresAt = new Date(at.getTime() + EMBED_TOKEN_SECONDS_MAX * 1000);
    if (!(await revokeEmbedToken(tx, { tokenId: id, accountId, expiresAt })))
      throw new AdminError(`The embed token ${id} is revoked already`);
    await auditAdmin(tx, accountId, 'revokeEmbedToken', id);
  });
  return {
    document: { id, revoked: true },
    lines: [`The embed token ${id} is revoked, from this moment on.`],
  };
}

function idIn(token: string): string {
  try {
    return decodeJwt(token).jti ?? '';
  } catch {
    throw new AdminError('This is no embed token');
  }
}
