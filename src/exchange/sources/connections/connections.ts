import { LRUCache } from 'lru-cache';
import type { SourceType } from '../../../contract/primitives.ts';
import { DecryptionError, type KeyRing } from '../../../lib/key-ring.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import {
  type SourceConnector,
  SourceFailure,
} from '../connectors/connector.ts';
import { createConnector } from '../connectors/create-connector.ts';
import type { ConnectorDeps } from '../connectors/fhir-connector.ts';
import { namespaced } from '../connectors/namespaced-connector.ts';
import type { PurposeOfUse } from '../connectors/source-config.ts';
import { communityAddresses } from '../directory/directory-store.ts';
import {
  connectionsOf,
  findConnection,
  type StoredConnection,
} from './connection-store.ts';
import { readGateways } from './gateway-store.ts';
import {
  createNetworkConnectors,
  type NetworkConnectors,
} from './network-connectors.ts';
import { configOf, openCredentials } from './settings.ts';

/** A connection of an account's own. */
export interface OwnConnection {
  id: string;
  name: string;
  namespace: string;
}

/**
 * The connection that the environment variables describe. It has the name of
 * its source.
 */
export interface DefaultConnection {
  id: null;
  name: SourceType;
  namespace: '';
}

/**
 * A connection that an attempt asks: the default one for an account that has
 * none of its own to the source.
 */
export type AskedConnection = OwnConnection | DefaultConnection;

export const defaultConnection = (source: SourceType): DefaultConnection => ({
  id: null,
  name: source,
  namespace: '',
});

/**
 * The connections of all accounts, as a worker uses them. Changes take effect
 * with the next step.
 */
export interface SourceConnections {
  /**
   * The connections to ask about a patient of these facilities. Undefined when
   * the account has none of its own, so that the default one is asked.
   */
  toAsk(
    tx: AccountTx,
    source: SourceType,
    facilityIds: readonly string[],
  ): Promise<OwnConnection[] | undefined>;
  /** Throws SourceFailure when the connection is paused or deleted. */
  connector(
    accountId: string,
    connectionId: string,
    purpose: PurposeOfUse,
  ): Promise<SourceConnector>;
  /**
   * The connectors to the gateways of a network. Throws SourceFailure when the
   * connection to it is paused or deleted.
   */
  network(
    accountId: string,
    connectionId: string,
    purpose: PurposeOfUse,
  ): Promise<NetworkConnectors>;
}

/** The connectors of a worker. */
export interface Connectors {
  /** The default connections. */
  connectors: Record<SourceType, SourceConnector>;
  /**
   * Connections of accounts that have their own. Default: `connectors` serve
   * every account.
   */
  connections?: SourceConnections;
}

/**
 * The connector of a connection; without an id, the default one. Throws
 * SourceFailure when the connection is paused or deleted.
 */
export async function connectorFor(
  { connectors, connections }: Connectors,
  of: {
    accountId: string;
    source: SourceType;
    connectionId: string | null;
    purpose: PurposeOfUse;
  },
): Promise<SourceConnector> {
  if (of.connectionId === null) return connectors[of.source];
  if (connections === undefined)
    throw new Error('This process has no connections of accounts');
  return connections.connector(of.accountId, of.connectionId, of.purpose);
}

const CONNECTORS_MAX = 500;
const NETWORKS_MAX = 50;

