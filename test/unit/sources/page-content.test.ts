import { describe, expect } from 'vitest';
import type { SourceType } from '../../../src/contract/primitives.ts';
import {
  adaAtSource,
  condition,
  type FakeSource,
  idsOf,
  somebodyElse,
  sourceTest as test,
} from '../../support/fake-source.ts';

async function pageWith(
  source: FakeSource,
  entries: unknown[],
  sourceType: SourceType = 'hie',
) {
  source.serveEverything({
    json: { resourceType: 'Bundle', type: 'searchset', entry: entries },
  });
  const [page] = await source.collect({ source: sourceType });
  if (page === undefined) throw new Error('no page');
  return page;
}

const entry = (resource: unknown) => ({ resource });
const observation = (id: string, change = {}) => ({
  resourceType: 'Observation',
  id,
  subject: { reference: 'Patient/p1' },
  ...change,
});

describe('whom a resource is about', () => {
  test.for<[string, object]>([
    [
      'subject',
      { resourceType: 'Condition', subject: { reference: 'Patient/p9' } },
    ],
    [
      'patient',
      { resourceType: 'Immunization', patient: { reference: 'Patient/p9' } },
    ],
    [
      'beneficiary',
      { resourceType: 'Coverage', beneficiary: { reference: 'Patient/p9' } },
    ],
    [
      'a version',
      {
        resourceType: 'Condition',
        subject: { reference: 'Patient/p9/_history/1' },
      },
    ],
    [
      'another server',
      {
        resourceType: 'Condition',
        subject: { reference: 'https://other.example/Patient/p1' },
      },
    ],
    [
      'a list of subjects',
      {
        resourceType: 'Condition',
        subject: [{ reference: 'Patient/p1' }, { reference: 'Patient/p9' }],
      },
    ],
    [
      'a participant',
      {
        resourceType: 'Appointment',
        participant: [{ actor: { reference: 'Patient/p9' } }],
      },
    ],
    ['nobody', { resourceType: 'Condition' }],
    [
      'a group',
      { resourceType: 'Condition', subject: { reference: 'Group/g1' } },
    ],
    [
      'a target',
      { resourceType: 'Provenance', target: [{ reference: 'Patient/p9' }] },
    ],
    [
      'a device of somebody',
      { resourceType: 'Device', patient: { reference: 'Patient/p9' } },
    ],
    ['somebody else', somebodyElse],
  ])(
    'by %s: put aside, counted, and kept in no document',
    async ([_, resource], { source }) => {
      const stray = { id: 's1', ...resource };
      const page = await pageWith(source, [
        entry(stray),
        entry(condition('c1')),
      ]);
      expect(idsOf([page])).toEqual(['Condition/c1']);
      const isUnnamed = ['nobody', 'a group'].includes(_);
      expect(page.misattributedCount).toBe(isUnnamed ? 0 : 1);
      expect(page.reported?.gaps).toEqual(
        isUnnamed ? ['1 resource without a patient'] : undefined,
      );
      expect(JSON.parse(page.raw.bytes.toString()).entry).toEqual([
        entry(condition('c1')),
      ]);
    },
  );

  test('is told by relative, absolute and urn references alike', async ({
    source,
  }) => {
    const urn = 'urn:uuid:4c70028f-e0a4-53b8-b664-602bd4bdd66f';
    const page = await pageWith(source, []);
    expect(page.resources).toEqual([]);
    const { resources, misattributedCount } = await pageWith(source, [
      { fullUrl: urn, resource: adaAtSource },
      { fullUrl: 'urn:uuid:9', resource: somebodyElse },
      entry(condition('c1', 'Patient/p1/_history/4')),
      entry(condition('c2', urn)),
      entry(condition('c3', 'urn:uuid:9')),
      entry({
        resourceType: 'Appointment',
        id: 'a1',
        participant: [
          { actor: { reference: 'Practitioner/d1' } },
          { actor: { reference: 'Patient/p1' } },
        ],
      }),
    ]);
    expect(resources.map(({ id }) => id)).toEqual(['p1', 'c1', 'c2', 'a1']);
    expect(misattributedCount).toBe(2);
  });

  test('does not matter for what supports others', async ({ source }) => {
    const supporting = [
      'Organization',
      'Practitioner',
      'Location',
      'Medication',
      'Device',
    ];
    const page = await pageWith(
      source,
      supporting.map((resourceType) => entry({ resourceType, id: 'x' })),
    );
    expect(idsOf([page])).toEqual(supporting.map((type) => `${type}/x`));
    expect(page.misattributedCount).toBe(0);
  });
});

