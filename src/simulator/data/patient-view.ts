import type { FhirResource, MedicationRequest, Patient } from 'fhir/r4.js';
import type { SourceName } from '../protocol.ts';
import { loadCcda, loadSampleResources, type SamplePatient } from '../samples.ts';
import { ccdaDocumentReference, type StoredBinary } from './ccda-document.ts';
import { dispensesOf } from './dispenses.ts';
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
