import fc from 'fast-check';
import type { FhirResource } from 'fhir/r4.js';
import { describe, expect } from 'vitest';
import type { SourceType } from '../../src/contract/primitives.ts';
import type { AccountTx } from '../../src/exchange/platform/database/database.ts';
import { MERGE_RULES } from '../../src/exchange/records/merge/merge-batch.ts';
import { pendingDeliveries } from '../../src/exchange/records/merge/merge-store.ts';
import { resourceOrigins } from '../../src/exchange/records/merge/resource-origins.ts';
import {
  consolidatedBundle,
  countConsolidated,
} from '../../src/exchange/records/reading/read-consolidated.ts';
import { withOurAddresses } from '../../src/exchange/records/rules/attachment-addresses.ts';
import {
  deliveriesOf,
  delivery,
  patientIdsOf,
  personOf,
  samples,
} from '../support/deliveries.ts';
import { fhirIssues } from '../support/fhir-issues.ts';
import { recordTest } from '../support/fixtures.ts';
import {
  type Delivered,
  type MergedRecord,
  mergeDeliveries,
} from '../support/merge-deliveries.ts';
import { propertyOf } from '../support/property.ts';

/** As the record is read: no document is stored here. */
const givenOut = ({ resources }: MergedRecord) =>
  resources.map((each) => withOurAddresses(each, []));

const test = recordTest.extend(
  'record',
  { scope: 'file' },
  ({ environment }) => {
    async function deliverAll(
      patientId: string,
      deliveries: readonly Delivered[],
    ): Promise<void> {
      for (const source of ['hie', 'lab', 'pharmacy'] satisfies SourceType[]) {
        const own = deliveries.filter((each) => each.source === source);
        if (own.length > 0)
          await environment.deliver(
            patientId,
            source,
            own,
            ids.get(source) ?? [],
          );
      }
    }
    const merge = (patientId: string) =>
      environment.records.merge(environment.accountId, patientId);
    const contents = async (patientId: string, type: string) =>
      (await environment.read(patientId, { types: [type] })).map(
        ({ content }) => content,
      );
    return { ...environment, contents, deliverAll, merge };
  },
);

const [sample] = samples.filter(({ key }) => key === 'keith-kiehn');
if (sample === undefined) throw new Error('the sample is gone');
const person = personOf(sample);
const ids = patientIdsOf(sample);
const whole = deliveriesOf(sample);
/** In the order of the reader, which is not that of the whole merge at once. */
const sorted = (text: string): string =>
  JSON.stringify(
    (JSON.parse(text) as { resourceType: string; id: string }[]).sort(
      (left, right) =>
        `${left.resourceType}/${left.id}` < `${right.resourceType}/${right.id}`
          ? -1
          : 1,
    ),
  );

