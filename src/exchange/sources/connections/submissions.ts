import { LRUCache } from 'lru-cache';
import type { MessageNetwork } from '../../../contract/messages.ts';
import type { KeyRing } from '../../../lib/key-ring.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import type { ConnectorDeps } from '../connectors/fhir-connector.ts';
import { openGateway } from '../connectors/ihe/ihe-connector.ts';
import {
  type DocumentSubmissionCall,
  type SubmissionOutcome,
  submitDocuments,
} from '../connectors/ihe/submission/submit-documents.ts';
import type { SourceConfig } from '../connectors/source-config.ts';
import { connectionsOf, type StoredConnection } from './connection-store.ts';
import { configOf, openCredentials } from './settings.ts';

/** A gateway that takes an account's documents for other organizations. */
export interface SubmissionGateway {
  /** Our home community there: an OID, with or without `urn:oid:`. */
  ownHomeCommunity: string;

  /** Our name in the network; undefined where we sign nothing. */
  organizationName: string | undefined;

  /** Throws SourceFailure when it may help to try again later. */
  submit(call: DocumentSubmissionCall): Promise<SubmissionOutcome>;
}

export interface Submissions {
  /**
   * The gateway by which an account reaches a network; undefined when it has
   * none.
   */
  gatewayTo(
    accountId: string,
    network: MessageNetwork,
  ): Promise<SubmissionGateway | undefined>;
}

const GATEWAYS_MAX = 100;

export function createSubmissions(
  { store, keyRing }: { store: Pick<Store, 'asAccount'>; keyRing: KeyRing },
  connectorDeps: ConnectorDeps,
): Submissions {
  /** By id and revision: a gateway holds connections. */
  const gateways = new LRUCache<string, SubmissionGateway>({
    max: GATEWAYS_MAX,
  });

  return {
    async gatewayTo(accountId, network) {
      const connection = await store.asAccount(accountId, (tx) =>
        connectionForMessages(tx, network),
      );
      if (connection === undefined) return undefined;
      const key = `${connection.id}/${connection.revision}`;
      const known = gateways.get(key);
      if (known !== undefined) return known;
      const created = openSubmissionGateway(
        configOf(
          connection,
          openCredentials(keyRing, connection.id, connection.credentials),
        ),
        connectorDeps,
      );
      if (created !== undefined) gateways.set(key, created);
      return created;
    },
  };
}

/** The account's enabled connection that takes messages for a network. */
export async function connectionForMessages(
  tx: AccountTx,
  network: MessageNetwork,
): Promise<StoredConnection | undefined> {
  const connections = await connectionsOf(tx, 'hie');
  return connections.find(({ enabled, settings: { ihe } }) => {
    if (!enabled || ihe?.submissionUrl === undefined) return false;
    const { submissionNetwork = network } = ihe;
    return submissionNetwork === network;
  });
}

function openSubmissionGateway(
  config: SourceConfig,
  deps: ConnectorDeps,
): SubmissionGateway | undefined {
  const { submissionUrl } = config.ihe ?? {};
  if (config.ihe === undefined || submissionUrl === undefined) return undefined;
  const gateway = openGateway(config, config.ihe, deps);
  const { auth } = gateway.config;
  return {
    ownHomeCommunity: config.ihe.ownHomeCommunity,
    organizationName: auth.kind === 'saml' ? auth.organizationName : undefined,
    submit: (call) => submitDocuments(gateway, submissionUrl, call),
  };
}
