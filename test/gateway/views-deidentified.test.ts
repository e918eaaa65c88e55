import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isJson } from '#record-summary/fhir';
import { READY_VIEWS } from '../../src/exchange/delivery/bulk-export/views/ready-views.ts';
import { KEPT_ELEMENTS } from '../../src/exchange/delivery/bulk-export/views/safe-harbor.ts';
import {
  deliveriesOf,
  delivery,
  personOf,
  smallSamples,
} from '../support/deliveries.ts';
import { createFhirDoor, type FhirDoor } from '../support/fhir-door.ts';
import { type Row, readByDuckDb, viewRunsOf } from '../support/view-runs.ts';

let door: FhirDoor;
let runs: ReturnType<typeof viewRunsOf>;
let patientIds: string[];
/** Texts of the fixtures that identify somebody. */
const identifiers = new Set<string>();

/** What a source may put anywhere. */
const PLANTED = [
  'Zebra Quagga',
  'quagga@zebra.example',
  '617-555-0199',
  '123-45-6789',
  '12 Okapi Lane',
  'MRN-777001',
];
const said = PLANTED.join(' ');
const secrets = {
  text: {
    status: 'generated',
    div: `<div xmlns="http://www.w3.org/1999/xhtml">${said}</div>`,
  },
  extension: [{ url: 'urn:x:note', valueString: said }],
  identifier: [{ system: 'urn:x', value: 'MRN-777001' }],
  note: [{ text: said }],
  contained: [
    { resourceType: 'Patient', id: 'c', name: [{ text: 'Zebra Quagga' }] },
  ],
};
const coded = {
  coding: [{ system: 'urn:x:local', code: 'MRN-777001', display: said }],
  text: said,
};
const subject = {
  reference: 'Patient/p',
  display: 'Zebra Quagga',
  identifier: { value: '123-45-6789' },
};

beforeAll(async () => {
  door = await createFhirDoor();
  runs = viewRunsOf(door);
  patientIds = [];
  for (const sample of smallSamples.slice(0, 1)) {
    patientIds.push(await door.addSample(sample));
    for (const { content } of deliveriesOf(sample)) collect(content);
    collect(sample.createBody);
  }
  const person = personOf(smallSamples[0] ?? never());
  // 93 years old, in one of the restricted areas.
  const old = await door.addPatient({
    ...person,
    dob: '1933-04-05',
    addresses: [
      {
        addressLine1: '12 Okapi Lane',
        city: 'Quaggaville',
        state: 'VT',
        zip: '05901',
        country: 'USA',
      },
    ],
  });
  patientIds.push(old);
  await door.deliver(
    old,
    'hie',
    [
      {
        resourceType: 'Condition',
        id: 'a',
        ...secrets,
        subject,
        code: coded,
        onsetDateTime: '1934-01-02',
      },
      {
        resourceType: 'Observation',
        id: 'b',
        ...secrets,
        subject,
        status: 'final',
        code: coded,
        valueQuantity: {
          value: 93,
          unit: said,
          system: 'http://unitsofmeasure.org',
          code: 'a',
        },
        effectiveDateTime: '2024-03-04T05:06:07Z',
        method: coded,
        interpretation: [coded],
      },
      {
        resourceType: 'Observation',
        id: 'c',
        subject,
        status: 'final',
        code: coded,
        valueString: said,
      },
      {
        resourceType: 'MedicationRequest',
        id: 'd',
        ...secrets,
        subject,
        status: 'active',
        intent: 'order',
        medicationCodeableConcept: coded,
        dosageInstruction: [{ text: said }],
        authoredOn: '2023-02-01',
      },
      {
        resourceType: 'Encounter',
        id: 'e',
        ...secrets,
        subject,
        status: 'finished',
        class: coded.coding[0],
        period: { start: '2022-06-07T08:09:10Z' },
        reasonCode: [coded],
      },
    ].map((each) => delivery('hie', each)),
    ['p'],
  );
  await door.records.merge(door.accountId, old);
  for (const text of [
    ...PLANTED,
    'Quaggaville',
    '05901',
    '1933',
    ...patientIds,
  ])
    identifiers.add(text);
});
afterAll(() => door.close());

function never(): never {
  throw new Error('there are no samples');
}

const NAMING =
  /^(?:family|given|line|city|text|display|div|value|firstName|lastName|addressLine\d|phone|email|zip|postalCode|dob|birthDate|externalId|valueString)$/;

/**
 * Notes every text of an element that may name somebody, of names, addresses,
 * contacts and identifiers.
 */
function collect(value: unknown, within = ''): void {
  if (Array.isArray(value)) for (const each of value) collect(each, within);
  else if (isJson(value))
    for (const [name, member] of Object.entries(value))
      collect(member, `${within}.${name}`);
  else if (typeof value === 'string') {
    const place = within;
    const name = within.split('.').at(-1) ?? '';
    const isNaming =
      /\.(?:name|address|telecom|contact|identifier|personalIdentifiers|dob|birthDate|firstName|lastName|note)\b/.test(
        place,
      ) &&
      !/\.(?:system|use|type|url|state|country|period|status|code|profile|prefix|suffix)\b/.test(
        place,
      );
    if (isNaming && NAMING.test(name) && value.length > 3)
      identifiers.add(value);
  }
}