test("another patient's whole record is a bad answer", async ({ source }) => {
  const record = [
    somebodyElse,
    condition('c9', 'Patient/p9'),
    { resourceType: 'Organization', id: 'o1' },
  ];
  await expect(pageWith(source, record.map(entry))).rejects.toMatchObject({
    kind: 'bad-answer',
    message: "hie answered with another patient's record",
  });
});

test('what is malformed is put aside and harms nothing', async ({ source }) => {
  const page = await pageWith(source, [
    null,
    7,
    {},
    entry(null),
    entry({ id: 'x' }),
    entry({ resourceType: 'Condition', subject: { reference: 'Patient/p1' } }),
    entry({ ...condition('c1'), id: '../c1' }),
    entry(condition('c2')),
  ]);
  expect(idsOf([page])).toEqual(['Condition/c2']);
  expect(page.misattributedCount).toBe(0);
  expect(page.reported?.gaps).toEqual([
    '5 resources without a type',
    '2 resources without a valid id',
  ]);
});

test('a resource that names its patient by a number only is not counted as one of another patient', async ({
  source,
}) => {
  const subject = { identifier: { system: 'urn:mrn', value: '77' } };
  const page = await pageWith(source, [
    entry({ ...condition('c1'), subject }),
    entry(condition('c2')),
  ]);
  expect(idsOf([page])).toEqual(['Condition/c2']);
  expect(page).toMatchObject({
    misattributedCount: 0,
    reported: {
      gaps: ["1 resource with the patient's number instead of a reference"],
    },
  });
});

const of = (code: string, severity = 'error') => ({
  resourceType: 'OperationOutcome',
  issue: [{ severity, code, diagnostics: 'Ada Lovelace' }],
});

test.for<[object, string[], string[]]>([
  [of('processing'), ['the source reports an error (processing)'], []],
  [of('Ada Lovelace', 'fatal'), ['the source reports an error (unknown)'], []],
  [of('incomplete', 'warning'), ['the source reports incomplete'], []],
  [
    of('not-supported', 'warning'),
    [],
    ['the source reports a warning (not-supported)'],
  ],
])(
  'an outcome of a page says that something is missing, or warns: %j',
  async ([outcome, gaps, warnings], { source }) => {
    const page = await pageWith(source, [
      entry(condition('c1')),
      entry(outcome),
    ]);
    expect(page.reported).toEqual({ gaps, warnings });
    const ofEntry = await pageWith(source, [
      { response: { status: '500', outcome } },
    ]);
    expect(ofEntry.reported).toEqual({ gaps, warnings });
  },
);

test.for<[string, Record<string, unknown>]>([
  [
    'R5',
    {
      resourceType: 'Encounter',
      class: [{ coding: [{ code: 'IMP' }] }],
      actualPeriod: {},
    },
  ],
  [
    'R5',
    {
      resourceType: 'MedicationRequest',
      medication: { concept: { text: 'Aspirin' } },
    },
  ],
  [
    'R5',
    {
      resourceType: 'Immunization',
      manufacturer: { reference: { display: 'Acme' } },
    },
  ],
  ['STU3', { resourceType: 'Condition', clinicalStatus: 'active' }],
  ['STU3', { resourceType: 'Immunization', notGiven: true }],
  [
    'STU3',
    {
      resourceType: 'MedicationRequest',
      requester: { agent: { display: 'Dr. Who' } },
    },
  ],
])(
  'a resource of %s is not kept, and it is said: %j',
  async ([_, resource], { source }) => {
    const subject = { reference: 'Patient/p1' };
    const whose =
      resource.resourceType === 'Immunization'
        ? { patient: subject }
        : { subject };
    const page = await pageWith(source, [
      entry({ id: 'x1', ...resource, ...whose }),
      entry(condition('c1')),
    ]);
    expect(idsOf([page])).toEqual(['Condition/c1']);
    expect(page.reported?.gaps).toEqual([
      '1 resource in another version of FHIR than R4',
    ]);
    expect(page.raw.bytes.toString()).toContain('x1');
  },
);

