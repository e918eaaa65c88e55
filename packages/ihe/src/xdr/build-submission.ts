import {
  type DocumentToWrite,
  writeDocumentContent,
} from '../ebxml/document-content.ts';
import type { DocumentAuthor } from '../ebxml/document-entry.ts';
import {
  type Coded,
  registryPartId,
  writeCode,
  writeIdentifier,
  writeLocalizedString,
  writeSlot,
} from '../ebxml/registry-elements.ts';
import {
  CLASSIFICATION_SCHEMES,
  IDENTIFIER_SCHEMES,
  STATUS_TYPE,
  SUBMISSION_SET_NODE,
} from '../ebxml/registry-names.ts';
import {
  type DocumentMetadata,
  writeAuthor,
  writeDocumentEntry,
} from '../ebxml/write-document-entry.ts';
import { EBXML_LCM, EBXML_RIM, XDSB } from '../namespaces.ts';
import { writeHl7Time } from '../times.ts';
import { type XmlFragment, xml } from '../xml/write-xml.ts';

/** A submission: what is sent, to whom, by whom. */
export interface SubmissionToBuild {
  /** The id of the set within the message: `urn:uuid:…`. */
  entryUuid: string;

  /** OIDs. */
  uniqueId: string;
  sourceId: string;

  /** CX. */
  patientId: string;

  submittedAt: Date;
  title?: string | undefined;
  contentType: Coded;
  authors?: readonly DocumentAuthor[] | undefined;

  /** `Organization|Person|Telecom`. */
  intendedRecipients?: readonly string[] | undefined;

  documents: readonly {
    metadata: DocumentMetadata;
    content: DocumentToWrite;
  }[];
}

/** Writes ITI-41's message with the full set of metadata. */
export function buildSubmission(submission: SubmissionToBuild): XmlFragment {
  return xml`
    <xdsb:ProvideAndRegisterDocumentSetRequest xmlns:xdsb="${XDSB}">
      ${writeSubmittedObjects(submission)}
      ${submission.documents.map(
        ({ metadata, content }) => xml`
          <xdsb:Document id="${metadata.entryUuid}">${writeDocumentContent(content)}</xdsb:Document>
        `,
      )}
    </xdsb:ProvideAndRegisterDocumentSetRequest>
  `;
}

/** A submission whose documents are files on media, each by its `uri`. */
export interface SubmissionOnMedia
  extends Omit<SubmissionToBuild, 'documents'> {
  documents: readonly { metadata: DocumentMetadata & { uri: string } }[];
}

/** Writes XDM's METADATA.XML (ITI-32, ITI TF-2 3.32.4.1.2). */
export const buildMediaMetadata = (submission: SubmissionOnMedia): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n${writeSubmittedObjects(submission)}`;

function writeSubmittedObjects(
  submission: Omit<SubmissionToBuild, 'documents'> & {
    documents: readonly { metadata: DocumentMetadata }[];
  },
): XmlFragment {
  const { documents } = submission;

  return xml`
    <lcm:SubmitObjectsRequest xmlns:lcm="${EBXML_LCM}" xmlns:rim="${EBXML_RIM}">
      <rim:RegistryObjectList>
        ${documents.map(({ metadata }) => writeDocumentEntry(metadata))}
        ${writeSubmissionSet(submission)}
        <rim:Classification
          id="${registryPartId(submission.entryUuid, SUBMISSION_SET_NODE)}"
          classifiedObject="${submission.entryUuid}"
          classificationNode="${SUBMISSION_SET_NODE}"/>
        ${documents.map(({ metadata }) =>
          writeMembership(submission.entryUuid, metadata.entryUuid),
        )}
      </rim:RegistryObjectList>
    </lcm:SubmitObjectsRequest>
  `;
}

function writeSubmissionSet(
  submission: Omit<SubmissionToBuild, 'documents'>,
): XmlFragment {
  const id = submission.entryUuid;

  return xml`
    <rim:RegistryPackage
      id="${id}"
      objectType="urn:oasis:names:tc:ebxml-regrep:ObjectType:RegistryObject:RegistryPackage"
      status="${STATUS_TYPE}Approved">
      ${writeSlot('submissionTime', [writeHl7Time(submission.submittedAt)])}
      ${writeSlot('intendedRecipient', submission.intendedRecipients ?? [])}
      ${writeLocalizedString('Name', submission.title)}
      ${(submission.authors ?? []).map((author, at) =>
        writeAuthor(id, CLASSIFICATION_SCHEMES.submissionAuthor, author, at),
      )}
      ${writeCode(
        id,
        CLASSIFICATION_SCHEMES.submissionContentType,
        submission.contentType,
      )}
      ${writeIdentifier(
        id,
        IDENTIFIER_SCHEMES.submissionUniqueId,
        'XDSSubmissionSet.uniqueId',
        submission.uniqueId,
      )}
      ${writeIdentifier(
        id,
        IDENTIFIER_SCHEMES.submissionSourceId,
        'XDSSubmissionSet.sourceId',
        submission.sourceId,
      )}
      ${writeIdentifier(
        id,
        IDENTIFIER_SCHEMES.submissionPatientId,
        'XDSSubmissionSet.patientId',
        submission.patientId,
      )}
    </rim:RegistryPackage>
  `;
}

function writeMembership(setId: string, documentId: string): XmlFragment {
  return xml`
    <rim:Association
      id="${registryPartId(setId, documentId)}"
      associationType="urn:oasis:names:tc:ebxml-regrep:AssociationType:HasMember"
      sourceObject="${setId}"
      targetObject="${documentId}"
      objectType="urn:oasis:names:tc:ebxml-regrep:ObjectType:RegistryObject:Association">
      ${writeSlot('SubmissionSetStatus', ['Original'])}
    </rim:Association>
  `;
}
