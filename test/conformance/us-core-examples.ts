import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Bundle, FhirResource, Patient } from 'fhir/r4.js';
import { asPerson, type Subject } from './synthea.ts';

const EXAMPLES = new URL(
  './guides/us-core-8.0.0-examples.json.gz',
  import.meta.url,
);

/**
 * The patients of US Core's own examples, each as one source knows them; what
 * names no patient belongs to each.
 */
export function exampleSubjects(): Subject[] {
  const text = gunzipSync(readFileSync(EXAMPLES)).toString('utf8');
  const { entry = [] } = JSON.parse(text) as Bundle<FhirResource>;
  const resources = entry.flatMap(({ resource }) =>
    resource === undefined ? [] : [resource],
  );
  const patients = resources.filter(
    (each): each is Patient => each.resourceType === 'Patient',
  );
  return patients.map((patient) => ({
    name: `us-core-${patient.id}`,
    person: asPerson(patient),
    deliveries: resources
      .filter((resource) => resource === patient || isOf(resource, patient))
      .map((resource) => ({ source: 'hie' as const, resource })),
    patientIds: new Map([['hie', new Set([String(patient.id)])]]),
  }));
}

function isOf(resource: FhirResource, { id }: Patient): boolean {
  const text = JSON.stringify(resource);
  const namesPatient =
    resource.resourceType === 'Patient' || text.includes('"Patient/');
  return !namesPatient || text.includes(`"Patient/${id}"`);
}
