import type { CodeableConcept, FhirResource } from 'fhir/r4.js';
import type { SourceName } from '../../../src/local-stack/simulator/protocol.ts';

type ResourceType = FhirResource['resourceType'];
type OfSources<T> = Readonly<Record<SourceName, readonly T[]>>;

/** Resource types about one patient, which a source finds by patient. */
export const PATIENT_TYPES: OfSources<ResourceType> = {
  hie: [
    'AllergyIntolerance',
    'CarePlan',
    'CareTeam',
    'Condition',
    'Device',
    'DiagnosticReport',
    'DocumentReference',
    'Encounter',
    'ImagingStudy',
    'Immunization',
    'MedicationAdministration',
    'MedicationRequest',
    'Observation',
    'Procedure',
    'SupplyDelivery',
  ],
  pharmacy: ['MedicationRequest', 'MedicationDispense'],
  lab: ['DiagnosticReport', 'Observation'],
};

/**
 * Resource types that other resources refer to and that belong to no patient.
 */
export const SHARED_TYPES: OfSources<ResourceType> = {
  hie: ['Location', 'Medication', 'Organization', 'Practitioner'],
  pharmacy: ['Medication', 'Organization', 'Practitioner'],
  lab: ['Organization', 'Practitioner'],
};

/**
 * What an IHE document network serves besides Patients and documents: authors
 * too, by MHD's option of uncontained references.
 */
export const DOCUMENT_TYPES: readonly ResourceType[] = [
  'DocumentReference',
  'Organization',
  'Practitioner',
];

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
