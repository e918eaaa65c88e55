import { rm } from 'node:fs/promises';
import type { Bundle } from 'fhir/r4.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { delivery } from '../support/deliveries.ts';
import {
  createFhirDoor,
  type FhirDoor,
  resourcesIn,
} from '../support/fhir-door.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { validate, validatorMissing } from './hapi-validator.ts';
import { documentSubjects, type Subject, sampleSubjects } from './synthea.ts';
import { exampleSubjects } from './us-core-examples.ts';

const missing = validatorMissing();
const subjects = [
  ...sampleSubjects(),
  ...documentSubjects(),
  ...exampleSubjects(),
];

let door: FhirDoor;
let folder: string;
const summaries = new Map<string, Bundle>();

beforeAll(async () => {
  if (missing !== undefined) return;
  folder = await makeTestFolder();
  door = await createFhirDoor();
  for (const subject of subjects)
    summaries.set(subject.name, await summaryOf(subject));
  const nobody = subjects[0];
  if (nobody !== undefined)
    summaries.set(
      'empty',
      await summaryOf({ ...nobody, deliveries: [], document: undefined }),
    );
});
afterAll(async () => {
  await door?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

async function summaryOf({
  person,
  deliveries,
  patientIds,
  document,
}: Subject): Promise<Bundle> {
  const patientId = await door.addPatient(person);
  for (const source of ['hie', 'lab', 'pharmacy'] as const) {
    const own = deliveries.filter((each) => each.source === source);
    const deliver = own.map(({ resource }) => delivery(source, resource));
    if (own.length > 0)
      await door.deliver(
        patientId,
        source,
        deliver,
        patientIds.get(source) ?? [],
      );
  }
  if (document !== undefined)
    await door.deliverDocument(patientId, 'hie', {
      ...document,
      contentType: 'application/xml',
    });
  await door.records.merge(door.accountId, patientId, { documentsOf: 'hie' });
  return door.bundle(`Patient/${patientId}/$summary`);
}

const IPS = '/uv/ips/';
/**
 * Claims to US Core are what conformance.test.ts is about; this validator does
 * not know that guide.
 */
const claimingIpsOnly = (bundle: Bundle): object =>
  JSON.parse(JSON.stringify(bundle), (key, value: unknown) =>
    key === 'profile' && Array.isArray(value)
      ? value.filter(
          (url) => String(url).includes(IPS) || !String(url).includes('/us/'),
        )
      : value,
  ) as object;

describe.skipIf(missing !== undefined)(
  "HAPI's validator with the International Patient Summary 2.0.0",
  () => {
    test('finds no error of ours in any summary', async () => {
      const bundles = new Map(
        [...summaries].map(([name, bundle]) => [name, claimingIpsOnly(bundle)]),
      );
      const issues = await validate(folder, 'ips-2.0.0', bundles);
      const errors = issues.filter(
        ({ severity }) => severity === 'error' || severity === 'fatal',
      );
      const resources = [...summaries.values()].flatMap(resourcesIn).length;
      process.stdout.write(
        `IPS 2.0.0: ${resources} resources in ${summaries.size} summaries, ${errors.length} errors\n`,
      );
      expect(errors).toEqual([]);
    });

    test('most entries claim the profile of their section', () => {
      for (const bundle of summaries.values()) {
        const entries = resourcesIn(bundle).filter(({ resourceType }) =>
          [
            'Condition',
            'AllergyIntolerance',
            'MedicationRequest',
            'Immunization',
            'Procedure',
          ].includes(resourceType),
        );
        const claiming = entries.filter(({ meta }) =>
          meta?.profile?.some((url) => url.includes(IPS)),
        );
        expect(claiming.length).toBeGreaterThanOrEqual(entries.length * 0.9);
      }
    });
  },
);