describe('a record', () => {
  const orders = propertyOf(
    [
      fc.shuffledSubarray(whole, { minLength: whole.length }),
      fc.array(fc.nat(whole.length), { maxLength: 4 }),
      fc.subarray(whole),
    ],
    { numRuns: 4 },
  );
  test(
    orders.named(
      'is the same byte for byte, however it was shuffled, doubled and split into batches',
    ),
    async ({ record }) =>
      orders.holds(async (shuffled, cuts, doubled) => {
        const patientId = await record.addPatient(person);
        const bounds = [
          0,
          ...cuts.sort((left, right) => left - right),
          shuffled.length,
        ];
        for (const [index, from] of bounds.entries()) {
          await record.deliverAll(
            patientId,
            shuffled.slice(from, bounds[index + 1]),
          );
          await record.merge(patientId);
        }
        await record.deliverAll(patientId, doubled);
        expect(await record.merge(patientId)).toEqual({ changed: 0 });
        const expected = givenOut(
          mergeDeliveries({ ...person, patientId }, whole, ids),
        );
        const text = await record.text(patientId);
        expect(sorted(text)).toBe(
          sorted(JSON.stringify(expected).replaceAll(patientId, 'the-patient')),
        );
      }),
  );

  test('holds each thing once with all its origins, and refers to nothing that it does not hold', async ({
    record,
  }) => {
    const patientId = await record.addPatient(person);
    await record.deliverAll(patientId, whole);
    expect(await record.merge(patientId)).toEqual({ changed: whole.length });
    const resources = await record.read(patientId);
    expect(resources[0]?.resourceType).toBe('Patient');
    expect(resources.flatMap(({ origins }) => origins)).toHaveLength(
      whole.length,
    );
    const twice = resources.filter(
      ({ origins }) => new Set(origins.map(({ source }) => source)).size > 1,
    );
    expect(twice.map(({ resourceType }) => resourceType)).toEqual(
      expect.arrayContaining([
        'Observation',
        'MedicationRequest',
        'Practitioner',
      ]),
    );
    expect(twice.length).toBeGreaterThan(10);
    const names = new Set(
      resources.map(({ resourceType, id }) => `${resourceType}/${id}`),
    );
    const referred = JSON.stringify(resources).matchAll(
      /"reference":"([^"]+)"/g,
    );
    for (const [, reference = ''] of referred)
      expect(names).toContain(reference);
    let text = '';
    for await (const part of consolidatedBundle(record.store, {
      accountId: record.accountId,
      patientId,
      publicBaseUrl: 'https://exchange.example.org',
    }))
      text += part;
    const bundle = JSON.parse(text) as {
      entry: { fullUrl: string; resource: FhirResource }[];
    };
    expect(fhirIssues(bundle)).toEqual([]);
    expect(new Set(bundle.entry.map(({ fullUrl }) => fullUrl)).size).toBe(
      bundle.entry.length,
    );
    expect(
      bundle.entry.filter(
        ({ resource }) => resource.resourceType === 'Provenance',
      ),
    ).toHaveLength(resources.length);
    const files = bundle.entry.map(({ resource }) => resource.meta?.source);
    bundle.entry.forEach(({ resource }, place) => {
      expect(files[place]).toEqual(expect.any(String));
      if (resource.resourceType === 'Provenance')
        expect(files[place]).toBe(files[place - 1]);
    });
    const counts = await record.store.asAccount(record.accountId, (tx) =>
      countConsolidated(tx, patientId, {}),
    );
    expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(
      resources.length,
    );
  });

  test('is the same when many merge it at once', async ({ record }) => {
    const patientId = await record.addPatient(person);
    await Promise.all([
      ...['hie', 'lab', 'pharmacy'].map(async (source) => {
        await record.deliverAll(
          patientId,
          whole.filter((each) => each.source === source),
        );
        await record.merge(patientId);
      }),
      record.merge(patientId),
      record.merge(patientId),
    ]);
    expect(await record.merge(patientId)).toEqual({ changed: 0 });
    const expected = givenOut(
      mergeDeliveries({ ...person, patientId }, whole, ids),
    );
    expect(sorted(await record.text(patientId))).toBe(
      sorted(JSON.stringify(expected).replaceAll(patientId, 'the-patient')),
    );
  });
});

test('each delivery behind a resource can be seen, which one leads, and why they are one', async ({
  record,
}) => {
  const patientId = await record.addPatient(person);
  const result = (source: 'hie' | 'lab', rest: object) =>
    delivery(source, {
      resourceType: 'Observation',
      id: `seen-at-${source}`,
      status: 'final',
      subject: { reference: `Patient/${[...(ids.get(source) ?? [])][0]}` },
      code: { text: 'Weight' },
      effectiveDateTime: '2024-05-01',
      valueQuantity: { value: 70, unit: 'kg' },
      identifier: [{ system: 'urn:shared', value: '1' }],
      ...rest,
    });
  await record.deliverAll(patientId, [
    result('hie', {}),
    result('lab', {
      meta: { versionId: '7', lastUpdated: '2024-05-02T00:00:00Z' },
    }),
  ]);
  await record.merge(patientId);
  const [weight] = await record.read(patientId, { types: ['Observation'] });
  const originsOf = (id: string) =>
    record.store.asAccount(record.accountId, (tx) =>
      resourceOrigins(tx, patientId, id),
    );
  const united = [{ key: 'content' }, { key: 'identifier' }];
  expect(await originsOf(weight?.id ?? '')).toMatchObject({
    resourceType: 'Observation',
    origins: [
      {
        source: 'lab',
        sourceId: 'seen-at-lab',
        leads: true,
        versionId: '7',
        unitedBy: united,
      },
      {
        source: 'hie',
        sourceId: 'seen-at-hie',
        leads: false,
        fromDocument: false,
        unitedBy: united,
      },
    ],
  });
  await expect(
    originsOf('0190a1b2-0000-7000-8000-000000000099'),
  ).rejects.toThrow('Resource not found');
});

