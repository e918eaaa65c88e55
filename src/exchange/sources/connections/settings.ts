import type { SourceType } from '../../../contract/primitives.ts';
import type { KeyRing } from '../../../lib/key-ring.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  type GatewayAddress,
  gatewaySettingsOf,
  type NetworkSettings,
} from '../connectors/ihe/network-settings.ts';
import type {
  PurposeOfUse,
  SourceConfig,
} from '../connectors/source-config.ts';
import {
  type ConnectionCredentials,
  type ConnectionSettings,
  connectionCredentialsSchema,
} from '../connectors/source-settings.ts';
import { connectionsOf } from './connection-store.ts';

export function sealCredentials(
  keyRing: KeyRing,
  id: string,
  credentials: ConnectionCredentials,
): Buffer {
  return keyRing.encrypt(
    Buffer.from(JSON.stringify(credentials)),
    purposeOf(id),
  );
}

/** @throws DecryptionError when the key is no longer in the key ring */
export function openCredentials(
  keyRing: KeyRing,
  id: string,
  sealed: Buffer,
): ConnectionCredentials {
  const json: unknown = JSON.parse(
    keyRing.decrypt(sealed, purposeOf(id)).toString('utf8'),
  );
  return connectionCredentialsSchema.parse(json);
}

const purposeOf = (id: string): string => `source-connection/${id}`;

/**
 * The configuration with which a connector speaks to the server of a
 * connection.
 */
export function configOf(
  connection: {
    /**
     * Id of the connection of an account; the default connection of the
     * environment has none.
     */
    id?: string;
    source: SourceType;
    baseUrl: string;
    settings: ConnectionSettings;
    revision?: number;
  },
  { auth, tls, callbackSecret }: ConnectionCredentials,
  purposeOfUse: PurposeOfUse = 'treatment',
): SourceConfig {
  const { facilityIds: _, network: __, ...settings } = connection.settings;
  return {
    source: connection.source,
    baseUrl: connection.baseUrl,
    connectionKey: connection.id,
    revision: connection.revision,
    auth,
    tls,
    purposeOfUse,
    ...settings,
    callbacks: callbackSecret !== undefined,
  };
}

/**
 * The configuration for one gateway of a network: the settings and the login are
 * those of the connection to the network.
 *
 * @param gatewayId what the breaker and the budgets know the gateway by
 */
export const gatewayConfigOf = (
  connection: Parameters<typeof configOf>[0],
  network: NetworkSettings,
  credentials: ConnectionCredentials,
  address: GatewayAddress,
  {
    gatewayId,
    purpose,
  }: { gatewayId?: string | undefined; purpose?: PurposeOfUse } = {},
): SourceConfig => ({
  ...configOf(connection, credentials, purpose),
  baseUrl: address.discoveryUrl,
  connectionKey: gatewayId ?? connection.id,
  ...(network.speaks === 'fhir'
    ? { networkKey: connection.id, callbacks: false }
    : { ihe: gatewaySettingsOf(network, address) }),
});

/**
 * The keys with which an account's connections to one kind of source sign their
 * callbacks.
 */
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
