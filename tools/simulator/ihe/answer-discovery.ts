import { randomUUID } from 'node:crypto';
import {
  buildDiscoveryAcknowledgement,
  buildPatientDiscoveryResponse,
  DISCOVERY_ACTIONS,
  type DiscoveryVerdict,
  isDeferredDiscovery,
  type MessageHead,
  type PatientDiscoveryRequest,
  readPatientDiscovery,
  XmlFragment,
} from '#ihe';
import type { GatewayTrouble } from '../../../src/local-stack/simulator/faults.ts';
import { SIMULATED_GATEWAY } from '../../../src/local-stack/simulator/protocol.ts';
import { givenOut } from '../routes/match.ts';
import type { SourceCall } from '../source.ts';
import type { DeferredAnswers } from './deferred-answers.ts';
import {
  type GatewayCall,
  type GatewayReply,
  replyMessage,
} from './gateway-call.ts';
import { matchOf, queryOfCriteria } from './gateway-patients.ts';

export const DISCOVERY_TROUBLES = [
  'busy',
  'candidates',
  'communities',
  'more-attributes',
  'query-error',
] as const satisfies readonly GatewayTrouble[];

/**
 * Answers ITI-55: at once, or with an acknowledgement, after which the answer is
 * sent to the address that the question names.
 */
export function answerDiscovery(
  { call, envelope, payload, trouble }: GatewayCall,
  sample: string | undefined,
  deferred: DeferredAnswers,
): GatewayReply {
  const request = readPatientDiscovery(payload);
  const verdict = verdictOn(call, request, trouble);
  const body = answerBody(request, verdict, trouble);
  if (!isDeferredDiscovery(request))
    return { action: DISCOVERY_ACTIONS.answer, body };

  const reply = { action: DISCOVERY_ACTIONS.deferredAnswer, body };
  deferred.send({
    url: request.respondTo ?? '',
    message: () => replyMessage(reply, envelope.messageId),
    delaysMs: deferredDelaysMs(call),
    sample,
  });
  return {
    action: DISCOVERY_ACTIONS.acknowledgement,
    body: buildDiscoveryAcknowledgement(headOf(request), request),
  };
}

function verdictOn(
  call: SourceCall,
  request: PatientDiscoveryRequest,
  trouble: GatewayTrouble | undefined,
): DiscoveryVerdict {
  const { criteria, missing } = request;
  if (missing.length > 0) return { problem: 'InternalError' };
  if (trouble === 'busy') return { problem: 'ResponderBusy' };
  if (trouble === 'query-error') return { problem: 'AnswerNotAvailable' };
  const wantedAttributes = [
    ...(criteria.addresses.length > 0 ? [] : ['PatientAddressRequested']),
    ...(criteria.telecoms.length > 0 ? [] : ['PatientTelecomRequested']),
  ];
  if (trouble === 'more-attributes' && wantedAttributes.length > 0)
    return { wantedAttributes };

  const { homeCommunity, secondCommunity } = SIMULATED_GATEWAY;
  const [best] = givenOut(call, queryOfCriteria(criteria));
  if (best === undefined) return { patients: [] };
  const match = matchOf(best, homeCommunity);
  if (trouble === 'communities')
    return { patients: [match, matchOf(best, secondCommunity)] };
  if (trouble !== 'candidates') return { patients: [match] };
  const { root, extension } = match.patientId;
  const twin = { ...match, patientId: { root, extension: `${extension}-2` } };
  return { patients: [match, twin] };
}

function answerBody(
  request: PatientDiscoveryRequest,
  verdict: DiscoveryVerdict,
  trouble: GatewayTrouble | undefined,
): XmlFragment {
  const body = buildPatientDiscoveryResponse({
    ...headOf(request),
    request,
    verdict,
  });
  if (trouble !== 'query-error') return body;
  // As gateways of the field say it: accepted, and the query failed.
  return new XmlFragment(
    body.source
      .replace('<typeCode code="AE"/>', '<typeCode code="AA"/>')
      .replace(
        '<queryResponseCode code="AE"/>',
        '<queryResponseCode code="QE"/>',
      ),
  );
}

const headOf = (request: PatientDiscoveryRequest): MessageHead => ({
  messageId: { root: randomUUID(), extension: undefined },
  sentAt: new Date(),
  processing: 'T',
  sender: {
    deviceId: SIMULATED_GATEWAY.homeCommunity,
    homeCommunity: SIMULATED_GATEWAY.homeCommunity,
  },
  receiver: {
    deviceId: request.senderDevice ?? request.senderCommunity ?? '2.999',
    homeCommunity: request.senderCommunity,
  },
});

const DOUBLED_AFTER_MS = 250;

/** When an answer is sent later, and how often, by the faults of callbacks. */
export function deferredDelaysMs(call: SourceCall): number[] {
  const { min, max } = call.source.settings().jobLatencyMs;
  const delayMs = min + Math.floor(Math.random() * (max - min + 1));
  const fault = call.takeCallbackFault();
  if (fault?.type === 'no-callback') return [];
  if (fault?.type === 'late-callback') return [delayMs + fault.delayMs];
  return fault?.type === 'doubled-callback'
    ? [delayMs, delayMs + DOUBLED_AFTER_MS]
    : [delayMs];
}
