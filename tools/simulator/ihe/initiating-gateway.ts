import { createHash, randomUUID } from 'node:crypto';
import {
  buildFindDocuments,
  buildPatientDiscovery,
  buildRetrieve,
  CROSS_GATEWAY_ACTIONS,
  DISCOVERY_ACTIONS,
  type DiscoveryCriteria,
  type DocumentEntry,
  readFindDocumentsResponse,
  readPatientDiscoveryResponse,
  readRetrieveResponse,
  type XmlFragment,
} from '#ihe';
import { loadSamplePatients } from '../../../src/local-stack/sample-patients.ts';
import type {
  AskedGateway,
  GatewayNetwork,
} from '../../../src/local-stack/simulator/network.ts';
import { SIMULATED_GATEWAY } from '../../../src/local-stack/simulator/protocol.ts';
import { asMember, payloadOf, type Send } from './as-member.ts';

const { homeCommunity } = SIMULATED_GATEWAY;

/**
 * Asks a gateway for a sample patient, as another member of its network does:
 * who it is (ITI-55), which documents there are (ITI-38), and their bytes
 * (ITI-39).
 *
 * @throws {IheError} when the gateway refuses to answer
 */
export async function askGateway(
  network: GatewayNetwork,
  sample: string,
): Promise<AskedGateway> {
  return asMember(network, (send) => askBy(send, sample));
}

async function askBy(send: Send, sample: string): Promise<AskedGateway> {
  const discovered = readPatientDiscoveryResponse(
    payloadOf(await send(DISCOVERY_ACTIONS.question, discoveryOf(sample))),
  );
  const [match] = discovered.patients;
  const { root: authority, extension: id } = match?.patientId ?? {};
  if (authority === undefined || id === undefined)
    return { discovery: discovered.outcome, documents: [], problems: [] };
  const listed = readFindDocumentsResponse(
    payloadOf(
      await send(
        CROSS_GATEWAY_ACTIONS.query,
        buildFindDocuments({
          patient: { id, authority },
          homeCommunity: match?.homeCommunity ?? authority,
        }),
      ),
    ),
  );
  const problems = listed.problems.map(({ code }) => code);
  const found = { discovery: discovered.outcome, patientId: id, problems };
  if (listed.entries.length === 0) return { ...found, documents: [] };
  const envelope = await send(
    CROSS_GATEWAY_ACTIONS.retrieve,
    buildRetrieve(listed.entries.map(idsOf)),
    [],
  );
  const retrieved = readRetrieveResponse(payloadOf(envelope));
  problems.push(...retrieved.problems.map(({ code }) => code));
  const bytes = new Map(
    retrieved.documents.map(({ uniqueId, content }) => [
      uniqueId,
      content.in === 'attachment'
        ? envelope.attachment(content.reference)?.stored
        : undefined,
    ]),
  );
  return {
    ...found,
    documents: listed.entries.map((entry) => ({
      title: entry.title,
      mimeType: entry.mimeType,
      sizeBytes: bytes.get(entry.uniqueId)?.length,
      isAsListed:
        entry.hash?.toLowerCase() === sha1Of(bytes.get(entry.uniqueId)),
    })),
  };
}

const idsOf = ({
  uniqueId,
  repository,
  homeCommunity: home,
}: DocumentEntry) => ({
  uniqueId: uniqueId ?? '',
  repository: repository ?? '',
  homeCommunity: home,
});

const sha1Of = (bytes: Buffer | undefined): string | undefined =>
  bytes && createHash('sha1').update(bytes).digest('hex');

const discoveryOf = (sample: string): XmlFragment =>
  buildPatientDiscovery({
    messageId: { root: randomUUID(), extension: undefined },
    sentAt: new Date(),
    processing: 'T',
    sender: { deviceId: homeCommunity, homeCommunity },
    receiver: { deviceId: homeCommunity, homeCommunity: undefined },
    queryId: { root: homeCommunity, extension: randomUUID() },
    criteria: criteriaOf(sample),
  });

function criteriaOf(sample: string): DiscoveryCriteria {
  const known = loadSamplePatients().find(({ key }) => key === sample);
  if (known === undefined) throw new Error('There is no such sample.');
  const { firstName, lastName, dob, genderAtBirth, address } = known.createBody;
  return {
    genders: [genderAtBirth],
    birthTimes: [dob.replaceAll('-', '')],
    birthPlaceAddresses: [],
    birthPlaceNames: [],
    ids: [],
    names: [{ family: [lastName], given: [firstName], prefix: [], suffix: [] }],
    mothersMaidenNames: [],
    addresses: address.map(({ addressLine1, city, state, zip }) => ({
      lines: [addressLine1],
      city,
      state,
      zip,
      country: undefined,
    })),
    telecoms: [],
    principalCareProviderIds: [],
  };
}
