import type { FhirResource } from 'fhir/r4.js';
import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import { idAtSource } from '../../tools/simulator/data/patient-view.ts';
import { createSourceData } from '../../tools/simulator/data/source-data.ts';

/** A transaction Bundle that stores resources under their own ids. */
export interface LoadedBundle {
  resourceType: 'Bundle';
  type: 'transaction';
  entry: { resource: FhirResource; request: { method: 'PUT'; url: string } }[];
}

/**
 * What the three simulated sources have of a sample patient, documents as
 * Binary: one text a source.
 */
export function recordsOfSample(key: string): string[] {
  const sample = loadSamplePatients().find((patient) => patient.key === key);
  if (sample === undefined)
    throw new Error(`There is no sample patient ${key}`);
  const data = createSourceData();
  return (['hie', 'pharmacy', 'lab'] as const).map((source) => {
    const view = data[source].view(idAtSource(source, sample.patientId));
    if (view === undefined) throw new Error(`${source} does not know ${key}`);
    const binaries = [...view.binaries].map(
      ([id, { contentType, bytes }]): FhirResource => ({
        resourceType: 'Binary',
        id,
        contentType,
        data: bytes.toString('base64'),
      }),
    );
    return JSON.stringify([view.patient, ...view.resources, ...binaries]);
  });
}

/**
 * The same record for another patient: all ids and the references to them have
 * a number.
 */
export function bundleOf(record: string, copy: number): LoadedBundle {
  const names = new Set(
    resourcesOf(record).map(({ resourceType, id }) => `${resourceType}/${id}`),
  );
  const numbered = record.replaceAll(
    /"([A-Z]\w+\/[\w.-]+)"/g,
    (text, name: string) => (names.has(name) ? `"${name}-${copy}"` : text),
  );
  return {
    resourceType: 'Bundle',
    type: 'transaction',
    entry: resourcesOf(numbered).map((resource) => {
      const id = `${resource.id}-${copy}`;
      return {
        resource: { ...resource, id } as FhirResource,
        request: { method: 'PUT', url: `${resource.resourceType}/${id}` },
      };
    }),
  };
}

const resourcesOf = (record: string) => JSON.parse(record) as FhirResource[];

export const isDocument = ({
  resource,
}: LoadedBundle['entry'][number]): boolean =>
  resource.resourceType === 'Binary';
