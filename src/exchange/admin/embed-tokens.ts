import { decodeJwt } from 'jose';
import { EMBED_TOKEN_SECONDS_MAX } from '../../contract/embed.ts';
import { revokeEmbedToken } from '../embed/token-store.ts';
import { findAuditedEmbedToken } from '../platform/audit/audit-store.ts';
import { auditAdmin } from './accounts.ts';
import { AdminError, type AdminResult, type AdminTarget } from './command.ts';

/** Revokes an embed token, given itself or its id from the audit (`embed:<id>`). Other tokens of the same key stay valid. */
export async function revokeEmbedTokenCommand(
  { store }: AdminTarget,
  tokenOrId: string,
): Promise<AdminResult> {
  const id = tokenOrId.includes('.') ? idIn(tokenOrId) : tokenOrId.replace(/^embed:/, '');
  await store.asSystem(async (tx) => {
    const made = await findAuditedEmbedToken(tx, id);
    if (made === undefined)
      throw new AdminError('Embed token not found; give the token, or its id from the audit');
    const { accountId, at } = made;
    const expiresAt = new Date(at.getTime() + EMBED_TOKEN_SECONDS_MAX * 1000);
    if (!(await revokeEmbedToken(tx, { tokenId: id, accountId, expiresAt })))
      throw new AdminError(`The embed token ${id} has already been revoked`);
    await auditAdmin(tx, accountId, 'revokeEmbedToken', id);
  });
  return {
    document: { id, revoked: true },
    lines: [`Revoked the embed token ${id}. It is invalid from now on.`],
  };
}

function idIn(token: string): string {
  try {
    return decodeJwt(token).jti ?? '';
  } catch {
    throw new AdminError('The text is not an embed token; give the token, or its id from the audit');
  }
}
