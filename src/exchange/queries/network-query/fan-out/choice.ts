import { withoutUrn } from '#ihe';
import type { Demographics } from '../../../people/patients/rules/demographics.ts';
import type { AccountTx } from '../../../platform/database/database.ts';
import {
  connectionsOf,
  type StoredConnection,
} from '../../../sources/connections/connection-store.ts';
import { isForFacilities } from '../../../sources/connections/connections.ts';
import type { NetworkSettings } from '../../../sources/connectors/ihe/network-settings.ts';
import { readGatewayCandidates } from '../../../sources/directory/gateway-candidates.ts';
import {
  chooseGateways,
  type GatewayChoice,
} from '../../../sources/directory/rules/choose-gateways.ts';
import { readPatientAtGateways } from './patient-at-gateways.ts';

/** Whom a choice is made for. */
export interface ChoicePatient extends Pick<Demographics, 'addresses'> {
  id: string;
  facilityIds: readonly string[];
}

/** A connection to a network of gateways. */
export type NetworkConnection = StoredConnection & {
  settings: { network: NetworkSettings };
};

export const isNetwork = (
  connection: StoredConnection,
): connection is NetworkConnection => connection.settings.network !== undefined;

/**
 * Which gateways of a network are asked for a patient now, and how many are not,
 * by reason.
 */
export async function chooseForPatient(
  tx: AccountTx,
  { id, settings: { network } }: NetworkConnection,
  patient: ChoicePatient,
): Promise<GatewayChoice> {
  const plain = (oids: readonly string[]) => oids.map(withoutUrn);
  const rules = {
    ...network,
    ownHomeCommunity: withoutUrn(network.ownHomeCommunity),
    recordLocators: plain(network.recordLocators),
    onlyCommunities: plain(network.onlyCommunities),
    neverCommunities: plain(network.neverCommunities),
  };
  const candidates = await readGatewayCandidates(
    tx,
    {
      directory: network.directory,
      speaks: network.speaks,
      recordLocators: rules.recordLocators,
    },
    patient.addresses,
  );
  const shown = await readPatientAtGateways(tx, {
    patientId: patient.id,
    connectionId: id,
    nobodyForDays: network.askNobodyAgainAfterDays,
  });
  return chooseGateways(candidates, rules, shown);
}

/** The choice of each network that the account is connected to. */
export async function explainChoices(
  tx: AccountTx,
  patient: ChoicePatient,
): Promise<(GatewayChoice & { connection: NetworkConnection })[]> {
  const connections = await connectionsOf(tx, 'hie');
  const networks = connections
    .filter(isNetwork)
    .filter(
      ({ enabled, settings }) =>
        enabled && isForFacilities(settings.facilityIds, patient.facilityIds),
    );
  const choices = [];
  for (const connection of networks)
    choices.push({
      connection,
      ...(await chooseForPatient(tx, connection, patient)),
    });
  return choices;
}
