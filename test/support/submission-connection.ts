import { v7 as uuidv7 } from 'uuid';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import { settingsOf } from '../../src/exchange/sources/connections/connection-options.ts';
import { insertConnection } from '../../src/exchange/sources/connections/connection-store.ts';
import { sealCredentials } from '../../src/exchange/sources/connections/settings.ts';
import { testKeyRing } from './test-keys.ts';

/**
 * Gives an account a connection to a gateway that takes its messages to OIDs.
 *
 * @param options default: the gateway takes them for every network
 */
export async function connectForSubmissions(
  store: Pick<Store, 'asSystem'>,
  accountId: string,
  options: {
    submissionUrl: string;
    submissionNetwork?: string;
    homeCommunity?: string;
    ownHomeCommunity?: string;
    messagesOnly?: string;
  },
): Promise<void> {
  const id = uuidv7();
  const settings = settingsOf({
    protocol: 'ihe',
    queryUrl: 'https://gateway.example/query',
    retrieveUrl: 'https://gateway.example/retrieve',
    homeCommunity: '2.16.840.1.113883.3.9999.1',
    ownHomeCommunity: '2.16.840.1.113883.3.9999.2',
    ...options,
  });
  await store.asSystem((tx) =>
    insertConnection(tx, {
      id,
      accountId,
      source: 'hie',
      name: 'First network',
      baseUrl: 'https://gateway.example/discovery',
      settings,
      authKind: 'none',
      credentials: sealCredentials(testKeyRing(), id, {
        auth: { kind: 'none' },
        tls: {},
      }),
      namespace: `${id.slice(-6)}~`,
      enabled: true,
    }),
  );
}
