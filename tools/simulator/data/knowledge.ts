import type { CodeableConcept, FhirResource } from 'fhir/r4.js';
import type { SourceName } from '../../../src/local-stack/simulator/protocol.ts';
import types from './resource-types.json' with { type: 'json' };

type ResourceType = FhirResource['resourceType'];
type OfSources<T> = Readonly<Record<SourceName, readonly T[]>>;

/** Resource types about one patient, which a source finds by patient. */
export const PATIENT_TYPES =
  types.ofPatients satisfies OfSources<string> as OfSources<ResourceType>;

/**
 * Resource types that other resources refer to and that belong to no patient.
 */
export const SHARED_TYPES =
  types.shared satisfies OfSources<string> as OfSources<ResourceType>;

/**
 * What an IHE document network serves besides Patients and documents: authors
 * too, by MHD's option of uncontained references.
 */
export const DOCUMENT_TYPES =
  types.ofDocumentNetwork as readonly ResourceType[];

/** Reduces a patient's record to the resources that the source would have. */
export function knownTo(
  source: SourceName,
  resources: readonly FhirResource[],
): FhirResource[] {
  const known = resources.filter(
    (resource) =>
      PATIENT_TYPES[source].includes(resource.resourceType) ||
      (SHARED_TYPES[source].includes(resource.resourceType) &&
        resource.resourceType === 'Medication'),
  );
  return source === 'lab' ? known.filter(isLaboratory) : known;
}

function isLaboratory(resource: FhirResource): boolean {
  if (resource.resourceType === 'Observation')
    return hasCode(resource.category, 'laboratory');
  if (resource.resourceType === 'DiagnosticReport')
    return hasCode(resource.category, 'LAB');
  return false;
}

const hasCode = (
  concepts: readonly CodeableConcept[] | undefined,
  code: string,
): boolean =>
  (concepts ?? []).some((concept) =>
    concept.coding?.some((coding) => coding.code === code),
  );
