import { createHash } from 'node:crypto';
import {
  type DocumentMetadata,
  type OutgoingAttachment,
  type SubmissionToBuild,
  withoutUrn,
  writeCx,
  writeHl7Time,
} from '#ihe';
import { transportOf } from '../../../../contract/messages.ts';
import type { Demographics } from '../../../people/patients/rules/demographics.ts';
import type { StoredMessage } from '../message-store.ts';
import type { SentAttachment } from '../message-transport.ts';
import { SUBMISSION_CODES } from './codes.ts';
import { sourcePatientInfo } from './source-patient-info.ts';

/** Who sends, as the network knows us. */
export interface Submitter {
  /** An OID, with or without `urn:oid:`. */
  ownHomeCommunity: string;
  organizationName: string | undefined;
}

export interface MessageSubmission {
  submission: SubmissionToBuild;
  attachments: OutgoingAttachment[];
}

/**
 * A message as a submission with full metadata (XDR, ITI-41): its text and its
 * attachments are the documents, its subject is the title.
 *
 * All ids follow from the message's and the documents', so that a repeated
 * submission is the same to whoever takes it.
 */
export function submissionOfMessage(
  message: StoredMessage,
  patient: Demographics & { id: string },
  files: readonly SentAttachment[],
  submitter: Submitter,
): MessageSubmission {
  const own = withoutUrn(submitter.ownHomeCommunity);
  const patientId = writeCx({ id: patient.id, authority: own });
  const author = {
    persons: [],
    institutions: [`${submitter.organizationName ?? own}^^^^^^^^^${own}`],
    roles: [],
    specialties: [],
    telecoms: [],
  };
  const documents = [...textOf(message), ...files].map((file) => ({
    file,
    metadata: metadataOf(file, {
      entryUuid: `urn:uuid:${uuidOf(`${message.id}/${file.id}`)}`,
      patientId,
      sourcePatientId: patientId,
      sourcePatientInfo: sourcePatientInfo(patient, patientId),
      authors: [author],
    }),
  }));

  return {
    submission: {
      entryUuid: `urn:uuid:${message.id}`,
      uniqueId: oidOfUuid(message.id),
      sourceId: own,
      patientId,
      submittedAt: message.sentAt,
      title: message.subject,
      contentType: SUBMISSION_CODES.contentType,
      authors: [author],
      intendedRecipients: recipientsOf(message),
      documents: documents.map(({ file, metadata }) => ({
        metadata,
        content: { contentId: contentIdOf(file) },
      })),
    },
    attachments: documents.map(({ file }) => ({
      contentId: contentIdOf(file),
      contentType: file.contentType,
      bytes: file.content,
    })),
  };
}

/** The message's text is a document of its own: XDR has no other place. */
function textOf({ id, body, sentAt }: StoredMessage): SentAttachment[] {
  if (body === null || body.trim() === '') return [];
  return [
    {
      id,
      fileName: 'message.txt',
      contentType: 'text/plain',
      content: Buffer.from(body),
      createdAt: sentAt,
    },
  ];
}

function metadataOf(
  { id, contentType, fileName, content, createdAt }: SentAttachment,
  shared: Pick<
    DocumentMetadata,
    | 'entryUuid'
    | 'patientId'
    | 'sourcePatientId'
    | 'sourcePatientInfo'
    | 'authors'
  >,
): DocumentMetadata {
  return {
    ...shared,
    uniqueId: oidOfUuid(uuidOf(`${shared.entryUuid}/${id}`)),
    mimeType: contentType.split(';')[0]?.trim() ?? contentType,
    creationTime: writeHl7Time(createdAt),
    title: fileName,
    size: content.length,
    hash: createHash('sha1').update(content).digest('hex'),
    classCode: SUBMISSION_CODES.class,
    typeCode: SUBMISSION_CODES.type,
    formatCode: SUBMISSION_CODES.format,
    facilityType: SUBMISSION_CODES.facility,
    practiceSetting: SUBMISSION_CODES.practice,
    confidentiality: [SUBMISSION_CODES.confidentiality],
  };
}

/**
 * A Direct address, or the organization and each person who is to read it:
 * `Organization^^^^^^^^^OID|NPI^^^^^^^^&2.16.840.1.113883.4.6&ISO`.
 */
function recipientsOf({
  destination,
  intendedRecipientNpi,
}: StoredMessage): string[] {
  if (transportOf(destination) === 'direct')
    return [`||^^Internet^${destination}`];
  const organization = `${destination}^^^^^^^^^${destination}`;
  if (intendedRecipientNpi.length === 0) return [organization];
  return intendedRecipientNpi.map(
    (npi) => `${organization}|${npi}^^^^^^^^&2.16.840.1.113883.4.6&ISO`,
  );
}

const contentIdOf = ({ id }: SentAttachment): string =>
  `${id}@medical-data-exchange`;

/** A UUID as an OID (ITU-T X.667). */
export const oidOfUuid = (uuid: string): string =>
  `2.25.${BigInt(`0x${uuid.replaceAll('-', '')}`)}`;

/** A UUID of its own for a text, always the same (RFC 9562, version 8). */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');

  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
