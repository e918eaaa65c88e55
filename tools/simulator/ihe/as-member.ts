import {
  type Envelope,
  GatewayClient,
  type OutgoingAttachment,
  readCredentials,
  type XmlElement,
  type XmlFragment,
} from '#ihe';
import type { GatewayNetwork } from '../../../src/local-stack/simulator/network.ts';
import { SIMULATED_GATEWAY } from '../../../src/local-stack/simulator/protocol.ts';

const TIMEOUT_MS = 60_000;
const { homeCommunity } = SIMULATED_GATEWAY;

const STATEMENT = {
  subject: 'Simulated clinic system',
  organization: 'Simulated clinic',
  organizationId: homeCommunity,
  homeCommunityId: homeCommunity,
  role: { code: '46255001', codeSystem: '2.16.840.1.113883.6.96' },
  purpose: { code: 'TREATMENT', codeSystem: '2.16.840.1.113883.3.18.7.1' },
};

/** Sends a message, with attachments as MTOM, and returns the answer. */
export type Send = (
  action: string,
  body: XmlFragment,
  mtom?: readonly OutgoingAttachment[],
) => Promise<Envelope>;

/** Speaks to a gateway as another member of its network. */
export async function asMember<T>(
  { address, certificate, privateKey, authority }: GatewayNetwork,
  speak: (send: Send) => Promise<T>,
): Promise<T> {
  const client = new GatewayClient({
    credentials: readCredentials({ certificate, privateKey }),
    trusted: [authority],
  });
  const send: Send = async (action, body, mtom) => {
    const answer = await client.send({
      address,
      action,
      body,
      statement: STATEMENT,
      timeoutMs: TIMEOUT_MS,
      ...(mtom && { mtom }),
    });
    if (answer.kind !== 'answer') throw new Error('There was no answer.');
    return answer.envelope;
  };
  try {
    return await speak(send);
  } finally {
    await client.close();
  }
}

export function payloadOf({ payload }: Envelope): XmlElement {
  if (payload === undefined) throw new Error('The answer is empty.');
  return payload;
}
