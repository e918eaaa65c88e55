import { createHash, randomUUID } from 'node:crypto';
import type { z } from 'zod';
import {
  type DocumentMetadata,
  type SubmissionToBuild,
  writeHl7Time,
} from '#ihe';
import type {
  DocumentTrouble,
  submissionRequest,
} from '../../../src/local-stack/simulator/letters.ts';
import { SIMULATED_GATEWAY } from '../../../src/local-stack/simulator/protocol.ts';

const { homeCommunity } = SIMULATED_GATEWAY;

type Message = Pick<
  z.output<typeof submissionRequest>,
  'messageId' | 'subject' | 'patient' | 'attachments' | 'trouble'
>;

interface SimulatedDocument {
  fileName: string;
  metadata: DocumentMetadata;
  /** Undefined for one that is announced and does not come. */
  content: Buffer | undefined;
}

const CODE = {
  code: '55188-7',
  system: '2.16.840.1.113883.6.1',
  display: 'Patient data Document',
};

/**
 * The documents of a message, and its submission set, as another provider's
 * system writes them; with what is wrong on purpose.
 */
export function submittedDocuments(message: Message): {
  set: Omit<SubmissionToBuild, 'documents' | 'intendedRecipients'>;
  documents: SimulatedDocument[];
} {
  const { messageId, subject, patient, attachments, trouble } = message;
  const patientId = `simulated^^^&${homeCommunity}&ISO`;
  const files = attachments.map(({ content, ...file }) => ({
    ...file,
    content: Buffer.from(content, 'base64'),
  }));
  const documents = files.map(
    (file, at): SimulatedDocument => ({
      ...file,
      metadata: {
        entryUuid: `urn:uuid:${randomUUID()}`,
        uniqueId: oidOf(`${messageId}/${at}`),
        patientId,
        sourcePatientInfo: pidOf(patientId, patient),
        mimeType: file.contentType,
        creationTime: writeHl7Time(new Date()),
        title: file.fileName,
        size: file.content.length,
        hash: createHash('sha1').update(file.content).digest('hex'),
        classCode: CODE,
        typeCode: CODE,
        formatCode: CODE,
        facilityType: CODE,
        practiceSetting: CODE,
        confidentiality: [CODE],
      },
    }),
  );

  return {
    set: {
      entryUuid: `urn:uuid:${randomUUID()}`,
      uniqueId: oidOf(messageId),
      sourceId: homeCommunity,
      patientId,
      submittedAt: new Date(),
      title: subject,
      contentType: CODE,
    },
    documents: withTrouble(documents, trouble),
  };
}

function withTrouble(
  documents: SimulatedDocument[],
  trouble: DocumentTrouble | undefined,
): SimulatedDocument[] {
  const [first, ...others] = documents;
  if (first === undefined) return [];
  const { metadata } = first;

  switch (trouble) {
    case 'wrong-hash':
      return [
        { ...first, metadata: { ...metadata, hash: '0'.repeat(40) } },
        ...others,
      ];
    case 'wrong-size':
      return [
        { ...first, metadata: { ...metadata, size: (metadata.size ?? 0) + 1 } },
        ...others,
      ];
    case 'missing-document':
      return [
        ...documents,
        {
          fileName: 'lost.txt',
          content: undefined,
          metadata: {
            ...metadata,
            entryUuid: `urn:uuid:${randomUUID()}`,
            uniqueId: oidOf(`${metadata.uniqueId}/lost`),
          },
        },
      ];
    default:
      return documents;
  }
}

/**
 * The metadata with their submission set twice, the second time under another
 * id.
 */
export function withTwoSets(metadata: string, entryUuid: string): string {
  const [set = ''] =
    /<rim:RegistryPackage.*<\/rim:RegistryPackage>/s.exec(metadata) ?? [];
  const other = set.replaceAll(entryUuid, `urn:uuid:${randomUUID()}`);

  return metadata.replace(set, set + other);
}

/** An OID of its own for a text, always the same. */
const oidOf = (text: string): string =>
  `2.25.${BigInt(`0x${createHash('sha256').update(text).digest('hex').slice(0, 32)}`)}`;

/** PID by the names of the Direct context. */
const pidOf = (
  patientId: string,
  patient: Readonly<Record<string, string>> | undefined,
): string[] =>
  patient === undefined
    ? []
    : [
        `PID-3|${patientId}`,
        `PID-5|${patient.surname}^${patient.givenName}`,
        `PID-7|${patient.dateOfBirth?.replaceAll('-', '')}`,
        `PID-8|${patient.gender}`,
        `PID-11|${patient.streetAddress}^^${patient.localityName}^${patient.stateOrProvinceName}^${patient.postalCode}`,
      ];
