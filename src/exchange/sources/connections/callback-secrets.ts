import type { SourceType } from '../../../contract/primitives.ts';
import type { KeyRing } from '../../../lib/key-ring.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { connectionsOf } from './connection-store.ts';
import { openCredentials } from './settings.ts';

/** The keys with which an account's connections to one kind of source sign their callbacks. */
export async function callbackSecretsOf(
  tx: AccountTx,
  keyRing: KeyRing,
  source: SourceType,
): Promise<string[]> {
  const connections = await connectionsOf(tx, source);
  return connections.flatMap(({ id, credentials }) => {
    const { callbackSecret } = openCredentials(keyRing, id, credentials);
    return callbackSecret ?? [];
  });
}
