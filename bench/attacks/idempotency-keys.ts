import { v7 as uuidv7 } from 'uuid';
import { insertApiKey } from '../../src/exchange/access/accounts/api-key-store.ts';
import {
  generateApiKey,
  parseApiKey,
} from '../../src/exchange/access/accounts/rules/api-key.ts';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { callGateway } from '../../test/support/stack.ts';
import type { Attack } from './attack.ts';

export const foreignIdempotencyKey: Attack = {
  name: 'The idempotency key of another API key of the account, for an embed token',
  async run({ stack: { connection }, account }) {
    const apiKey = generateApiKey();
    const parsed = parseApiKey(apiKey);
    if (parsed === undefined) throw new Error('not a key');
    const store = createStore({
      databaseUrl: connection.databaseUrl,
      poolMax: 1,
    });
    await store
      .asSystem((tx) =>
        insertApiKey(tx, {
          id: uuidv7(),
          accountId: account.accountId,
          ...parsed,
        }),
      )
      .finally(() => store.close());
    const token = async (key: string) => {
      const options = { idempotencyKey: 'the-same' };
      return (
        await callGateway(
          connection,
          { apiKey: key },
          'POST',
          'token/embed',
          options,
        )
      ).body.token;
    };
    const first = await token(account.apiKey);
    const other = await token(apiKey);
    const isOwn = typeof other === 'string' && other !== first;
    return {
      seen: isOwn ? 'a token of its own' : 'the token of the first key',
      holds: isOwn,
    };
  },
};
