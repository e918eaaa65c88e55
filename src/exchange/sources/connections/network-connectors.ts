import { LRUCache } from 'lru-cache';
import type { Dispatcher } from 'undici';
import {
  type SourceConnector,
  SourceFailure,
} from '../connectors/connector.ts';
import { createConnector } from '../connectors/create-connector.ts';
import type { ConnectorDeps } from '../connectors/fhir-connector.ts';
import {
  onlyPublic,
  publicLookup,
} from '../connectors/http/public-addresses.ts';
import { createPool } from '../connectors/http/source-http.ts';
import type {
  GatewayAddress,
  NetworkSettings,
} from '../connectors/ihe/network-settings.ts';
import { createMessageSigner } from '../connectors/ihe/sign-message.ts';
import { namespaced } from '../connectors/namespaced-connector.ts';
import {
  type PurposeOfUse,
  type ResolvedSourceConfig,
  resolveSourceConfig,
  type SourceConfig,
} from '../connectors/source-config.ts';
import type { ConnectionCredentials } from '../connectors/source-settings.ts';
import type { StoredConnection } from './connection-store.ts';
import type { NetworkGateway } from './gateway-store.ts';
import { gatewayConfigOf } from './settings.ts';

/** Connectors to the gateways of one network, with one login and one pool. */
export interface NetworkConnectors {
  /** How long a gateway has to say whether it knows a patient. */
  discoveryTimeoutMs: number;
  connectorOf(gateway: NetworkGateway): SourceConnector;
}

/** Where a community's documents are asked for. */
export interface CommunityAddress {
  homeCommunity: string;
  queryUrl: string;
  retrieveUrl: string;
}

/**
 * Makes the connectors to a network's gateways. Each is cheap: they share the
 * key that signs, and the pool of connections. Calls to a gateway have no
 * budget: an attempt makes one, and few more where it finds the patient.
 *
 * @param communities where the documents of communities are asked for, to which
 *   a record locator refers
 */
export function createNetworkConnectors(
  connection: StoredConnection,
  credentials: ConnectionCredentials,
  communities: readonly CommunityAddress[],
  purpose: PurposeOfUse,
  deps: ConnectorDeps,
): NetworkConnectors {
  const { network } = connection.settings;
  if (network === undefined)
    throw new SourceFailure('refused', 'the connection leads to no network');
  const configFor = (address: GatewayAddress, id?: string): SourceConfig =>
    gatewayConfigOf(connection, network, credentials, address, {
      gatewayId: id,
      purpose,
    });

  const any = configFor(ANY_GATEWAY);
  const resolved = resolveSourceConfig(any);
  const now = () => (deps.clock ?? Date).now();
  const shared: ConnectorDeps = {
    ...deps,
    callBudgets: undefined,
    dispatcher: deps.dispatcher ?? poolOf(network, resolved),
    ...(any.ihe === undefined
      ? {}
      : { messageSigner: createMessageSigner(resolved, any.ihe, now) }),
  };
  const locators = new Set(network.recordLocators.map(plainOid));
  const later = new Set(network.deferredCommunities.map(plainOid));
  function newConnector(gateway: NetworkGateway): SourceConnector {
    const { homeCommunity, namespace } = gateway;
    const { ihe, ...config } = configFor(gateway, gateway.id);
    const settings = ihe && {
      ...ihe,
      otherCommunities: locators.has(homeCommunity) ? [...communities] : [],
      answers: later.has(homeCommunity) ? ('deferred' as const) : ihe.answers,
    };
    return namespaced(
      createConnector({ ...config, ihe: settings }, shared),
      namespace,
    );
  }

  // A FHIR server's capabilities and token serve its next calls.
  const known = new LRUCache<string, SourceConnector>({ max: KNOWN_MAX });
  return {
    discoveryTimeoutMs: network.discoveryTimeoutSeconds * 1_000,
    connectorOf(gateway) {
      if (network.speaks !== 'fhir') return newConnector(gateway);
      const key = `${gateway.id} ${gateway.discoveryUrl}`;
      const connector = known.get(key) ?? newConnector(gateway);
      known.set(key, connector);
      return connector;
    },
  };
}

/**
 * A gateway that has found the patient is asked for documents at once, all others
 * not again: each connection takes 85 kB.
 */
const KEPT_MS = 1_000;

const KNOWN_MAX = 200;

/** Addresses of a directory of FHIR servers are others' words. */
function poolOf(
  { speaks, privateAddresses }: NetworkSettings,
  resolved: ResolvedSourceConfig,
): Dispatcher {
  return speaks === 'fhir' && privateAddresses !== true
    ? onlyPublic(
        createPool(resolved, { keptMs: KEPT_MS, lookup: publicLookup }),
      )
    : createPool(resolved, { keptMs: KEPT_MS });
}

const plainOid = (oid: string): string => oid.replace(/^urn:oid:/i, '');

const ANY_GATEWAY = {
  homeCommunity: '2.999',
  discoveryUrl: 'https://gateway.invalid/',
  queryUrl: 'https://gateway.invalid/',
  retrieveUrl: 'https://gateway.invalid/',
};
