import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Bundle, FhirResource, Patient } from 'fhir/r4.js';
import type { Person } from '../../src/exchange/records/rules/fold-patient.ts';
import { idAtSource } from '../../tools/simulator/data/patient-view.ts';
import { loadCcda } from '../../tools/simulator/samples.ts';
import {
  deliveriesOf,
  patientIdsOf,
  personOf,
  samples,
} from '../support/deliveries.ts';

/** What the sources deliver of one person. */
export interface Subject {
  name: string;
  person: Omit<Person, 'patientId'>;
  deliveries: { source: 'hie' | 'lab' | 'pharmacy'; resource: FhirResource }[];
  patientIds: ReadonlyMap<string, ReadonlySet<string>>;
  /**
   * The C-CDA document of the first source, and the DocumentReference that
   * names it.
   */
  document?: { bytes: Buffer; sourceDocumentId: string };
}

/**
 * The sample patients of the repository, as the three simulated sources know
 * them.
 */
export const sampleSubjects = (): Subject[] =>
  samples.map((sample) => ({
    name: sample.key,
    person: personOf(sample),
    deliveries: deliveriesOf(sample).map(({ source, content }) => ({
      source: source as 'hie',
      resource: content as unknown as FhirResource,
    })),
    patientIds: patientIdsOf(sample),
    document: {
      bytes: loadCcda(sample),
      sourceDocumentId: idAtSource('hie', `${sample.patientId}/ccda`),
    },
  }));

/** The same patients, of whom only the C-CDA document is known. */
export const documentSubjects = (): Subject[] =>
  sampleSubjects().map((subject) => ({
    ...subject,
    name: `${subject.name}-document`,
    deliveries: [],
  }));

/**
 * The patients of a folder that Synthea wrote (`fhir/*.json.gz`,
 * `ccda/*.xml.gz`), each as one source knows them.
 */
export function subjectsIn(folder: string): Subject[] {
  const read = (path: string) => gunzipSync(readFileSync(join(folder, path)));
  const files = readdirSync(join(folder, 'fhir')).filter(
    (name) => !/Information\.json\.gz$/.test(name),
  );
  return files.map((file, index) => {
    const bundle = JSON.parse(
      read(`fhir/${file}`).toString('utf8'),
    ) as Bundle<FhirResource>;
    const resources = (bundle.entry ?? []).flatMap(({ resource }) =>
      resource === undefined ? [] : [resource],
    );
    const names = new Map(
      resources.map(({ resourceType, id }) => [
        `urn:uuid:${id}`,
        `${resourceType}/${id}`,
      ]),
    );
    const local = JSON.parse(
      JSON.stringify(resources),
      (key, value: unknown) =>
        key === 'reference' && typeof value === 'string'
          ? (names.get(value) ?? value)
          : value,
    ) as FhirResource[];
    const patient = local.find(
      (each): each is Patient => each.resourceType === 'Patient',
    );
    if (patient?.id === undefined)
      throw new Error(`${file} contains no Patient`);
    const document = `${file.replace(/\.json\.gz$/, '')}.xml.gz`;
    return {
      name: `synthea-${index + 1}`,
      person: asPerson(patient),
      deliveries: local.map((resource) => ({
        source: 'hie' as const,
        resource,
      })),
      patientIds: new Map([['hie', new Set([patient.id])]]),
      document: {
        bytes: read(`ccda/${document}`),
        sourceDocumentId: 'ccda',
      },
    };
  });
}

/** The caller's description of the person. */
export function asPerson({
  name,
  birthDate,
  gender,
  address,
}: Patient): Omit<Person, 'patientId'> {
  const [first] = name ?? [];
  const [home] = address ?? [];
  return {
    firstNames: first?.given ?? [],
    lastNames: first?.family === undefined ? [] : [first.family],
    dob: birthDate ?? '',
    gender: gender === 'male' ? 'M' : 'F',
    addresses: [
      {
        addressLine1: home?.line?.[0] ?? '',
        city: home?.city ?? '',
        state: 'MA',
        zip: home?.postalCode ?? '02115',
        country: 'USA',
      },
    ],
    contacts: [],
    personalIdentifiers: [],
  };
}
