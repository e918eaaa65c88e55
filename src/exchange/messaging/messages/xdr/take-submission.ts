import { createHash } from 'node:crypto';
import {
  type DocumentSubmission,
  type Envelope,
  type RegistryFault,
  readSubmission,
  type SubmissionSet,
  withUrnOid,
} from '#ihe';
import type { Asker } from '../../../delivery/responding-gateway/asker.ts';
import type { AnswerDeps } from '../../../delivery/responding-gateway/transaction.ts';
import { facilitiesAt } from '../message-store.ts';
import {
  type ReceivedAttachment,
  type TakeMessageDeps,
  takeMessage,
} from '../take-message.ts';
import { readSubmittedMessage } from './read-submitted-message.ts';
import { recipientsOfSubmission } from './recipients.ts';

/**
 * Takes submissions of a network's members (XDR, ITI-41) in as messages to the
 * facilities of the account that is a member. What is wrong with one is said in
 * IHE's codes, without a word of the message.
 */
export const createSubmissionIntake =
  (deps: TakeMessageDeps): AnswerDeps['takeSubmission'] =>
  async (asker, envelope, payload) => {
    const { accountId, settings } = asker.membership;
    const submission = readSubmission(payload);
    const [set] = submission.submissionSets;
    const { faults, ...read } = readSubmittedMessage(
      submission,
      attachedTo(envelope),
    );
    if (set === undefined || faults.length > 0) return { faults };
    const { organizations, npis } = recipientsOfSubmission(
      envelope,
      submission,
    );
    const [destination] = await deps.store.asAccount(accountId, (tx) =>
      facilitiesAt(tx, organizations),
    );
    if (destination === undefined) return { faults: [unknownRecipient(asker)] };

    const { id, patientId } = await takeMessage(deps, accountId, {
      ...read,
      senderId: senderIdOf(asker, set, destination, read.attachments),
      destination,
      network: settings.network ?? 'CAREQUALITY',
      intendedRecipientNpi: npis,
    });
    return {
      faults: warningsOf(submission),
      messageId: id,
      patientId: patientId ?? undefined,
    };
  };

const attachedTo =
  (envelope: Envelope) =>
  (reference: string): Buffer | undefined => {
    const attachment = envelope.attachment(reference);
    return attachment?.isComplete === true ? attachment.stored : undefined;
  };

/** Its location is the gateway that was asked, as in XCA. */
const unknownRecipient = ({ membership }: Asker): RegistryFault => ({
  code: 'XDSUnknownCommunity',
  context:
    'No organization that receives here is named, by its OID, in the header or as intendedRecipient.',
  location: withUrnOid(membership.settings.homeCommunity),
});

const warningsOf = ({ remarks }: DocumentSubmission): RegistryFault[] =>
  remarks.map((code) => ({
    code,
    context: 'The documents were taken, each by itself.',
    severity: 'Warning',
  }));

/**
 * A set with the same id and the same bytes is the same message. With other
 * bytes it is another one: neither is lost.
 */
function senderIdOf(
  { community }: Asker,
  { sourceId, uniqueId }: SubmissionSet,
  destination: string,
  attachments: readonly ReceivedAttachment[],
): string {
  const hashes = attachments.map(({ content }) =>
    createHash('sha256').update(content).digest('hex'),
  );
  return JSON.stringify([
    'xdr',
    community,
    sourceId,
    uniqueId,
    destination,
    ...hashes,
  ]);
}
