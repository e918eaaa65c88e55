import { findPatient } from '../../../people/patients/patient-store.ts';
import type { Store } from '../../../platform/database/database.ts';
import { PartnerFailure } from '../../../platform/partners/partner-http.ts';
import type { SubmissionGateway } from '../../../sources/connections/submissions.ts';
import { SourceFailure } from '../../../sources/connectors/connector.ts';
import type { SubmissionOutcome } from '../../../sources/connectors/ihe/submission/submit-documents.ts';
import type { StoredMessage } from '../message-store.ts';
import type {
  DeliveryState,
  MessageTransport,
  SentAttachment,
} from '../message-transport.ts';
import { submissionOfMessage } from './submission-of-message.ts';

/**
 * Sends an account's messages to a gateway by XDR (ITI-41). Its answer is all
 * that XDR knows: a message that was accepted has been delivered to the
 * recipient's gateway; whether somebody reads it, nobody tells.
 */
export function createXdrTransport(
  store: Pick<Store, 'asAccount'>,
  accountId: string,
  gateway: SubmissionGateway,
): MessageTransport {
  async function send(
    message: StoredMessage,
    files: readonly SentAttachment[],
    signal: AbortSignal = new AbortController().signal,
  ): Promise<DeliveryState> {
    const { patientId, destination } = message;
    const patient =
      patientId === null
        ? undefined
        : await store.asAccount(accountId, (tx) => findPatient(tx, patientId));
    if (patient === undefined)
      return { state: 'failed', reason: 'patientGone' };
    const { submission, attachments } = submissionOfMessage(
      message,
      patient,
      files,
      gateway,
    );
    const outcome = await gateway
      .submit({ submission, attachments, recipient: destination, signal })
      .catch(rethrow);
    return DELIVERY[outcome];
  }

  return {
    send,
    // It never leaves a message accepted but not ended.
    ask: async () => ({ state: 'accepted' }),
  };
}

const DELIVERY = {
  accepted: { state: 'delivered' },
  refused: { state: 'failed', reason: 'refused' },
  'unknown-recipient': { state: 'failed', reason: 'unknown-recipient' },
} as const satisfies Record<SubmissionOutcome, DeliveryState>;

/** A refused login may be mended within the time that a message has. */
function rethrow(error: unknown): never {
  if (!(error instanceof SourceFailure)) throw error;
  throw new PartnerFailure(
    error.kind === 'bad-answer' ? 'bad-answer' : 'transport',
    error.message,
    { cause: error },
  );
}
