import {
  buildDiscoveryAcknowledgement,
  buildPatientDiscoveryResponse,
  DISCOVERY_ACTIONS,
  type DiscoveryVerdict,
  type Envelope,
  isDeferredDiscovery,
  isSameId,
  type MessageHead,
  newMessageId,
  type PatientDiscoveryRequest,
  readPatientDiscovery,
  withoutUrn,
  type XmlElement,
} from '#ihe';
import type { Asker } from './asker.ts';
import { concludeDiscovery } from './conclude-discovery.ts';
import type { StoredMembership } from './membership-store.ts';
import { GatewayRefusal } from './refusal.ts';
import type { AnswerDeps, TransactionAnswer } from './transaction.ts';

/** Answers ITI-55 at once, or acknowledges a question that is answered later. */
export async function answerDiscoveryRequest(
  deps: AnswerDeps,
  asker: Asker,
  envelope: Envelope,
  payload: XmlElement,
): Promise<TransactionAnswer> {
  const request = readPatientDiscovery(payload);
  const { senderCommunity, receiverCommunity } = request;
  const { membership, community } = asker;
  const isOther = (stated: string | undefined, own: string) =>
    stated !== undefined && !isSameId(stated, own);
  if (isOther(senderCommunity, community))
    throw new GatewayRefusal(
      'authentication',
      'The sender of the question is not the home community of the assertion.',
    );
  if (isOther(receiverCommunity, membership.settings.homeCommunity))
    throw new GatewayRefusal(
      'unreadable',
      'The receiver of the question is another home community.',
    );
  const isDeferred =
    envelope.action === DISCOVERY_ACTIONS.deferredQuestion ||
    request.priority === 'D';
  if (isDeferred) {
    if (!isDeferredDiscovery({ ...request, priority: 'D' }))
      throw new GatewayRefusal(
        'deferred',
        'A question to be answered later needs respondTo with an address.',
      );
    await deps.acceptDeferred(asker, request, envelope);
    return {
      action: DISCOVERY_ACTIONS.acknowledgement,
      body: buildDiscoveryAcknowledgement(headOf(membership, request), request),
      given: [{ outcome: '200' }],
    };
  }
  const { verdict, patientId } = await concludeDiscovery(
    deps,
    membership,
    request,
  );
  return {
    ...discoveryAnswer(membership, request, verdict),
    given: [{ patientId, outcome: '200' }],
  };
}

/** PRPA_IN201306UV02, with its action. */
export const discoveryAnswer = (
  membership: StoredMembership,
  request: PatientDiscoveryRequest,
  verdict: DiscoveryVerdict,
  action: string = DISCOVERY_ACTIONS.answer,
) => ({
  action,
  body: buildPatientDiscoveryResponse({
    ...headOf(membership, request),
    request,
    verdict,
  }),
});

function headOf(
  { settings }: StoredMembership,
  { senderDevice, senderCommunity }: PatientDiscoveryRequest,
): MessageHead {
  const homeCommunity = withoutUrn(settings.homeCommunity);
  return {
    messageId: { root: withoutUrn(newMessageId()), extension: undefined },
    sentAt: new Date(),
    processing: 'P',
    sender: { deviceId: homeCommunity, homeCommunity },
    receiver: {
      deviceId: senderDevice ?? senderCommunity ?? homeCommunity,
      homeCommunity: senderCommunity,
    },
  };
}
