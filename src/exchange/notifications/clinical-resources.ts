import type { FhirResource } from 'fhir/r4.js';

/** Resources left out: the sender's envelope, and its Patient, which ours replaces. */
const LEFT_OUT = new Set(['MessageHeader', 'Patient', 'Provenance']);

interface Entry {
  fullUrl?: string;
  resource?: FhirResource;
}

/** The clinical resources of a sender's Bundle, with references to the sender's Patient replaced by ours. */
export function clinicalResources(bytes: Buffer, patientId: string): FhirResource[] {
  const { entry: entries = [] } = JSON.parse(bytes.toString('utf8')) as { entry?: Entry[] };
  const names = new Set(
    entries.flatMap(({ fullUrl, resource }) =>
      resource?.resourceType === 'Patient' ? [fullUrl, `Patient/${resource.id}`] : [],
    ),
  );
  return entries.flatMap(({ resource }) =>
    resource === undefined || LEFT_OUT.has(resource.resourceType)
      ? []
      : [withPatient(resource, names, `Patient/${patientId}`)],
  );
}

function withPatient<T>(value: T, names: ReadonlySet<string | undefined>, ours: string): T {
  return JSON.parse(JSON.stringify(value), (key, part: unknown) =>
    key === 'reference' && typeof part === 'string' && names.has(part) ? ours : part,
  ) as T;
}
