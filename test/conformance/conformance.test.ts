import { rm } from 'node:fs/promises';
import type { Bundle, FhirResource } from 'fhir/r4.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Json } from '../../src/exchange/records/rules/json.ts';
import { referencesIn } from '../../src/exchange/records/rules/references.ts';
import { delivery } from '../support/deliveries.ts';
import { createFhirDoor, type FhirDoor, resourcesIn } from '../support/fhir-door.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { type Issue, US_CORE, type UsCore, validate, validatorMissing } from './hapi-validator.ts';
import { type Subject, sampleSubjects, subjectsIn } from './synthea.ts';

const missing = validatorMissing();
if (missing !== undefined) process.stdout.write(`HAPI's validator is not run: ${missing}.\n`);

/** A folder that Synthea wrote; without one, the sample patients. */
const FOLDER = process.env.CONFORMANCE_DATA;
const subjects = FOLDER === undefined ? sampleSubjects() : subjectsIn(FOLDER);

let door: FhirDoor;
let folder: string;
const records = new Map<string, Bundle>();

beforeAll(async () => {
  if (missing !== undefined) return;
  folder = await makeTestFolder();
  door = await createFhirDoor();
  for (const subject of subjects) records.set(subject.name, await recordOf(subject));
});
afterAll(async () => {
  await door?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

async function recordOf({ person, deliveries, patientIds, document }: Subject): Promise<Bundle> {
  const patientId = await door.addPatient(person);
  for (const source of ['hie', 'lab', 'pharmacy'] as const) {
    const own = deliveries.filter((each) => each.source === source);
    const deliver = own.map(({ resource }) => delivery(source, resource));
    if (own.length > 0) await door.deliver(patientId, source, deliver, patientIds.get(source) ?? []);
  }
  if (document !== undefined)
    await door.deliverDocument(patientId, 'hie', { ...document, contentType: 'application/xml' });
  await door.records.merge(door.accountId, patientId, { documentsOf: 'hie' });
  return door.bundle(`Patient/${patientId}/$everything`);
}

/** What the sources delivered, a Bundle per source. */
function delivered(): Map<string, object> {
  const bundles = new Map<string, object>();
  for (const { name, deliveries } of subjects)
    for (const source of new Set(deliveries.map((each) => each.source))) {
      const own = deliveries.filter((each) => each.source === source).map(({ resource }) => resource);
      bundles.set(`${name}.${source}`, collection(`https://${source}.example/fhir`, own));
    }
  return bundles;
}

const collection = (base: string, resources: readonly FhirResource[]) => ({
  resourceType: 'Bundle',
  type: 'collection',
  entry: resources.map((resource) => ({
    fullUrl: `${base}/${resource.resourceType}/${resource.id}`,
    resource,
  })),
});

/** Claims to other versions of US Core are left out: a validator knows one version. */
const claimingOnly = (version: UsCore, bundle: Bundle): object =>
  JSON.parse(JSON.stringify(bundle), (key, value: unknown) =>
    key === 'profile' && Array.isArray(value)
      ? value.filter((url) => !/\/us\/core\/.*\|/.test(String(url)) || String(url).endsWith(`|${version}`))
      : value,
  ) as object;

const isError = ({ severity }: Issue): boolean => severity === 'error' || severity === 'fatal';
const kindOf = ({ element, id }: Issue): string => `${element} ${id}`;

/** Whether the document itself has a period that ends before it starts. */
function isOfDocument({ bundle, resource, id }: Issue): boolean {
  if (!id.endsWith('Period#per-1')) return false;
  const bytes = subjects.find(({ name }) => name === bundle)?.document?.bytes.toString('utf8') ?? '';
  const [found] = resourcesIn(records.get(bundle) as Bundle).filter(
    (each) => `${each.resourceType}/${each.id}` === resource,
  );
  return periodsIn(found).some(({ start, end }) => {
    const [low, high] = [start, end].map((time) => time.replaceAll(/\D/g, ''));
    return new RegExp(`<low value="${low}"/>\\s*<high value="${high}"`).test(bytes);
  });
}

function periodsIn(value: unknown): { start: string; end: string }[] {
  if (typeof value !== 'object' || value === null) return [];
  const { start, end } = value as { start?: unknown; end?: unknown };
  const own = typeof start === 'string' && typeof end === 'string' ? [{ start, end }] : [];
  return [...own, ...Object.values(value).flatMap(periodsIn)];
}

describe.skipIf(missing !== undefined)("HAPI's validator", () => {
  test.each(US_CORE)('finds no error of ours in any record: FHIR R4 and US Core %s', async (version) => {
    const theirs = (await validate(folder, version, delivered())).filter(isError);
    const given = new Map([...records].map(([name, bundle]) => [name, claimingOnly(version, bundle)]));
    const ours = (await validate(folder, version, given)).filter(isError);
    const known = new Set(theirs.map(kindOf));
    const passedOn = ours.filter((issue) => known.has(kindOf(issue)) || isOfDocument(issue));
    const faulty = passedOn.map(({ resource }) => resource);
    // A resource that refers to one with an error of the source fails with it.
    const following = ours.filter(
      ({ id, message }) =>
        id === 'Reference_REF_CantMatchChoice' && faulty.some((name) => message.includes(name)),
    );
    const introduced = ours.filter((issue) => !passedOn.includes(issue) && !following.includes(issue));
    const resources = [...records.values()].reduce((sum, bundle) => sum + resourcesIn(bundle).length, 0);
    process.stdout.write(
      `US Core ${version}: ${resources} resources in ${records.size} records; errors of the sources ${theirs.length}, ` +
        `passed on ${passedOn.length} and following from them ${following.length}, introduced ${introduced.length}\n`,
    );
    expect(
      introduced.map(({ bundle, resource, element, message }) => ({ bundle, resource, element, message })),
    ).toEqual([]);
  });

  test('each record has what its document says, with a Provenance that names the document', () => {
    for (const bundle of records.values())
      expect(JSON.stringify(bundle)).toContain('"role":"derivation","what":{"display"');
  });

  test('every reference points into the Bundle, and most resources claim a profile of US Core', () => {
    for (const bundle of records.values()) {
      const resources = resourcesIn(bundle) as unknown as Json[];
      const names = new Set(resources.map(({ resourceType, id }) => `${String(resourceType)}/${String(id)}`));
      expect(referencesIn(resources).filter((each) => !each.startsWith('#') && !names.has(each))).toEqual([]);
      const claiming = resources.filter(({ meta }) => JSON.stringify(meta).includes('/us/core/'));
      expect(claiming.length / resources.length).toBeGreaterThan(0.9);
    }
  });
});
