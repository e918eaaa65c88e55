import { v7 as uuidv7 } from 'uuid';
import { ForbiddenError } from '../../platform/errors.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import { signEmbedToken } from './embed-token.ts';

/** "E1. Create embed token". */
export function addEmbedTokenRoutes(
  operations: Operations,
  deps: Pick<GatewayPlatform, 'internalTokenKey'>,
): void {
  operations.write('createEmbedToken', async (tx, { body, caller }) => {
    const { keyId } = caller;
    if (keyId === undefined) throw new ForbiddenError('Embed tokens can be created only with an API key');
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
