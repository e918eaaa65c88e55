import { rm } from 'node:fs/promises';
import type { Bundle, FhirResource } from 'fhir/r4.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Json } from '#record-summary/fhir';
import { referencesIn } from '../../src/exchange/records/rules/references.ts';
import { profilesOfType } from '../../src/exchange/records/rules/us-core/us-core.ts';
import { delivery } from '../support/deliveries.ts';
import {
  createFhirDoor,
  type FhirDoor,
  resourcesIn,
} from '../support/fhir-door.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import {
  type Issue,
  US_CORE,
  type UsCore,
  validate,
  validatorMissing,
} from './hapi-validator.ts';
import { recordOfMessages } from './messages.ts';
import {
  type Bundle as EntryBundle,
  representatives,
} from './representatives.ts';
import {
  documentSubjects,
  type Subject,
  sampleSubjects,
  subjectsIn,
} from './synthea.ts';
import { exampleSubjects } from './us-core-examples.ts';

const missing = validatorMissing();
if (missing !== undefined)
  process.stdout.write(`HAPI's validator is not run: ${missing}.\n`);

/**
 * A folder that Synthea wrote; without one, the sample patients and those of US
 * Core's examples.
 */
const FOLDER = process.env.CONFORMANCE_DATA;
/**
 * Validates every resource. Otherwise one of each shape, with what it refers
 * to, which takes a sixth of the time.
 */
const IS_WHOLE = process.env.CONFORMANCE_WHOLE === 'true';
const subjects =
  FOLDER === undefined
    ? [...sampleSubjects(), ...documentSubjects(), ...exampleSubjects()]
    : subjectsIn(FOLDER);

let door: FhirDoor;
let folder: string;
const records = new Map<string, Bundle>();

