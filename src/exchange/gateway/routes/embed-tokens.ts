import { v7 as uuidv7 } from 'uuid';
import { signEmbedToken } from '../../embed/embed-token.ts';
import { ForbiddenError } from '../../errors.ts';
import type { GatewayDeps } from '../deps.ts';
import { ok } from '../operation.ts';
import type { Operations } from '../operations.ts';

/** E1. */
export function addEmbedTokenRoutes(
  operations: Operations,
  deps: Pick<GatewayDeps, 'internalTokenKey'>,
): void {
  operations.write('createEmbedToken', async (tx, { body, caller }) => {
    const { keyId } = caller;
    if (keyId === undefined) throw new ForbiddenError('An embed token is made with an API key');
    const tokenId = uuidv7();
    const token = await signEmbedToken(deps.internalTokenKey, {
      tokenId,
      accountId: tx.accountId,
      keyId,
      expiresAt: new Date(Date.now() + body.expirationInSeconds * 1000),
    });
    return ok({ token }, { targetId: tokenId, headers: { 'cache-control': 'no-store' } });
  });
}
