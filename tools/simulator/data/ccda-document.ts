import { createHash } from 'node:crypto';
import type { DocumentReference } from 'fhir/r4.js';

export interface StoredBinary {
  contentType: string;
  bytes: Buffer;
}

/** The DocumentReference with which an information exchange offers a C-CDA document; the content is a Binary. */
export function ccdaDocumentReference(
  id: string,
  binaryId: string,
  patientId: string,
  { bytes, contentType }: StoredBinary,
): DocumentReference {
  return {
    resourceType: 'DocumentReference',
    id,
    status: 'current',
    docStatus: 'final',
    type: {
      coding: [{ system: 'http://loinc.org', code: '34133-9', display: 'Summarization of episode note' }],
    },
    subject: { reference: `Patient/${patientId}` },
    date: '2026-01-01T00:00:00Z',
    content: [
      {
        attachment: {
          contentType,
          url: `Binary/${binaryId}`,
          size: bytes.length,
          hash: createHash('sha1').update(bytes).digest('base64'),
          title: 'Continuity of care document',
        },
        format: {
          system: 'http://ihe.net/fhir/ihe.formatcode.fhir/CodeSystem/formatcode',
          code: 'urn:hl7-org:sdwg:ccda-structuredBody:2.1',
        },
      },
    ],
  };
}