beforeAll(async () => {
  if (missing !== undefined) return;
  folder = await makeTestFolder();
  door = await createFhirDoor();
  for (const subject of subjects)
    records.set(subject.name, await recordOf(subject));
  records.set('messages', await recordOfMessages());
});
afterAll(async () => {
  await door?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

async function recordOf({
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
  return door.bundle(`Patient/${patientId}/$everything`);
}

/** What the sources delivered, a Bundle per source. */
function delivered(): Map<string, object> {
  const bundles = new Map<string, object>();
  for (const { name, deliveries } of subjects)
    for (const source of new Set(deliveries.map((each) => each.source))) {
      const own = deliveries
        .filter((each) => each.source === source)
        .map(({ resource }) => resource);
      bundles.set(
        `${name}.${source}`,
        collection(`https://${source}.example/fhir`, own),
      );
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

/**
 * Claims to other versions of US Core are left out: a validator knows one
 * version.
 */
const claimingOnly = (version: UsCore, bundle: Bundle): object =>
  JSON.parse(JSON.stringify(bundle), (key, value: unknown) =>
    key === 'profile' && Array.isArray(value)
      ? value.filter(
          (url) =>
            !/\/us\/core\/.*\|/.test(String(url)) ||
            String(url).endsWith(`|${version}`),
        )
      : value,
  ) as object;

/** Ends the names of Bundles that sources delivered. */
const DELIVERED = '.delivered';
/** Whether a record is made of what sources delivered as FHIR. */
const isFhir = (record: string): boolean =>
  subjects.some(
    ({ name, deliveries }) => name === record && deliveries.length > 0,
  );

const isError = ({ severity }: Issue): boolean =>
  severity === 'error' || severity === 'fatal';
const kindOf = ({ element, id }: Issue): string => `${element} ${id}`;

const EMPTY: Bundle = { resourceType: 'Bundle', type: 'collection' };

/** Whether the document itself has a period that ends before it starts. */
function isOfDocument({ bundle, resource, id }: Issue): boolean {
  if (!id.endsWith('Period#per-1')) return false;
  const bytes =
    subjects
      .find(({ name }) => name === bundle)
      ?.document?.bytes.toString('utf8') ?? '';
  const [found] = resourcesIn(records.get(bundle) ?? EMPTY).filter(
    (each) => `${each.resourceType}/${each.id}` === resource,
  );
  return periodsIn(found).some(({ start, end }) => {
    const [low, high] = [start, end].map((time) => time.replaceAll(/\D/g, ''));
    // The record has the day of a time without an offset.
    return new RegExp(
      `<low value="${low}\\d*"/>\\s*<high value="${high}\\d*"`,
    ).test(bytes);
  });
}

function periodsIn(value: unknown): { start: string; end: string }[] {
  if (typeof value !== 'object' || value === null) return [];
  const { start, end } = value as { start?: unknown; end?: unknown };
  const own =
    typeof start === 'string' && typeof end === 'string'
      ? [{ start, end }]
      : [];
  return [...own, ...Object.values(value).flatMap(periodsIn)];
}

/**
 * A resource that refers to one with an error of the source fails with it, and
 * so do those that refer to it; also where the resource in between claims no
 * profile itself, and is only held against one because it is referred to.
 */
function followingFrom(
  causes: readonly Issue[],
  issues: readonly Issue[],
): Issue[] {
  const faulty = new Set(causes.map(({ resource }) => resource));
  const all = [...records.values()].flatMap(
    (bundle) => resourcesIn(bundle) as unknown as Json[],
  );
  const refers = new Map(
    all
      .filter(({ meta }) => !JSON.stringify(meta).includes('/us/core/'))
      .map((each) => [
        `${String(each.resourceType)}/${String(each.id)}`,
        referencesIn([each]),
      ]),
  );
  const following = new Set<Issue>();
  let before: number;
  do {
    before = following.size;
    for (const issue of issues) {
      const [, target = ''] = /for (\w+\/[\w-]+)/.exec(issue.message) ?? [];
      const isCaused = [target, ...(refers.get(target) ?? [])].some((name) =>
        faulty.has(name),
      );
      if (issue.id !== 'Reference_REF_CantMatchChoice' || !isCaused) continue;
      following.add(issue);
      faulty.add(issue.resource);
    }
  } while (following.size > before);
  return [...following];
}

/** A part that stands for the whole, unless all is asked for. */
const chosen = (
  bundles: ReadonlyMap<string, object>,
): ReadonlyMap<string, object> =>
  IS_WHOLE
    ? bundles
    : representatives(bundles as ReadonlyMap<string, EntryBundle>);
const sizeOf = (bundles: ReadonlyMap<string, object>): number =>
  [...bundles.values()].reduce(
    (sum, bundle) => sum + (bundle as EntryBundle).entry.length,
    0,
  );

describe.skipIf(missing !== undefined)("HAPI's validator", () => {
  test.each(US_CORE)(
    'finds no error of ours in any record: FHIR R4 and US Core %s',
    async (version) => {
      const claiming = new Map(
        [...records].map(([name, bundle]) => [
          name,
          claimingOnly(version, bundle),
        ]),
      );
      const theirBundles = chosen(delivered());
      const ourBundles = chosen(claiming);
      const all = new Map(
        [...theirBundles].map(([name, bundle]) => [
          `${name}${DELIVERED}`,
          bundle,
        ]),
      );
      for (const [name, bundle] of ourBundles) all.set(name, bundle);
      const errors = (await validate(folder, `us-core-${version}`, all)).filter(
        isError,
      );
      const theirs = errors.filter(({ bundle }) => bundle.endsWith(DELIVERED));
      const ours = errors.filter(({ bundle }) => !bundle.endsWith(DELIVERED));
      const known = new Set(theirs.map(kindOf));
      const isOfSource = (issue: Issue) =>
        isFhir(issue.bundle) && known.has(kindOf(issue));
      const passedOn = ours.filter(
        (issue) => isOfSource(issue) || isOfDocument(issue),
      );
      const following = followingFrom(passedOn, ours);
      const introduced = ours.filter(
        (issue) => !passedOn.includes(issue) && !following.includes(issue),
      );
      process.stdout.write(
        `US Core ${version}: ${sizeOf(ourBundles)} of ${sizeOf(claiming)} resources in ${records.size} records, ` +
          `${sizeOf(theirBundles)} that were delivered; errors of the sources ${theirs.length}, ` +
          `passed on ${passedOn.length} and following from them ${following.length}, introduced ${introduced.length}\n`,
      );
      expect(
        introduced.map(({ bundle, resource, element, message }) => ({
          bundle,
          resource,
          element,
          message,
        })),
      ).toEqual([]);
    },
  );

  test('each record has what its document says, with a Provenance that names the document', () => {
    for (const { name, document } of subjects)
      if (document !== undefined)
        expect(JSON.stringify(records.get(name))).toContain(
          '"role":"derivation","what":{"display"',
        );
  });

  test('every reference points into the Bundle, and most resources of types with a US Core profile claim one', () => {
    for (const bundle of records.values()) {
      const resources = resourcesIn(bundle) as unknown as Json[];
      const names = new Set(
        resources.map(
          ({ resourceType, id }) => `${String(resourceType)}/${String(id)}`,
        ),
      );
      expect(
        referencesIn(resources).filter(
          (each) => !each.startsWith('#') && !names.has(each),
        ),
      ).toEqual([]);
      const able = resources.filter(
        ({ resourceType }) => profilesOfType(String(resourceType)).length > 0,
      );
      const claiming = able.filter(({ meta }) =>
        JSON.stringify(meta).includes('/us/core/'),
      );
      expect(claiming.length / able.length).toBeGreaterThan(0.9);
    }
  });
});