/** Selects everything of a resource, in every way. */
const hostile = (resource: string) => ({
  resourceType: 'ViewDefinition',
  name: `all_${resource}`,
  status: 'active',
  resource,
  select: [
    {
      column: [
        'name',
        'telecom',
        'identifier',
        'text.div',
        'extension',
        'contained',
        'note',
        'address',
        'meta',
        'photo',
        '$this',
        'birthDate',
        'code',
        'code.text',
        'code.coding.display',
        'value',
        'subject.display',
        'subject.reference',
        'dosageInstruction.text',
        'reasonCode.text',
        'participant',
        'performer',
        'sentence',
        'source.reason',
        "extension('urn:x:note').value",
        '%resource',
        'contact',
        'generalPractitioner',
        'issued',
        'period',
        'effective',
      ].map((path, index) => ({ name: `c${index}`, path, collection: true })),
    },
  ],
});

describe('a de-identified run', () => {
  test('has identifiers to look for', () => {
    expect(identifiers.size).toBeGreaterThan(100);
    for (const text of [
      'Fuentes250',
      '759 Prohaska Track',
      '5555399888',
      '999332293',
      '01532',
      '2001-09-07',
    ])
      expect(
        [...identifiers].some((each) => each.includes(text)),
        text,
      ).toBe(true);
  });

  test.each(['parquet', 'csv', 'ndjson'])(
    'shows no identifier in any view or hostile definition, in %s',
    async (format) => {
      // Short numbers may be a part of a hash or of another number.
      const anyOf = new RegExp(
        [...identifiers]
          .map((each) => each.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
          .map((each) =>
            each.length > 10 ? each : `(?<![\\w.])${each}(?![\\w.])`,
          )
          .join('|'),
      );
      const types = Object.keys(KEPT_ELEMENTS);
      const batches = [
        [...READY_VIEWS.keys()],
        ...[types.slice(0, 8), types.slice(8)].map((each) => each.map(hostile)),
      ];
      for (const views of batches) {
        const { files } = await runs.run(
          views,
          { _format: format, deidentified: true },
          runs.runnerOf(door.blobs, { bytes: 8_000_000, patients: 10 }),
        );
        expect(files.every(({ kind }) => kind === 'output')).toBe(true);
        const names = [...new Set(files.map(({ name }) => name))];
        expect(names.length).toBe(views.length);
        for (const name of names) {
          const own = files.filter((file) => file.name === name);
          const text =
            format === 'parquet'
              ? JSON.stringify(await readByDuckDb(own, name, format))
              : own.map(({ content }) => String(content)).join('');
          expect(text.match(anyOf)?.[0], name).toBeUndefined();
          expect(text, name).not.toMatch(
            /\d{4}-\d{2}-\d{2}|\d{3}-\d{3}-\d{4}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-|@/,
          );
        }
      }
    },
  );

  test('keeps what analysis needs: codes, values, years, three digits of a zip code, and keys that join', async () => {
    const run = () =>
      runs.run(['patients', 'conditions', 'results'], {
        _format: 'parquet',
        deidentified: true,
      });
    const { files } = await run();
    const patients = await readByDuckDb(files, 'patients', 'parquet');
    expect(patients).toHaveLength(2);
    const young = patients.find(({ birth_date }) => birth_date === '2001');
    expect(young).toMatchObject({
      state: 'MA',
      postal_code: '015',
      gender: 'male',
      family_name: null,
      age_group: null,
    });
    expect(patients.find(({ age_group }) => age_group === '90+')).toMatchObject(
      {
        birth_date: null,
        postal_code: '000',
      },
    );
    const conditions = await readByDuckDb(files, 'conditions', 'parquet');
    const ids = patients.map(({ id }) => id);
    for (const { patient_id } of conditions) expect(ids).toContain(patient_id);
    expect(
      conditions.filter(({ snomed_code }) => /^\d+$/.test(String(snomed_code)))
        .length,
    ).toBeGreaterThan(10);
    expect(
      conditions
        .map(({ onset }) => String(onset))
        .filter((onset) => !/^(?:null|\d{4})$/.test(onset)),
    ).toEqual([]);
    const results = await readByDuckDb(files, 'results', 'parquet');
    expect(
      results.filter(({ value_quantity }) => typeof value_quantity === 'number')
        .length,
    ).toBeGreaterThan(100);
    // The same hashes in every run, and others in another account.
    const again = await readByDuckDb(
      (await run()).files,
      'patients',
      'parquet',
    );
    const keys = (rows: readonly Row[]) =>
      rows.map(({ id }) => String(id)).sort();
    expect(keys(again)).toEqual(keys(patients));
    for (const id of keys(patients)) expect(id).toMatch(/^[0-9a-f]{32}$/);
  });
});