describe('deliveries that share keys and are several things', () => {
  const numbers = [13.46, 13.461, 13.4609, 13.5, 13.53, 14, 9.95, 9.9464];
  const statuses = ['preliminary', 'final', 'cancelled'];
  const chained = numbers.flatMap((value, number) =>
    (['hie', 'lab', 'pharmacy'] as const).map((source, index) =>
      delivery(source, {
        resourceType: 'Observation',
        id: `chained-${number}`,
        status: statuses[(number + index) % 3],
        subject: { reference: `Patient/${[...(ids.get(source) ?? [])][0]}` },
        code: { coding: [{ system: 'http://loinc.org', code: '718-7' }] },
        effectiveDateTime: '2024-05-01T10:00:00Z',
        valueQuantity: { value, unit: 'g/dL' },
        identifier:
          number % 2 === 0 ? [{ system: 'urn:shared', value: '1' }] : [],
      }),
    ),
  );
  const expectedOf = (patientId: string) =>
    sorted(
      JSON.stringify(
        givenOut(mergeDeliveries({ ...person, patientId }, chained, ids)),
      ).replaceAll(patientId, 'the-patient'),
    );

  const late = propertyOf(
    [
      fc.shuffledSubarray(chained, { minLength: chained.length }),
      fc.array(fc.nat(chained.length), { minLength: 2, maxLength: 8 }),
    ],
    { numRuns: 8 },
  );
  test(
    late.named('come out the same however they were split into batches'),
    async ({ record }) =>
      late.holds(async (shuffled, cuts) => {
        const patientId = await record.addPatient(person);
        const bounds = [
          0,
          ...cuts.sort((left, right) => left - right),
          shuffled.length,
        ];
        for (const [index, from] of bounds.entries()) {
          await record.deliverAll(
            patientId,
            shuffled.slice(from, bounds[index + 1]),
          );
          await record.merge(patientId);
        }
        expect(sorted(await record.text(patientId))).toBe(
          expectedOf(patientId),
        );
      }),
  );

  test('are grouped again when the rules have changed, also while only some of them are', async ({
    record,
  }) => {
    const patientId = await record.addPatient(person);
    await record.deliverAll(patientId, chained);
    await record.merge(patientId);
    await record.store.asAccount(record.accountId, async ({ db }) => {
      // As the first version of the rules left them: all in one, by keys that
      // nobody makes any more.
      await db
        .updateTable('record_origin')
        .set({
          rules: 1,
          family_id: patientId,
          keys: ['c:old'],
          assertions: '{}',
          resource_id: patientId,
          leads: false,
        })
        .where('patient_id', '=', patientId)
        .where('resource_type', '=', 'Observation')
        .execute();
      await db
        .deleteFrom('record_key')
        .where('patient_id', '=', patientId)
        .execute();
      await db
        .insertInto('record_key')
        .values({
          account_id: record.accountId,
          patient_id: patientId,
          resource_type: 'Observation',
          key: 'c:old',
          resource_id: patientId,
        })
        .execute();
    });
    expect(await record.merge(patientId)).toEqual({ changed: chained.length });
    expect(sorted(await record.text(patientId))).toBe(expectedOf(patientId));
    expect(await record.merge(patientId)).toEqual({ changed: 0 });
  });
});

