import { sql } from 'kysely';
import {
  type SystemTx,
  takeAdminRole,
} from '../../platform/database/database.ts';

/** The revoked ones of these embed tokens. */
export async function findRevokedEmbedTokens(
  tx: SystemTx,
  tokenIds: readonly string[],
): Promise<Map<string, true>> {
  const rows = await tx.db
    .selectFrom('embed_token_revocation')
    .select('token_id')
    .where(sql<boolean>`token_id = any(${[...tokenIds]}::uuid[])`)
    .execute();
  return new Map(rows.map(({ token_id: tokenId }) => [tokenId, true]));
}

/**
 * Revokes a token for all requests that arrive after the commit. Returns false
 * when it was already revoked. Also deletes the revocations of expired tokens.
 */
export async function revokeEmbedToken(
  tx: SystemTx,
  token: { tokenId: string; accountId: string; expiresAt: Date },
): Promise<boolean> {
  await takeAdminRole(tx);
  await tx.db
    .deleteFrom('embed_token_revocation')
    .where('expires_at', '<', sql<Date>`now()`)
    .execute();
  const { numInsertedOrUpdatedRows } = await tx.db
    .insertInto('embed_token_revocation')
    .values({
      token_id: token.tokenId,
      account_id: token.accountId,
      expires_at: token.expiresAt,
    })
    .onConflict((conflict) => conflict.column('token_id').doNothing())
    .executeTakeFirst();
  return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}