export function createSourceConnections(
  { store, keyRing }: { store: Pick<Store, 'asAccount'>; keyRing: KeyRing },
  connectorDeps: ConnectorDeps,
): SourceConnections {
  /**
   * By id, revision and purpose: a connector holds a pool, a token and the
   * server's capabilities.
   */
  const connectors = new LRUCache<string, SourceConnector>({
    max: CONNECTORS_MAX,
  });

  const networks = new LRUCache<string, NetworkConnectors>({
    max: NETWORKS_MAX,
  });

  async function networkOf(
    accountId: string,
    connectionId: string,
    purpose: PurposeOfUse,
  ): Promise<NetworkConnectors> {
    const { connection, communities } = await store.asAccount(
      accountId,
      async (tx) => {
        const found = await findConnection(tx, connectionId);
        const { directory } = found?.settings.network ?? {};
        return {
          connection: found,
          communities:
            directory === undefined
              ? []
              : await communityAddresses(tx, directory),
        };
      },
    );
    const usable = inUse(connection);
    const key = `${usable.id}/${usable.revision}/${purpose}/${communities.length}`;
    const known = networks.get(key);
    if (known !== undefined) return known;
    const created = createNetworkConnectors(
      usable,
      openedCredentials(keyRing, usable),
      communities,
      purpose,
      connectorDeps,
    );
    networks.set(key, created);
    return created;
  }

  async function gatewayConnector(
    accountId: string,
    gatewayId: string,
    purpose: PurposeOfUse,
  ): Promise<SourceConnector | undefined> {
    const gateways = await store.asAccount(accountId, (tx) =>
      readGateways(tx, [gatewayId]),
    );
    const gateway = gateways.get(gatewayId);
    if (gateway === undefined) return undefined;
    const network = await networkOf(accountId, gateway.connectionId, purpose);
    return network.connectorOf(gateway);
  }

  function connectorOf(
    connection: StoredConnection,
    purpose: PurposeOfUse,
  ): SourceConnector {
    const { id, revision } = connection;
    const key = `${id}/${revision}/${purpose}`;
    const known = connectors.get(key);
    if (known !== undefined) return known;
    connectors.delete(`${id}/${revision - 1}/${purpose}`);
    const config = configOf(
      connection,
      openedCredentials(keyRing, connection),
      purpose,
    );
    const created = namespaced(
      createConnector(config, connectorDeps),
      connection.namespace,
    );
    connectors.set(key, created);
    return created;
  }

  return {
    async toAsk(tx, source, facilityIds) {
      const all = (await connectionsOf(tx, source)).filter(isAsked);
      if (all.length === 0) return undefined;
      return all
        .filter(
          ({ enabled, settings }) =>
            enabled &&
            settings.network === undefined &&
            isForFacilities(settings.facilityIds, facilityIds),
        )
        .map(({ id, name, namespace }) => ({ id, name, namespace }));
    },
    async connector(accountId, connectionId, purpose) {
      const connection = await store.asAccount(accountId, (tx) =>
        findConnection(tx, connectionId),
      );
      if (connection === undefined) {
        const gateway = await gatewayConnector(
          accountId,
          connectionId,
          purpose,
        );
        if (gateway !== undefined) return gateway;
      }
      return connectorOf(inUse(connection), purpose);
    },
    network: networkOf,
  };
}

function inUse(connection: StoredConnection | undefined): StoredConnection {
  if (connection === undefined)
    throw new SourceFailure('refused', 'the connection was deleted');
  if (!connection.enabled)
    throw new SourceFailure('denied', 'the connection is paused');
  return connection;
}

/** Whether patients are asked about there; else it only takes messages. */
export const isAsked = ({ settings }: StoredConnection): boolean =>
  settings.ihe?.messagesOnly !== true;

/** Whether a connection that serves some facilities is for a patient of these. */
export const isForFacilities = (
  served: readonly string[] | undefined,
  facilityIds: readonly string[],
): boolean =>
  served === undefined ||
  served.length === 0 ||
  served.some((id) => facilityIds.includes(id));

function openedCredentials(
  keyRing: KeyRing,
  { id, credentials }: StoredConnection,
) {
  try {
    return openCredentials(keyRing, id, credentials);
  } catch (cause) {
    if (!(cause instanceof DecryptionError)) throw cause;
    throw new SourceFailure(
      'denied',
      'the credentials of the connection are encrypted with a key that DATA_KEYS does not hold',
      { cause },
    );
  }
}
