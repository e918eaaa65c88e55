import { createHash } from 'node:crypto';
import type { FhirResource } from 'fhir/r4.js';
import type { Json } from '#record-summary/fhir';
import type { Person } from '../../src/exchange/records/rules/fold-patient.ts';
import {
  loadSamplePatients,
  type SamplePatient,
} from '../../src/local-stack/sample-patients.ts';
import type { SourceName } from '../../src/local-stack/simulator/protocol.ts';
import { idAtSource } from '../../tools/simulator/data/patient-view.ts';
import { createSourceData } from '../../tools/simulator/data/source-data.ts';
import type { Delivered } from './merge-deliveries.ts';

const SOURCES: SourceName[] = ['hie', 'lab', 'pharmacy'];
const data = createSourceData();
export const samples = loadSamplePatients();
/**
 * Those two that have least, 866 resources: for tests whose time goes with the
 * size of records.
 */
export const smallSamples = samples.filter(({ key }) =>
  ['adan-fuentes', 'keith-kiehn'].includes(key),
);

export const delivery = (
  source: string,
  resource: object,
  fileName = `${source}-page.json`,
): Delivered => {
  const { resourceType, id } = resource as FhirResource;
  return {
    source,
    resourceType,
    sourceId: String(id),
    sha256: createHash('sha256').update(JSON.stringify(resource)).digest('hex'),
    isConverted: false,
    content: resource as Json,
    fileName,
  };
};

/** What the three simulated sources deliver of a sample patient. */
export function deliveriesOf(
  sample: SamplePatient,
  sources: readonly SourceName[] = SOURCES,
): Delivered[] {
  return sources.flatMap((source) => {
    const view = data[source].view(idAtSource(source, sample.patientId));
    if (view === undefined)
      throw new Error(`${source} does not know the sample`);
    const patient = source === 'hie' ? [view.patient] : [];
    return [...patient, ...view.resources].map((resource) =>
      delivery(source, resource),
    );
  });
}

export const patientIdsOf = (sample: SamplePatient): Map<string, Set<string>> =>
  new Map(
    SOURCES.map((source) => [
      source,
      new Set([idAtSource(source, sample.patientId)]),
    ]),
  );

export const personOf = ({ createBody }: SamplePatient): Person => ({
  patientId: '0190a1b2-0000-7000-8000-000000000001',
  firstNames: [createBody.firstName],
  lastNames: [createBody.lastName],
  dob: createBody.dob,
  gender: createBody.genderAtBirth,
  addresses: createBody.address,
  contacts: createBody.contact,
  personalIdentifiers: createBody.personalIdentifiers,
  externalId: createBody.externalId,
});