describe('a delivery that changes', () => {
  const of = (id: string, rest: object) =>
    delivery('hie', {
      resourceType: 'Observation',
      id,
      status: 'final',
      subject: { reference: 'Patient/p' },
      effectiveDateTime: '2024-05-01',
      code: { text: 'Weight' },
      ...rest,
    });

  test('replaces what it said before, and leaves the group that it no longer belongs to', async ({
    record,
  }) => {
    const patientId = await record.addPatient(person);
    const first = of('a', { valueString: 'x' });
    const same = of('b', { valueString: 'x' });
    await record.deliver(patientId, 'hie', [first, same], ['p']);
    await record.merge(patientId);
    expect(await record.contents(patientId, 'Observation')).toHaveLength(1);
    await record.deliver(
      patientId,
      'hie',
      [of('b', { valueString: 'y' })],
      ['p'],
    );
    await record.merge(patientId);
    const values = (await record.contents(patientId, 'Observation')).map(
      (each) => JSON.stringify(each),
    );
    for (const value of ['x', 'y'])
      expect(
        values.filter((each) => each.includes(`"valueString":"${value}"`)),
      ).toHaveLength(1);
  });

  test('is not replaced by an older version of it that comes later', async ({
    record,
  }) => {
    const patientId = await record.addPatient(person);
    const version = (versionId: string, valueString: string) =>
      of('a', {
        valueString,
        meta: { versionId, lastUpdated: `2024-05-0${versionId}T00:00:00Z` },
      });
    for (const each of [
      version('1', 'first'),
      version('3', 'third'),
      version('2', 'second'),
    ]) {
      await record.deliver(patientId, 'hie', [each], ['p']);
      await record.merge(patientId);
    }
    expect(await record.contents(patientId, 'Observation')).toMatchObject([
      { valueString: 'third' },
    ]);
  });

  test('commits together with what is done at the end of its merge, once, when nothing is pending any more', async ({
    record,
  }) => {
    const { accountId, records } = record;
    const deliveries = (count: number) =>
      Array.from({ length: count }, (_, place) =>
        of(`many-${place}`, { valueString: `${place}` }),
      );
    for (const count of [0, 3, 1_200]) {
      const patientId = await record.addPatient(person);
      await record.deliver(patientId, 'hie', deliveries(count), ['p']);
      const pendingAtEnd: number[] = [];
      const atEnd = async (tx: AccountTx) => {
        pendingAtEnd.push(
          (await pendingDeliveries(tx, patientId, MERGE_RULES, 2_000)).length,
        );
        if (pendingAtEnd.length === 1)
          throw new Error('the end could not be written');
      };
      await expect(
        records.merge(accountId, patientId, { atEnd }),
      ).rejects.toThrow('the end could not');
      const { changed } = await records.merge(accountId, patientId, { atEnd });
      // What the failed end belonged to was merged anew.
      expect(changed > 0).toBe(count > 0);
      expect(pendingAtEnd).toEqual([0, 0]);
      expect(await record.contents(patientId, 'Observation')).toHaveLength(
        count,
      );
    }
  });

  test('that is deleted goes from the record', async ({ record }) => {
    const patientId = await record.addPatient(person);
    await record.deliver(
      patientId,
      'hie',
      [of('a', { valueString: 'x' })],
      ['p'],
    );
    await record.merge(patientId);
    await record.store.asAccount(record.accountId, (tx) =>
      tx.db
        .deleteFrom('patient_resource')
        .where('patient_id', '=', patientId)
        .execute(),
    );
    expect(await record.merge(patientId)).toEqual({ changed: 1 });
    expect(await record.contents(patientId, 'Observation')).toEqual([]);
  });

  test('unites a prescription with its double once the Medication that it refers to has come', async ({
    record,
  }) => {
    const patientId = await record.addPatient(person);
    const subject = { reference: 'Patient/p' };
    const code = {
      coding: [
        {
          system: 'http://www.nlm.nih.gov/research/umls/rxnorm',
          code: '197361',
        },
      ],
    };
    const request = (id: string, rest: object, source = 'hie') =>
      delivery(source, {
        resourceType: 'MedicationRequest',
        id,
        status: 'active',
        intent: 'order',
        subject,
        authoredOn: '2024-05-01',
        ...rest,
      });
    await record.deliver(
      patientId,
      'hie',
      [request('a', { medicationReference: { reference: 'Medication/m' } })],
      ['p'],
    );
    await record.deliver(
      patientId,
      'pharmacy',
      [request('b', { medicationCodeableConcept: code }, 'pharmacy')],
      ['p'],
    );
    await record.merge(patientId);
    expect(await record.contents(patientId, 'MedicationRequest')).toHaveLength(
      2,
    );
    await record.deliver(
      patientId,
      'hie',
      [delivery('hie', { resourceType: 'Medication', id: 'm', code })],
      ['p'],
    );
    await record.merge(patientId);
    expect(
      await record.read(patientId, { types: ['MedicationRequest'] }),
    ).toMatchObject([{ origins: [{}, {}] }]);
  });
});
