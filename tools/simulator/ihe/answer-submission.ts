import {
  buildRegistryResponse,
  type DocumentContent,
  type Envelope,
  type RegistryFault,
  readSubmission,
  SUBMISSION_ACTIONS,
  submittedContentFaults,
} from '#ihe';
import type { GatewayTrouble } from '../../../src/local-stack/simulator/faults.ts';
import type { GatewayCall, GatewayReply } from './gateway-call.ts';

export const SUBMISSION_TROUBLES = [
  'busy',
] as const satisfies readonly GatewayTrouble[];

/** Answers ITI-41: takes what is whole, and refuses what is not. */
export function answerSubmission({
  payload,
  envelope,
  trouble,
}: GatewayCall): GatewayReply {
  if (trouble === 'busy') return reply([BUSY]);

  const { documents, faults } = readSubmission(payload);
  const contentFaults = documents.flatMap(({ entry, content }) =>
    submittedContentFaults(entry, bytesOf(content, envelope)),
  );
  return reply(
    [...faults, ...contentFaults].map(({ code, reason }) => ({
      code,
      context: reason,
    })),
  );
}

const BUSY: RegistryFault = { code: 'XDSRepositoryBusy', context: 'Busy.' };

function reply(faults: readonly RegistryFault[]): GatewayReply {
  return {
    action: SUBMISSION_ACTIONS.submitResponse,
    body: buildRegistryResponse(
      faults.length === 0 ? 'Success' : 'Failure',
      faults,
    ),
  };
}

function bytesOf(content: DocumentContent, envelope: Envelope): Buffer {
  if (content.in === 'message') return content.bytes;
  if (content.in === 'nowhere') return Buffer.alloc(0);
  return envelope.attachment(content.reference)?.stored ?? Buffer.alloc(0);
}
