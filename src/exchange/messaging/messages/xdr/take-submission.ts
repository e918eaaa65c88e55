import { createHash } from 'node:crypto';
import {
  type DocumentEntry,
  type DocumentSubmission,
  type Envelope,
  type RegistryFault,
  readSubmission,
  type SubmissionSet,
  type SubmittedDocument,
  submittedContentFaults,
  withUrnOid,
} from '#ihe';
import type { Json } from '#record-summary/fhir';
import {
  MESSAGE_ATTACHMENT_BYTES_MAX,
  MESSAGE_ATTACHMENTS_MAX,
} from '../../../../contract/messages.ts';
import type { Asker } from '../../../delivery/responding-gateway/asker.ts';
import type { AnswerDeps } from '../../../delivery/responding-gateway/transaction.ts';
import { facilitiesAt } from '../message-store.ts';
import {
  type ReceivedAttachment,
  type TakeMessageDeps,
  takeMessage,
} from '../take-message.ts';
import { recipientsOfSubmission } from './recipients.ts';
import { readSourcePatientInfo } from './source-patient-info.ts';

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
    const read = attachmentsOf(submission, envelope);
    const faults = [...faultsOf(submission), ...read.faults];
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
      senderId: senderIdOf(asker, set, destination, read.attachments),
      destination,
      network: settings.network ?? 'CAREQUALITY',
      subject: subjectOf(set),
      body: set.comments,
      intendedRecipientNpi: npis,
      attachments: read.attachments,
      patient: patientOf(submission),
    });
    return {
      faults: warningsOf(submission),
      messageId: id,
      patientId: patientId ?? undefined,
    };
  };

function faultsOf(submission: DocumentSubmission): RegistryFault[] {
  const faults = submission.faults.map(({ code, reason }) =>
    faultOf(code, reason),
  );
  const [set] = submission.submissionSets;
  if (set !== undefined && set.uniqueId === undefined)
    faults.push(
      faultOf(
        'XDSRepositoryMetadataError',
        'The submission set has no unique id.',
      ),
    );
  if (submission.documents.length === 0)
    faults.push(
      faultOf('XDSRepositoryMetadataError', 'The submission has no document.'),
    );
  if (submission.documents.length > MESSAGE_ATTACHMENTS_MAX)
    faults.push(
      faultOf(
        'XDSRepositoryError',
        `At most ${MESSAGE_ATTACHMENTS_MAX} documents are taken at a time.`,
      ),
    );
  return faults;
}

const faultOf = (code: string, context: string): RegistryFault => ({
  code,
  context,
});

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

/** The documents with their bytes, and what is wrong with these. */
function attachmentsOf(
  { documents }: DocumentSubmission,
  envelope: Envelope,
): { attachments: ReceivedAttachment[]; faults: RegistryFault[] } {
  const attachments: ReceivedAttachment[] = [];
  const faults: RegistryFault[] = [];
  let length = 0;
  for (const [at, { entry, content }] of documents.entries()) {
    const bytes = bytesOf(content, envelope);
    if (bytes === undefined) {
      faults.push(
        faultOf(
          'XDSMissingDocument',
          'The bytes of a document are not there, or not all of them.',
        ),
      );
      continue;
    }
    length += bytes.length;
    for (const { code, reason } of submittedContentFaults(entry, bytes))
      faults.push(faultOf(code, reason));
    attachments.push({
      title: titleOf(entry, at),
      contentType: contentTypeOf(entry),
      content: bytes,
    });
  }
  if (length > MESSAGE_ATTACHMENT_BYTES_MAX)
    faults.push(
      faultOf(
        'XDSRepositoryError',
        `The documents have ${length} bytes in total; at most ${MESSAGE_ATTACHMENT_BYTES_MAX} are taken.`,
      ),
    );
  return { attachments, faults };
}

function bytesOf(
  content: SubmittedDocument['content'],
  envelope: Envelope,
): Buffer | undefined {
  if (content.in === 'message') return content.bytes;
  if (content.in === 'nowhere') return undefined;
  const attachment = envelope.attachment(content.reference);
  return attachment?.isComplete === true ? attachment.stored : undefined;
}

const titleOf = ({ title, uri }: DocumentEntry, at: number): string => {
  const text = (title ?? uri ?? '').replaceAll(/\p{C}/gu, '').trim();
  return text === '' ? `Document ${at + 1}` : text.slice(0, 255);
};

const contentTypeOf = ({ mimeType = '' }: DocumentEntry): string =>
  /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/.test(mimeType)
    ? mimeType
    : 'application/octet-stream';

const SUBJECT_LENGTH_MAX = 1_000;

const subjectOf = ({ title, contentType }: SubmissionSet): string =>
  (title ?? contentType?.display ?? 'Documents').slice(0, SUBJECT_LENGTH_MAX);

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

/** The one person whom the documents describe; of several, none. */
function patientOf({ documents }: DocumentSubmission): Json | undefined {
  const described = documents
    .map(({ entry }) => readSourcePatientInfo(entry.sourcePatientInfo))
    .filter((each) => each !== undefined);
  const distinct = new Map(
    described.map((each) => [JSON.stringify(each), each]),
  );
  const [one, ...others] = distinct.values();
  return others.length === 0 ? one : undefined;
}
