import { createSecureContext } from 'node:tls';
import { Agent, request } from 'undici';
import { buildPatientDiscovery, DISCOVERY_ACTIONS, newMessageId } from '#ihe';
import {
  iheSettingsSchema,
  samlAuthSchema,
} from '../../src/exchange/sources/connectors/ihe/ihe-settings.ts';
import { createMessageSigner } from '../../src/exchange/sources/connectors/ihe/sign-message.ts';
import { resolveSourceConfig } from '../../src/exchange/sources/connectors/source-config.ts';
import { OUR_COMMUNITY } from '../../test/support/responding-gateway.ts';
import { communityOf, hostOf } from './behaviours.ts';
import type { Network } from './network.ts';

/** CPU of this process for one message, in milliseconds. */
export interface BareCosts {
  /** Writing a patient discovery, with its two signatures. */
  signatureMs: number;
  /** A mutual TLS connection, and a request of nothing over it. */
  tlsMs: number;
}

const TIMES = 150;

/** What no way of asking a gateway can save. The first round is a warm-up. */
export async function measureBareCosts(
  network: Network,
  gateways: number,
): Promise<BareCosts> {
  const sign = signerOf(network);
  const agent = new Agent({
    connect: {
      secureContext: createSecureContext({
        ca: network.membership.authority,
        cert: network.membership.cert,
        key: network.membership.key,
      }),
    },
  });
  const connect = async (index: number) => {
    const host = hostOf((index % gateways) + 1);
    const { body } = await request(`https://${host}:${network.port}/`, {
      dispatcher: agent,
      headers: { connection: 'close' },
    });
    await body.dump();
  };
  try {
    await cpuOf(sign);
    const signatureMs = await cpuOf(sign);
    await cpuOf(connect);
    return { signatureMs, tlsMs: await cpuOf(connect) };
  } finally {
    await agent.close();
  }
}

async function cpuOf(work: (index: number) => Promise<unknown>) {
  const before = process.cpuUsage();
  for (let index = 0; index < TIMES; index += 1) await work(index);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / TIMES;
}

function signerOf({ membership, port }: Network) {
  const url = `https://${hostOf(1)}:${port}/discovery`;
  const ihe = iheSettingsSchema.parse({
    queryUrl: url,
    retrieveUrl: url,
    homeCommunity: communityOf(1),
    ownHomeCommunity: OUR_COMMUNITY,
  });
  const config = resolveSourceConfig({
    source: 'hie',
    baseUrl: url,
    ihe,
    tls: {
      ca: membership.authority,
      cert: membership.cert,
      key: membership.key,
    },
    auth: samlAuthSchema.parse({
      kind: 'saml',
      organizationName: 'Our clinic',
      organizationId: OUR_COMMUNITY,
      samlSubject: 'The exchange',
      samlRole: '2.16.840.1.113883.6.96|106331006|Administrative personnel',
      samlPurpose: '2.16.840.1.113883.3.18.7.1|TREATMENT',
    }),
  });
  const signer = createMessageSigner(config, ihe, Date.now);
  const who = (community: string) => ({
    deviceId: community,
    homeCommunity: community,
  });
  return () =>
    signer.write({
      url,
      action: DISCOVERY_ACTIONS.question,
      messageId: newMessageId(),
      body: buildPatientDiscovery({
        messageId: { root: newMessageId().slice(9), extension: undefined },
        sentAt: new Date(),
        processing: 'P',
        sender: who(OUR_COMMUNITY),
        receiver: who(communityOf(1)),
        queryId: { root: OUR_COMMUNITY, extension: newMessageId() },
        criteria: {
          genders: ['F'],
          birthTimes: ['19851210'],
          birthPlaceAddresses: [],
          birthPlaceNames: [],
          ids: [],
          names: [
            { family: ['Lovelace'], given: ['Ada'], prefix: [], suffix: [] },
          ],
          mothersMaidenNames: [],
          addresses: [
            {
              lines: ['12 Main Street'],
              city: 'Boston',
              state: 'MA',
              zip: '02108',
              country: 'USA',
            },
          ],
          telecoms: [],
          principalCareProviderIds: [],
        },
      }),
    });
}