test('a resource with a number that nobody can store is left out, and counted', async ({
  source,
}) => {
  const value = observation('x1', { valueQuantity: { value: 0 } });
  const json = {
    resourceType: 'Bundle',
    type: 'searchset',
    entry: [entry(value), entry(condition('c1'))],
  };
  source.serveEverything({
    text: JSON.stringify(json).replace('"value":0', '"value":1e400'),
  });
  const [page] = await source.collect();
  expect(page?.resources).toMatchObject([{ id: 'c1' }]);
  expect(page?.reported?.gaps).toEqual([
    '1 resource with a number that is too large to be stored',
  ]);
});

test('an outcome beside the data is no stray', async ({ source }) => {
  const page = await pageWith(source, [
    entry({ resourceType: 'OperationOutcome', issue: [] }),
    entry(condition('c1')),
  ]);
  expect(page).toMatchObject({
    misattributedCount: 0,
    resources: [{ id: 'c1' }],
  });
});

test('an answer without strays is kept byte for byte', async ({ source }) => {
  const page = await pageWith(source, [entry(condition('c1'))]);
  expect(page.raw.bytes.toString()).toBe(
    JSON.stringify({
      resourceType: 'Bundle',
      type: 'searchset',
      entry: [entry(condition('c1'))],
    }),
  );
  expect(page.raw.contentType).toBe('application/fhir+json');
});

test('a laboratory brings results: by category, by report, or for want of a category', async ({
  source,
}) => {
  const category = (code: string) => ({ category: [{ coding: [{ code }] }] });
  const report = {
    resourceType: 'DiagnosticReport',
    id: 'r1',
    subject: { reference: 'Patient/p1' },
    result: [{ reference: 'Observation/reported' }],
  };
  const page = await pageWith(
    source,
    [
      report,
      observation('lab', category('laboratory')),
      observation('vital', category('vital-signs')),
      observation('reported', category('survey')),
      observation('plain'),
      condition('c1'),
      {
        resourceType: 'Encounter',
        id: 'e1',
        subject: { reference: 'Patient/p9' },
      },
    ].map(entry),
    'lab',
  );
  expect(idsOf([page])).toEqual([
    'DiagnosticReport/r1',
    'Observation/lab',
    'Observation/reported',
    'Observation/plain',
  ]);
  // A type that the lab is not asked for is left out; a foreign patient is told
  // all the same.
  expect(page.misattributedCount).toBe(1);
});

describe('references within an answer', () => {
  test('are written as type and id where the answer or the address tells what they mean', async ({
    source,
  }) => {
    const { resources, patientIds } = await pageWith(source, [
      {
        fullUrl: 'urn:uuid:0f1d1fb4-0000-4000-8000-000000000001',
        resource: adaAtSource,
      },
      {
        fullUrl: 'urn:uuid:0f1d1fb4-0000-4000-8000-000000000002',
        resource: { resourceType: 'Practitioner', id: 'doctor' },
      },
      entry(
        observation('o1', {
          subject: {
            reference: 'urn:uuid:0f1d1fb4-0000-4000-8000-000000000001',
          },
          performer: [
            { reference: 'urn:uuid:0f1d1fb4-0000-4000-8000-000000000002' },
            { reference: `${source.baseUrl}/Organization/o` },
            { reference: 'https://elsewhere.example/fhir/Organization/o' },
          ],
        }),
      ),
    ]);
    expect(patientIds).toEqual(['p1']);
    expect(resources.find(({ id }) => id === 'o1')).toMatchObject({
      subject: { reference: 'Patient/p1' },
      performer: [
        { reference: 'Practitioner/doctor' },
        { reference: 'Organization/o' },
        { reference: 'https://elsewhere.example/fhir/Organization/o' },
      ],
    });
  });
});
