import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { type AttachmentToWrite, writeXdm } from '#direct';
import { buildMediaMetadata, type SubmissionOnMedia } from '#ihe';

/** A document of a package, and what its metadata say of it. */
export interface TestDocument {
  name: string;
  content: Buffer;
  title?: string;
  mimeType?: string;
  size?: number;
  hash?: string;
  sourcePatientInfo?: readonly string[];
}

const CODE = { code: '34133-9', system: '2.16.840.1.113883.6.1', display: 'x' };

/** The metadata of a package that another provider has made. */
export function xdmMetadata(documents: readonly TestDocument[]): string {
  const submission: SubmissionOnMedia = {
    entryUuid: `urn:uuid:${uuidv7()}`,
    uniqueId: '2.999.1',
    sourceId: '2.999',
    patientId: 'p1^^^&2.999.5&ISO',
    submittedAt: new Date('2026-11-30T08:00:00Z'),
    title: 'Transition of care',
    contentType: CODE,
    documents: documents.map(({ name, content, ...said }, at) => ({
      metadata: {
        entryUuid: `urn:uuid:${uuidv7()}`,
        uniqueId: `2.999.9.${at}`,
        patientId: 'p1^^^&2.999.5&ISO',
        mimeType: 'text/xml',
        creationTime: '20261130080000',
        size: content.length,
        hash: createHash('sha1').update(content).digest('hex'),
        uri: name,
        ...said,
      },
    })),
  };

  return buildMediaMetadata(submission);
}

/** A package that another provider has made, as a file of a mail. */
export async function xdmFile(
  documents: readonly TestDocument[],
  {
    metadata = xdmMetadata(documents),
    beside = [],
  }: { metadata?: string; beside?: { name: string; content: Buffer }[] } = {},
): Promise<AttachmentToWrite> {
  return {
    fileName: 'xdm.zip',
    contentType: 'application/octet-stream',
    content: await writeXdm({
      metadata,
      sender: 'dr.jones@direct.clinic.example',
      madeAt: new Date('2026-11-30T08:00:00Z'),
      documents: [...documents, ...beside].map((each) => ({
        title: each.name,
        ...each,
      })),
    }),
  };
}

/** The fields of PID that lead to a person, as metadata have them. */
export const pidOf = (person: {
  firstName: string;
  lastName: string;
  dob: string;
  genderAtBirth: string;
  address: readonly { zip: string }[];
}): string[] => [
  'PID-3|p1^^^&2.999.5&ISO',
  `PID-5|${person.lastName}^${person.firstName}`,
  `PID-7|${person.dob.replaceAll('-', '')}`,
  `PID-8|${person.genderAtBirth}`,
  `PID-11|^^^^${person.address[0]?.zip ?? ''}`,
];
