import { afterAll, beforeAll, expect, test } from 'vitest';
import { resourceFilter } from '../../src/exchange/delivery/bulk-export/rules/export-request.ts';
import { readExportOfPatient } from '../../src/exchange/delivery/bulk-export/run-export.ts';
import {
  type ConsolidatedPlace,
  readConsolidated,
} from '../../src/exchange/records/reading/read-consolidated.ts';
import { openRecordReader } from '../../src/exchange/records/reading/record-reader.ts';
import { delivery, personOf, samples } from '../support/deliveries.ts';
import {
  createFhirDoor,
  type FhirDoor,
  idsIn,
  resourcesIn,
} from '../support/fhir-door.ts';
import { TEST_BASE_URL } from '../support/gateway.ts';

const RESOURCE_BYTES = 1_000_000;
const RESOURCES = 12;
/**
 * What is held at once: 8 MB, the resource that exceeds them, and what we add.
 */
const HELD_BYTES_MAX = 8_000_000 + 1.1 * RESOURCE_BYTES;

let door: FhirDoor;
let patientId: string;
beforeAll(async () => {
  door = await createFhirDoor();
  const [sample] = samples;
  if (sample === undefined) throw new Error('there is no sample');
  patientId = await door.addPatient(personOf(sample));
  // Such a text is stored in a hundredth of its size.
  const text = 'x'.repeat(RESOURCE_BYTES);
  const observations = Array.from({ length: RESOURCES }, (_, index) =>
    delivery('hie', {
      resourceType: 'Observation',
      id: `large-${index}`,
      status: 'final',
      code: { text: `value ${index}` },
      subject: { reference: 'Patient/them' },
      note: [{ text }],
    }),
  );
  await door.deliver(patientId, 'hie', observations, new Set(['them']));
  await door.records.merge(door.accountId, patientId);
});
afterAll(() => door?.close());

const sizeOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
const all = Array.from(
  { length: RESOURCES },
  (_, index) => `value ${index}`,
).sort();
const codesOf = (resources: readonly object[]) =>
  resources
    .filter(
      (each) => 'resourceType' in each && each.resourceType === 'Observation',
    )
    .map((each) => ('code' in each ? (each.code as { text: string }).text : ''))
    .sort();

test('a record of large resources is read in pages that fit in memory, each resource once', async () => {
  const read: object[] = [];
  let after: ConsolidatedPlace | undefined;
  do {
    const page = await door.store.asAccount(door.accountId, (tx) =>
      readConsolidated(tx, patientId, {}, after, 1_000),
    );
    expect(sizeOf(page.resources)).toBeLessThan(HELD_BYTES_MAX);
    read.push(...page.resources.map(({ content }) => content));
    after = page.next;
  } while (after !== undefined);
  expect(codesOf(read)).toEqual(all);
  const everything = await door.bundle(`Patient/${patientId}/$everything`);
  expect(codesOf(resourcesIn(everything))).toEqual(all);
  const pages = await door.pages(`Patient/${patientId}/$everything?_count=9`);
  expect(pages.map((page) => codesOf(resourcesIn(page)).length)).toEqual([
    9, 3,
  ]);
  expect(codesOf(pages.flatMap(resourcesIn))).toEqual(all);
});

test.each([
  ['all', 32_000_000],
  ['the types that come before there is no more room', 10_000_000],
  ['nothing', 0],
])(
  'a summary that keeps %s of such a record reads each resource once for each table',
  async (_, left) => {
    const kept = { left };
    const of = { accountId: door.accountId, patientId, filter: {} };
    const reader = await openRecordReader(door.store, of, kept);
    for (const types of [
      ['Observation', 'Patient'],
      ['Observation'],
      ['Condition'],
    ]) {
      const read: { id: string; resourceType: string; content: object }[] = [];
      for await (const each of reader.read(types)) read.push(each);
      expect(
        read.filter(({ resourceType }) => resourceType === 'Patient'),
      ).toHaveLength(Number(types.length > 1));
      expect(codesOf(read.map(({ content }) => content))).toEqual(
        types.includes('Observation') ? all : [],
      );
    }
    // At most a page more than there was room for.
    expect(kept.left).toBeGreaterThan(-HELD_BYTES_MAX);
    reader.close();
    expect(kept.left).toBe(left);
  },
);

test.each([
  ['everything', null],
  ['what changed', new Date(0)],
])('an export of %s holds as much of a patient at once', async (_, since) => {
  const filter = resourceFilter(null, {});
  const member = { ordinal: 1, patientId, isWhole: false };
  const lines: object[] = [];
  const of = { accountId: door.accountId, member, filter, since };
  for await (const page of readExportOfPatient(
    { ...door, publicBaseUrl: TEST_BASE_URL },
    of,
    undefined,
  )) {
    expect(sizeOf(page.lines)).toBeLessThan(HELD_BYTES_MAX);
    lines.push(...page.lines.map(({ json }) => json));
  }
  expect(codesOf(lines)).toEqual(all);
});

test('a page of a search is shorter when its resources are large, and its pages lose none', async () => {
  const pages = await door.pages(`Observation?patient=${patientId}&_count=500`);
  for (const page of pages) expect(sizeOf(page)).toBeLessThan(HELD_BYTES_MAX);
  const ids = idsIn(pages);
  expect(new Set(ids).size).toBe(RESOURCES);
  expect(ids).toHaveLength(RESOURCES);
  // A search by ids has one page, which is complete; it may hold 20 MB.
  const some = ids.slice(0, 11);
  const byId = await door.bundle(`Observation?_id=${some.join(',')}`);
  expect(idsIn([byId]).sort()).toEqual(some.toSorted());
  const count = await door.bundle(
    `Observation?patient=${patientId}&status=final&_summary=count`,
  );
  expect(count.total).toBe(RESOURCES);
});
