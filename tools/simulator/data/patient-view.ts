import { createHash } from 'node:crypto';
import type {
  DocumentReference,
  FhirResource,
  MedicationDispense,
  MedicationRequest,
  Patient,
} from 'fhir/r4.js';
import { v5 as uuidV5 } from 'uuid';
import type { SamplePatient } from '../../../src/local-stack/sample-patients.ts';
import type { SourceName } from '../../../src/local-stack/simulator/protocol.ts';
import { loadCcda, loadSampleResources } from '../samples.ts';
import { knownTo, SHARED_TYPES } from './knowledge.ts';

/** One Patient of one source with all its resources there. */
export interface PatientView {
  sample: string;
  patient: Patient;
  /**
   * The patient's resources, then the shared resources (practitioners and so
   * on) that they refer to.
   */
  resources: FhirResource[];
  binaries: Map<string, StoredBinary>;
}

/**
 * Providers by Synthea's conditional reference, such as
 * `Practitioner?identifier=…`.
 */
export type ProvidersByReference = ReadonlyMap<string, FhirResource>;

/**
 * Reduces a sample to the resources of the source, under the source's own ids.
 */
export function buildPatientView(
  source: SourceName,
  sample: SamplePatient,
  providers: ProvidersByReference,
): PatientView {
  const original = loadSampleResources(sample);
  const known = knownTo(source, original);
  if (source === 'pharmacy')
    known.push(...known.filter(isRequest).flatMap(dispensesOf));

  const patientId = idAtSource(source, sample.patientId);
  const targets = new Map(
    known.map((resource) => [
      `urn:uuid:${resource.id}`,
      localReference(source, resource),
    ]),
  );
  targets.set(`urn:uuid:${sample.patientId}`, `Patient/${patientId}`);
  const referred = new Set<FhirResource>();
  const resolve = (reference: string): string | undefined => {
    const provider = providers.get(reference);
    if (!provider || !SHARED_TYPES[source].includes(provider.resourceType))
      return targets.get(reference);
    referred.add(provider);
    return localReference(source, provider);
  };

  const own = known.map((resource) => localCopy(source, resource, resolve));
  const shared = [...referred].map((resource) =>
    localCopy(source, resource, resolve),
  );
  const view = {
    sample: sample.key,
    patient: localPatient(source, original, patientId),
    binaries: new Map(),
  };
  return addDocuments(source, sample, {
    ...view,
    resources: [...own, ...shared],
  });
}

function addDocuments(
  source: SourceName,
  sample: SamplePatient,
  view: PatientView,
): PatientView {
  if (source !== 'hie') return view;
  const document = { contentType: 'application/xml', bytes: loadCcda(sample) };
  const binaryId = idAtSource(source, `${sample.patientId}/ccda/binary`);
  // The DocumentReference with which an information exchange offers a C-CDA
  // document; the content is a Binary.
  const reference: DocumentReference = {
    resourceType: 'DocumentReference',
    id: idAtSource(source, `${sample.patientId}/ccda`),
    status: 'current',
    docStatus: 'final',
    type: {
      coding: [
        {
          system: 'http://loinc.org',
          code: '34133-9',
          display: 'Summarization of episode note',
        },
      ],
    },
    subject: {
      reference: `Patient/${view.patient.id}`,
    },
    date: '2026-01-01T00:00:00Z',
    content: [
      {
        attachment: {
          contentType: document.contentType,
          url: `Binary/${binaryId}`,
          size: document.bytes.length,
          hash: createHash('sha1').update(document.bytes).digest('base64'),
          title: 'Continuity of care document',
        },
        format: {
          system:
            'http://ihe.net/fhir/ihe.formatcode.fhir/CodeSystem/formatcode',
          code: 'urn:hl7-org:sdwg:ccda-structuredBody:2.1',
        },
      },
    ],
  };
  return {
    ...view,
    resources: [reference, ...view.resources],
    binaries: new Map([[binaryId, document]]),
  };
}

/**
 * Each source has its own record number; only the information exchange has
 * official identifiers.
 */
function localPatient(
  source: SourceName,
  original: readonly FhirResource[],
  patientId: string,
): Patient {
  const patient = original.find(
    (resource): resource is Patient => resource.resourceType === 'Patient',
  );
  if (!patient) throw new Error('A sample bundle contains no Patient');
  const official = (patient.identifier ?? []).filter((identifier) =>
    identifier.type?.coding?.some(({ code }) => code === 'SS' || code === 'DL'),
  );
  const recordNumber = {
    system: `urn:simulated-source:${source}:record-number`,
    value: patientId,
  };
  return {
    ...patient,
    id: patientId,
    identifier: [recordNumber, ...(source === 'hie' ? official : [])],
  };
}

