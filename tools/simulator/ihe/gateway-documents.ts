import { createHash } from 'node:crypto';
import type { DocumentReference, FhirResource } from 'fhir/r4.js';
import { type DocumentMetadata, writeCx, writeHl7Time } from '#ihe';
import { SIMULATED_GATEWAY } from '../../../src/local-stack/simulator/protocol.ts';
import type { PatientView } from '../data/patient-view.ts';
import { GATEWAY_PATIENTS } from './gateway-patients.ts';

/** The repository that has the gateway's documents. */
export const GATEWAY_REPOSITORY = `${SIMULATED_GATEWAY.homeCommunity}.2`;

/** A document of the gateway: what it is called, and its bytes. */
export interface GatewayDocument {
  uniqueId: string;
  mimeType: string;
  bytes: Buffer;
  reference: DocumentReference;
}

/** Besides the C-CDA, so many of the latest notes. */
const NOTES_MAX = 10;

/** The documents of a patient: the C-CDA, and the latest notes. */
export function documentsOf(view: PatientView): GatewayDocument[] {
  const documents = view.resources
    .filter(isDocumentReference)
    .toSorted((left, right) => dateOf(right) - dateOf(left))
    .map((reference) => documentOf(reference, view))
    .filter((document) => document !== undefined);
  const isNote = ({ mimeType }: GatewayDocument) => mimeType === 'text/plain';
  const notes = documents.filter(isNote).slice(0, NOTES_MAX);
  return [...documents.filter((document) => !isNote(document)), ...notes];
}

/** A document's entry in a list of ITI-38. */
export const entryOf = (
  { uniqueId, mimeType, bytes, reference }: GatewayDocument,
  view: PatientView,
  homeCommunity: string,
): DocumentMetadata => ({
  entryUuid: `urn:uuid:${reference.id}`,
  uniqueId,
  patientId: writeCx({
    id: view.patient.id ?? '',
    authority: GATEWAY_PATIENTS,
  }),
  homeCommunity,
  repository: GATEWAY_REPOSITORY,
  availability: 'Approved',
  mimeType,
  title: reference.content[0]?.attachment.title ?? titleOf(reference),
  creationTime: writeHl7Time(new Date(dateOf(reference))),
  size: bytes.length,
  hash: createHash('sha1').update(bytes).digest('hex'),
  classCode: TYPES[mimeType],
  typeCode: TYPES[mimeType],
  formatCode: FORMATS[mimeType],
  facilityType: {
    code: 'OF',
    system: '2.16.840.1.113883.5.111',
    display: 'Outpatient facility',
  },
  practiceSetting: {
    code: '394802001',
    system: '2.16.840.1.113883.6.96',
    display: 'General medicine',
  },
  confidentiality: [
    { code: 'N', system: '2.16.840.1.113883.5.25', display: 'Normal' },
  ],
});

const LOINC = '2.16.840.1.113883.6.1';

const TYPES: Readonly<Record<string, DocumentMetadata['typeCode']>> = {
  'text/xml': {
    code: '34133-9',
    system: LOINC,
    display: 'Summarization of episode note',
  },
  'text/plain': {
    code: '34117-2',
    system: LOINC,
    display: 'History and physical note',
  },
};

const FORMATS: Readonly<Record<string, DocumentMetadata['formatCode']>> = {
  'text/xml': {
    code: 'urn:hl7-org:sdwg:ccda-structuredBody:2.1',
    system: '1.3.6.1.4.1.19376.1.2.3',
    display: 'C-CDA R2.1 with a structured body',
  },
  'text/plain': {
    code: 'urn:ihe:iti:xds:2017:mimeTypeSufficient',
    system: '1.3.6.1.4.1.19376.1.2.3',
    display: 'The MIME type tells enough',
  },
};

const isDocumentReference = (
  resource: FhirResource,
): resource is DocumentReference =>
  resource.resourceType === 'DocumentReference';

const dateOf = ({ date }: DocumentReference): number => Date.parse(date ?? '');

const titleOf = ({ type }: DocumentReference): string | undefined =>
  type?.coding?.[0]?.display;

function documentOf(
  reference: DocumentReference,
  { binaries }: PatientView,
): GatewayDocument | undefined {
  const attachment = reference.content[0]?.attachment;
  const binary = binaries.get(attachment?.url?.split('/').at(-1) ?? '');
  const uniqueId = oidOf(reference.id ?? '');
  if (binary !== undefined)
    return { uniqueId, mimeType: 'text/xml', bytes: binary.bytes, reference };
  if (attachment?.data === undefined) return undefined;
  const bytes = Buffer.from(attachment.data, 'base64');
  return { uniqueId, mimeType: 'text/plain', bytes, reference };
}

/** A UUID as an OID (ISO/IEC 9834-8). */
const oidOf = (uuid: string): string =>
  `2.25.${BigInt(`0x${uuid.replaceAll('-', '')}`)}`;
