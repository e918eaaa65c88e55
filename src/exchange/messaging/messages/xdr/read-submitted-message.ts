import {
  type DocumentEntry,
  type DocumentSubmission,
  type RegistryFault,
  type SubmissionSet,
  type SubmittedDocument,
  submittedContentFaults,
} from '#ihe';
import type { Json } from '#record-summary/fhir';
import {
  MESSAGE_ATTACHMENT_BYTES_MAX,
  MESSAGE_ATTACHMENTS_MAX,
} from '../../../../contract/messages.ts';
import type { ArrivedMessage, ReceivedAttachment } from '../take-message.ts';
import { readSourcePatientInfo } from './source-patient-info.ts';

/** What a submission says of the message that it is. */
export interface SubmittedMessage
  extends Pick<
    ArrivedMessage,
    'subject' | 'body' | 'attachments' | 'patients'
  > {
  /** Why it is not taken: in IHE's codes, without a word of the message. */
  faults: RegistryFault[];
}

/** The bytes that a document refers to; undefined when they are not all there. */
type Attached = (reference: string) => Buffer | undefined;

/**
 * Reads a submission, of XDR or of an XDM package, as a message: each document
 * with the type, size and hash that its metadata announce, and the person
 * whom they describe.
 */
export function readSubmittedMessage(
  submission: DocumentSubmission,
  attached: Attached,
): SubmittedMessage {
  const [set] = submission.submissionSets;
  const { attachments, faults } = attachmentsOf(submission, attached);
  return {
    subject: subjectOf(set),
    body: set?.comments,
    attachments,
    patients: patientsOf(submission),
    faults: [...metadataFaults(submission), ...faults],
  };
}

function metadataFaults(submission: DocumentSubmission): RegistryFault[] {
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

/** The documents with their bytes, and what is wrong with these. */
function attachmentsOf(
  { documents }: DocumentSubmission,
  attached: Attached,
): { attachments: ReceivedAttachment[]; faults: RegistryFault[] } {
  const attachments: ReceivedAttachment[] = [];
  const faults: RegistryFault[] = [];
  let length = 0;
  for (const [at, { entry, content }] of documents.entries()) {
    const bytes = bytesOf(content, attached);
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
  attached: Attached,
): Buffer | undefined {
  if (content.in === 'message') return content.bytes;
  if (content.in === 'nowhere') return undefined;
  return attached(content.reference);
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

const subjectOf = (set: SubmissionSet | undefined): string =>
  (set?.title ?? set?.contentType?.display ?? 'Documents').slice(
    0,
    SUBJECT_LENGTH_MAX,
  );

/** The descriptions of a person that the documents have, each once. */
function patientsOf({ documents }: DocumentSubmission): Json[] {
  const described = documents
    .map(({ entry }) => readSourcePatientInfo(entry.sourcePatientInfo))
    .filter((each) => each !== undefined);
  const distinct = new Map(
    described.map((each) => [JSON.stringify(each), each]),
  );
  return [...distinct.values()];
}