const isRequest = (resource: FhirResource): resource is MedicationRequest =>
  resource.resourceType === 'MedicationRequest';

const localReference = (source: SourceName, resource: FhirResource): string =>
  `${resource.resourceType}/${idAtSource(source, resource.id ?? '')}`;

const localCopy = (
  source: SourceName,
  resource: FhirResource,
  resolve: (reference: string) => string | undefined,
): FhirResource => ({
  ...withResolvedReferences(resource, resolve),
  id: idAtSource(source, resource.id ?? ''),
});

const DAY_MS = 24 * 60 * 60 * 1000;
const SUPPLY_DAYS = 30;
/** No dispenses after the date for which the samples were generated. */
const SAMPLES_END_MS = Date.parse('2026-01-01T00:00:00Z');

/**
 * The fills of a prescription: three for an active one, otherwise one,
 * beginning a day after it was written. Synthea generates no dispenses; these
 * are derived from the prescription alone, so they are always the same.
 */
export function dispensesOf(request: MedicationRequest): MedicationDispense[] {
  const authoredMs = Date.parse(request.authoredOn ?? '');
  if (!request.id || Number.isNaN(authoredMs)) return [];
  const fills = request.status === 'active' ? 3 : 1;
  return Array.from({ length: fills }, (_, fill) => ({
    fill,
    handedOverMs: authoredMs + DAY_MS + fill * SUPPLY_DAYS * DAY_MS,
  }))
    .filter(({ handedOverMs }) => handedOverMs < SAMPLES_END_MS)
    .map(({ fill, handedOverMs }) => dispense(request, fill, handedOverMs));
}

function dispense(
  request: MedicationRequest,
  fill: number,
  handedOverMs: number,
): MedicationDispense {
  const fillType =
    fill === 0
      ? { code: 'FF', display: 'First Fill' }
      : { code: 'RF', display: 'Refill' };
  return {
    resourceType: 'MedicationDispense',
    id: `${request.id}/dispense/${fill + 1}`,
    status: 'completed',
    medicationCodeableConcept: request.medicationCodeableConcept,
    medicationReference: request.medicationReference,
    subject: request.subject,
    authorizingPrescription: [
      {
        reference: `urn:uuid:${request.id}`,
      },
    ],
    type: {
      coding: [
        {
          system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode',
          code: fillType.code,
          display: fillType.display,
        },
      ],
    },
    quantity: {
      value: SUPPLY_DAYS,
    },
    daysSupply: {
      value: SUPPLY_DAYS,
      unit: 'days',
      system: 'http://unitsofmeasure.org',
      code: 'd',
    },
    whenHandedOver: new Date(handedOverMs).toISOString(),
    dosageInstruction: request.dosageInstruction,
  };
}

export interface StoredBinary {
  contentType: string;
  bytes: Buffer;
}

/**
 * Maps a reference to the source's own; undefined when the source does not have
 * the target.
 */
type Resolve = (reference: string) => string | undefined;

/**
 * Copies a resource with its references resolved. A reference to an unknown
 * target keeps only its display text, or is removed if it has none, so that a
 * response never refers to a resource that cannot be read.
 */
export const withResolvedReferences = <T extends object>(
  resource: T,
  resolve: Resolve,
): T => copyObject(resource as Record<string, unknown>, resolve) as T;

function copyObject(
  source: Record<string, unknown>,
  resolve: Resolve,
): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(source)) {
    const copied = copyValue(name, value, resolve);
    if (copied !== undefined) copy[name] = copied;
  }
  return copy;
}

function copyValue(name: string, value: unknown, resolve: Resolve): unknown {
  if (name === 'reference' && typeof value === 'string') return resolve(value);
  if (Array.isArray(value)) {
    const items = value.flatMap((item) => {
      const copied = copyValue('', item, resolve);
      return copied === undefined ? [] : [copied];
    });
    return items.length === 0 && value.length > 0 ? undefined : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const copied = copyObject(value as Record<string, unknown>, resolve);
  return Object.keys(copied).length === 0 ? undefined : copied;
}

const NAMESPACE = 'a4f0d8f6-6f0c-5d3b-9b0e-3c1f4e2d7a10';

/**
 * A source's own id for a resource of the samples: always the same, and
 * different at each source.
 */
export const idAtSource = (source: SourceName, originalId: string): string =>
  uuidV5(`${source}:${originalId}`, NAMESPACE);
