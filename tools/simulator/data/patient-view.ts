import type { FhirResource, MedicationDispense, MedicationRequest, Patient } from 'fhir/r4.js';
import type { SourceName } from '../protocol.ts';
import { loadCcda, loadSampleResources, type SamplePatient } from '../samples.ts';
import { ccdaDocumentReference, type StoredBinary } from './ccda-document.ts';
import { knownTo, SHARED_TYPES } from './knowledge.ts';
import { withReferences } from './references.ts';
import { idAtSource } from './source-ids.ts';

/** One Patient of one source with all its resources there. */
export interface PatientView {
  sample: string;
  patient: Patient;
  /** The patient's resources, then the shared resources (practitioners and so on) that they refer to. */
  resources: FhirResource[];
  binaries: Map<string, StoredBinary>;
}

/** Providers by Synthea's conditional reference, such as `Practitioner?identifier=…`. */
export type ProvidersByReference = ReadonlyMap<string, FhirResource>;

/** Reduces a sample to the resources of the source, under the source's own ids. */
export function buildPatientView(
  source: SourceName,
  sample: SamplePatient,
  providers: ProvidersByReference,
): PatientView {
  const original = loadSampleResources(sample);
  const known = knownTo(source, original);
  if (source === 'pharmacy') known.push(...known.filter(isRequest).flatMap(dispensesOf));

  const patientId = idAtSource(source, sample.patientId);
  const targets = new Map(
    known.map((resource) => [`urn:uuid:${resource.id}`, localReference(source, resource)]),
  );
  targets.set(`urn:uuid:${sample.patientId}`, `Patient/${patientId}`);
  const referred = new Set<FhirResource>();
  const resolve = (reference: string): string | undefined => {
    const provider = providers.get(reference);
    if (!provider || !SHARED_TYPES[source].includes(provider.resourceType)) return targets.get(reference);
    referred.add(provider);
    return localReference(source, provider);
  };

  const own = known.map((resource) => localCopy(source, resource, resolve));
  const shared = [...referred].map((resource) => localCopy(source, resource, resolve));
  const view = {
    sample: sample.key,
    patient: localPatient(source, original, patientId),
    binaries: new Map(),
  };
  return addDocuments(source, sample, { ...view, resources: [...own, ...shared] });
}

function addDocuments(source: SourceName, sample: SamplePatient, view: PatientView): PatientView {
  if (source !== 'hie') return view;
  const document = { contentType: 'application/xml', bytes: loadCcda(sample) };
  const binaryId = idAtSource(source, `${sample.patientId}/ccda/binary`);
  const reference = ccdaDocumentReference(
    idAtSource(source, `${sample.patientId}/ccda`),
    binaryId,
    view.patient.id ?? '',
    document,
  );
  return { ...view, resources: [reference, ...view.resources], binaries: new Map([[binaryId, document]]) };
}

/** Each source has its own record number; only the information exchange has official identifiers. */
function localPatient(source: SourceName, original: readonly FhirResource[], patientId: string): Patient {
  const patient = original.find((resource): resource is Patient => resource.resourceType === 'Patient');
  if (!patient) throw new Error('A sample bundle contains no Patient');
  const official = (patient.identifier ?? []).filter((identifier) =>
    identifier.type?.coding?.some(({ code }) => code === 'SS' || code === 'DL'),
  );
  const recordNumber = { system: `urn:simulated-source:${source}:record-number`, value: patientId };
  return {
    ...patient,
    id: patientId,
    identifier: [recordNumber, ...(source === 'hie' ? official : [])],
  };
}

function isRequest(resource: FhirResource): resource is MedicationRequest {
  return resource.resourceType === 'MedicationRequest';
}

function localReference(source: SourceName, resource: FhirResource): string {
  return `${resource.resourceType}/${idAtSource(source, resource.id ?? '')}`;
}

function localCopy(
  source: SourceName,
  resource: FhirResource,
  resolve: (reference: string) => string | undefined,
): FhirResource {
  return { ...withReferences(resource, resolve), id: idAtSource(source, resource.id ?? '') };
}

const DAY_MS = 24 * 60 * 60 * 1000;
const SUPPLY_DAYS = 30;
/** No dispenses after the date for which the samples were generated. */
const SAMPLES_END_MS = Date.parse('2026-01-01T00:00:00Z');

/**
 * The fills of a prescription: three for an active one, otherwise one, beginning a day after it was written. Synthea
 * generates no dispenses; these are derived from the prescription alone, so they are always the same.
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

function dispense(request: MedicationRequest, fill: number, handedOverMs: number): MedicationDispense {
  const { medicationCodeableConcept, medicationReference, subject, dosageInstruction } = request;
  return {
    resourceType: 'MedicationDispense',
    id: `${request.id}/dispense/${fill + 1}`,
    status: 'completed',
    ...(medicationCodeableConcept ? { medicationCodeableConcept } : {}),
    ...(medicationReference ? { medicationReference } : {}),
    subject,
    authorizingPrescription: [{ reference: `urn:uuid:${request.id}` }],
    type: {
      coding: [
        {
          system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode',
          code: fill === 0 ? 'FF' : 'RF',
          display: fill === 0 ? 'First Fill' : 'Refill',
        },
      ],
    },
    quantity: { value: SUPPLY_DAYS },
    daysSupply: {
      value: SUPPLY_DAYS,
      unit: 'days',
      system: 'http://unitsofmeasure.org',
      code: 'd',
    },
    whenHandedOver: new Date(handedOverMs).toISOString(),
    ...(dosageInstruction ? { dosageInstruction } : {}),
  };
}
