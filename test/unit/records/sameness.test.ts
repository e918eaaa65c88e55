import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  canonicalJson,
  measureOf,
  significantDigits,
  valueElement,
} from '#record-summary/fhir';
import { convertDatedCcda } from '../../../src/exchange/records/conversion/ccda-conversion.ts';
import { CLINICAL_TYPES } from '../../../src/exchange/records/rules/resource-types.ts';
import { loadCcda } from '../../../tools/simulator/samples.ts';
import {
  deliveriesOf,
  delivery,
  patientIdsOf,
  personOf,
  samples,
} from '../../support/deliveries.ts';
import {
  type Delivered,
  mergeDeliveries,
} from '../../support/merge-deliveries.ts';
import { property } from '../../support/property.ts';

type Resource = Record<string, unknown> & { resourceType: string; id: string };
const [sample] = samples;
if (sample === undefined) throw new Error('the samples are gone');
const ids = patientIdsOf(sample);
const subjectAt = (source: string) => ({
  reference: `Patient/${[...(ids.get(source) ?? [])][0]}`,
});
const merged = (deliveries: readonly Delivered[]) =>
  mergeDeliveries(personOf(sample), deliveries, ids).resources.slice(
    1,
  ) as Resource[];

const NUMBER = [{ system: 'urn:shared', value: '1000' }];
const concept = (code: string) => ({
  coding: [{ system: 'http://snomed.info/sct', code }],
});
const at = (
  source: string,
  resourceType: string,
  id: string,
  rest: object,
): Delivered =>
  delivery(source, {
    resourceType,
    id,
    subject: subjectAt(source),
    patient: subjectAt(source),
    beneficiary: subjectAt(source),
    identifier: NUMBER,
    ...rest,
  });
/** The same number on each, at one source and at two. */
const numbered = (
  type: string,
  ...contents: object[]
): [string, Delivered[]][] => [
  [
    `${type} at one source`,
    contents.map((each, index) => at('hie', type, `r${index}`, each)),
  ],
  [
    `${type} at two sources`,
    contents.map((each, index) =>
      at(index % 2 === 0 ? 'hie' : 'lab', type, `r${index}`, each),
    ),
  ],
];
const coverage = {
  status: 'active',
  period: { start: '2024-01-01' },
  payor: [{ display: 'Aetna' }],
};
const claim = { status: 'active', outcome: 'complete', created: '2024-01-01' };
const document = (title: string, rest: object = {}) => ({
  status: 'current',
  type: concept('11488-4'),
  date: '2024-01-01T10:00:00Z',
  content: [{ attachment: { title, url: `Binary/${title}` } }],
  ...rest,
});

describe('a business number alone unites nothing', () => {
  test.each([
    ...numbered(
      'MedicationRequest',
      ...['1', '2', '3'].map((code) => ({
        status: 'active',
        authoredOn: '2024-01-01',
        medicationCodeableConcept: concept(code),
      })),
    ),
    ...numbered(
      'MedicationRequest',
      ...['1', '2', '3'].map((code) => ({
        status: 'active',
        authoredOn: '2024-01-01',
        medicationReference: { reference: '#drug' },
        contained: [
          { resourceType: 'Medication', id: 'drug', code: concept(code) },
        ],
      })),
    ),
    ...numbered(
      'MedicationRequest',
      ...[1, 2].map((value) => ({
        status: 'active',
        authoredOn: '2024-01-01',
        medicationCodeableConcept: concept('1'),
        dosageInstruction: [
          { doseAndRate: [{ doseQuantity: { value, unit: 'mg' } }] },
        ],
      })),
    ),
    ...numbered(
      'MedicationStatement',
      ...['2024-01-01', '2024-02-01'].map((effectiveDateTime) => ({
        status: 'active',
        effectiveDateTime,
        medicationCodeableConcept: concept('1'),
      })),
    ),
    ...numbered(
      'Coverage',
      coverage,
      { ...coverage, status: 'cancelled' },
      { ...coverage, payor: [{ display: 'Cigna' }] },
      { ...coverage, period: { start: '2025-01-01' } },
    ),
    ...numbered(
      'ExplanationOfBenefit',
      claim,
      { ...claim, created: '2024-01-02' },
      { ...claim, total: [{ amount: { value: 5, currency: 'USD' } }] },
      { ...claim, item: [{ sequence: 1, productOrService: concept('1') }] },
    ),
    ...numbered('Claim', claim, {
      ...claim,
      total: { value: 5, currency: 'USD' },
    }),
    ...numbered(
      'Specimen',
      { type: concept('1'), collection: { collectedDateTime: '2024-01-01' } },
      { type: concept('2'), collection: { collectedDateTime: '2024-01-01' } },
      { type: concept('1'), collection: { collectedDateTime: '2024-01-02' } },
    ),
    ...numbered(
      'Encounter',
      {
        status: 'finished',
        class: { code: 'AMB' },
        period: { start: '2024-01-01' },
      },
      {
        status: 'finished',
        class: { code: 'EMER' },
        period: { start: '2024-01-01' },
      },
      {
        status: 'finished',
        class: { code: 'AMB' },
        period: { start: '2024-01-02' },
      },
    ),
    ...numbered(
      'DocumentReference',
      document('a'),
      document('b'),
      document('a', { date: '2024-02-01T10:00:00Z' }),
    ),
    ...numbered(
      'Condition',
      { code: concept('1'), onsetDateTime: '2010-01-01' },
      { code: concept('1'), onsetDateTime: '2020-01-01' },
    ),
    ...numbered(
      'AllergyIntolerance',
      { code: concept('1') },
      { code: concept('2') },
    ),
    ...numbered(
      'Procedure',
      {
        status: 'completed',
        code: concept('1'),
        performedDateTime: '2024-01-01',
      },
      {
        status: 'not-done',
        code: concept('1'),
        performedDateTime: '2024-01-01',
      },
    ),
    ...numbered(
      'AdverseEvent',
      { event: concept('1') },
      { event: concept('2') },
    ),
    ...numbered(
      'Practitioner',
      { name: [{ family: 'A', given: ['B'] }] },
      { name: [{ family: 'C' }] },
    ),
    ...numbered('Organization', { name: 'North' }, { name: 'South' }),
  ])('%s', (_, deliveries) => {
    expect(merged(deliveries)).toHaveLength(deliveries.length);
  });

  test('and a chain of keys does not either', () => {
    const drug = (
      id: string,
      source: string,
      status: string,
      identifier: object[],
    ) =>
      at(source, 'MedicationRequest', id, {
        status,
        authoredOn: '2024-01-01',
        medicationCodeableConcept: concept('1'),
        identifier,
      });
    const record = merged([
      drug('a', 'hie', 'active', NUMBER),
      drug('b', 'lab', 'active', []),
      drug('c', 'pharmacy', 'stopped', NUMBER),
    ]);
    expect(record.map(({ status }) => status).sort()).toEqual([
      'active',
      'stopped',
    ]);
  });
});

const hemoglobin = (
  source: string,
  id: string,
  rest: object,
  isConverted = false,
): Delivered => ({
  ...at(source, 'Observation', id, {
    status: 'final',
    code: { coding: [{ system: 'http://loinc.org', code: '718-7' }] },
    effectiveDateTime: '2024-05-01T10:00:00Z',
    identifier: [],
    ...rest,
  }),
  isConverted,
});
const value = (number: number, unit = 'g/dL', rest: object = {}) => ({
  valueQuantity: { value: number, unit, ...rest },
});

describe('one result in two precisions', () => {
  test.each<[string, number, object[]]>([
    ['a rounded number', 1, [value(14.411), value(14.410907001600238)]],
    ['an integer and a score', 1, [{ valueInteger: 3 }, value(3, '{score}')]],
    ['another number', 2, [value(14.411), value(14.4121)]],
    ['a number of which too little is told', 2, [value(1), value(1.4)]],
    ['an edge that rounding twice crosses', 1, [value(9.95), value(9.9464)]],
    ['another unit', 2, [value(14.411, 'g/dL'), value(14.4109, 'g/L')]],
    ['no unit at all', 2, [value(14.411, 'g/dL'), value(14.411, '')]],
    [
      'above or below',
      2,
      [value(14.411, 'g/dL', { comparator: '<' }), value(14.411)],
    ],
    [
      'two spellings of a unit',
      1,
      [value(14.4, '10*3/uL'), value(14.4, '10^3/uL')],
    ],
    ['words with signs', 2, [{ valueString: '<5' }, { valueString: '>5' }]],
  ])('%s: %i', (_, count, contents) => {
    const deliveries = contents.map((each, index) =>
      hemoglobin(index === 0 ? 'hie' : 'lab', 'a', each),
    );
    expect(merged(deliveries)).toHaveLength(count);
    expect(merged([...deliveries].reverse())).toEqual(merged(deliveries));
  });

  test('a number near two that are not near each other joins one of them, in any order', () => {
    const three = [
      hemoglobin('hie', 'a', value(13.46)),
      hemoglobin('lab', 'b', value(13.5)),
      hemoglobin('pharmacy', 'c', value(13.53)),
      hemoglobin('hie', 'd', value(13.46), true),
    ];
    const record = merged(three);
    expect(record).toHaveLength(2);
    for (const order of [
      [3, 2, 1, 0],
      [1, 3, 0, 2],
      [2, 0, 3, 1],
    ])
      expect(
        canonicalJson(merged(order.flatMap((index) => three[index] ?? []))),
      ).toBe(canonicalJson(record));
  });

  test('keeps the more precise number that a source wrote, also of components', () => {
    const part = (number: number) => ({
      component: [
        { code: concept('1'), valueQuantity: { value: number, unit: 'mmHg' } },
      ],
    });
    const newer = { meta: { lastUpdated: '2025-01-01T00:00:00Z' } };
    expect(
      merged([
        hemoglobin('hie', 'a', value(14.4109)),
        hemoglobin('lab', 'b', { ...value(14.41), ...newer }),
      ]),
    ).toMatchObject([{ valueQuantity: { value: 14.4109 } }]);
    expect(
      merged([
        hemoglobin('hie', 'a', part(120.04)),
        hemoglobin('lab', 'b', { ...part(120), ...newer }),
      ]),
    ).toMatchObject([{ component: [{ valueQuantity: { value: 120.04 } }] }]);
    expect(
      merged([
        hemoglobin('hie', 'a', value(14.411)),
        hemoglobin('hie', 'b', value(14.410907), true),
      ]),
    ).toMatchObject([{ valueQuantity: { value: 14.411 } }]);
  });

  test('shows no number beside the reference range of another unit', () => {
    const measured = (
      id: string,
      source: string,
      number: number,
      unit: string,
      rest: object,
    ) =>
      hemoglobin(source, id, {
        valueQuantity: {
          value: number,
          unit,
          code: unit,
          system: 'http://unitsofmeasure.org',
        },
        ...rest,
      });
    const ranged = {
      referenceRange: [
        { low: { value: 120 }, high: { value: 160 }, text: '120-160' },
      ],
    };
    const [newer, older] = ['2025-01-02', '2025-01-01'].map((day) => ({
      meta: { lastUpdated: `${day}T00:00:00Z` },
    }));
    const [leading] = merged([
      measured('a', 'lab', 13.51, 'g/dL', { ...newer }),
      measured('b', 'hie', 135, 'g/L', { ...ranged, ...older }),
    ]);
    expect(leading).toMatchObject({
      valueQuantity: { value: 13.51, unit: 'g/dL' },
    });
    expect(leading).not.toHaveProperty('referenceRange');
    expect(
      merged([
        measured('a', 'lab', 13.51, 'g/dL', { ...older }),
        measured('b', 'hie', 135, 'g/L', { ...ranged, ...newer }),
      ]),
    ).toMatchObject([
      { valueQuantity: { value: 135, unit: 'g/L' }, ...ranged },
    ]);
    expect(
      merged([
        measured('a', 'lab', 4.51, 'K/uL', { ...newer }),
        measured('b', 'hie', 4.51, '10*9/L', {
          referenceRange: [{ text: '4-11' }],
          ...older,
        }),
      ]),
    ).toMatchObject([{ referenceRange: [{ text: '4-11' }] }]);
  });

  test.each(samples.map((each) => [each.key, each] as const))(
    'leaves of the C-CDA document of %s no number twice',
    (_, each) => {
      const [patientId = ''] = patientIdsOf(each).get('hie') ?? [];
      const conversion = convertDatedCcda(loadCcda(each), {
        unit: 'u',
        patientId,
      });
      if (conversion.kind !== 'converted') throw new Error('not converted');
      const converted = conversion.resources.map((resource) => ({
        ...delivery('hie', resource, 'doc.xml'),
        isConverted: true,
      }));
      const record = mergeDeliveries(
        personOf(each),
        [...deliveriesOf(each), ...converted],
        patientIdsOf(each),
      ).resources;
      const alone = record.filter(
        ({ meta }) => (meta as { source?: string }).source === 'doc.xml',
      );
      // Of 4 it cannot be said that it is 3.9059, rounded.
      const numbers = alone.flatMap(
        (resource) => measureOf(valueElement(resource)?.value)?.value ?? [],
      );
      expect(
        numbers.filter((number) => significantDigits(number) >= 3),
      ).toEqual([]);
    },
  );
});

/** What a reader of the record must find, by what it is called in any type. */
const FACTS = {
  code: [concept('1'), concept('2')],
  type: [concept('3')],
  vaccineCode: [concept('1'), concept('2')],
  medicationCodeableConcept: [concept('1'), concept('2')],
  status: [
    'active',
    'final',
    'preliminary',
    'completed',
    'stopped',
    'not-done',
    'entered-in-error',
  ],
  effectiveDateTime: ['2024-01-01', '2024-01-02'],
  onsetDateTime: ['2024-01-01', '2024-01-02'],
  authoredOn: ['2024-01-01', '2024-01-02'],
  created: ['2024-01-01', '2024-01-02'],
  performedDateTime: ['2024-01-01', '2024-01-02'],
  occurrenceDateTime: ['2024-01-01', '2024-01-02'],
  period: [{ start: '2024-01-01' }, { start: '2024-01-01', end: '2024-01-03' }],
  valueQuantity: [13.5, 13.46, 13.461, 13.4609, 14].map((number) => ({
    value: number,
    unit: 'g/dL',
  })),
  quantity: [{ value: 30 }, { value: 60 }],
  doNotPerform: [true, false],
  clinicalStatus: [concept('active'), concept('resolved')],
  dosageInstruction: [1, 2].map((number) => [
    { doseAndRate: [{ doseQuantity: { value: number, unit: 'mg' } }] },
  ]),
  dosage: [1, 2].map((number) => [
    { doseAndRate: [{ doseQuantity: { value: number, unit: 'mg' } }] },
  ]),
} as const;
type Fact = keyof typeof FACTS;

const facts = fc.record(
  Object.fromEntries(
    Object.entries(FACTS).map(([name, values]) => [
      name,
      fc.constantFrom<unknown>(...values),
    ]),
  ),
  { requiredKeys: [] },
);
const anyDelivery = fc
  .record({
    type: fc.constantFrom(
      ...[...CLINICAL_TYPES].filter((type) => type !== 'Patient'),
    ),
    source: fc.constantFrom('hie', 'lab', 'pharmacy'),
    id: fc.constantFrom('1', '2', '3', '4', '5'),
    identifier: fc.constantFrom(
      NUMBER,
      [],
      [{ system: 'urn:shared', value: '2000' }],
    ),
    lastUpdated: fc.constantFrom(
      '2024-01-01T00:00:00Z',
      '2024-01-02T00:00:00Z',
    ),
    isConverted: fc.boolean(),
  })
  .chain(({ type, source, id, identifier, lastUpdated, isConverted }) =>
    facts.map((told) => ({
      ...at(source, type, id, { ...told, identifier, meta: { lastUpdated } }),
      isConverted,
    })),
  );
/**
 * Elements that a type has; the rules for types that are not here look at all
 * of it anyway.
 */
const DRUG: Fact[] = ['medicationCodeableConcept', 'status', 'doNotPerform'];
const ELEMENTS: Readonly<Record<string, readonly Fact[]>> = {
  AllergyIntolerance: ['code', 'clinicalStatus'],
  Claim: ['type', 'status', 'created'],
  Condition: ['code', 'onsetDateTime', 'clinicalStatus'],
  Coverage: ['type', 'status', 'period'],
  DiagnosticReport: ['code', 'status', 'effectiveDateTime'],
  DocumentReference: ['type', 'status'],
  Encounter: ['status', 'period'],
  ExplanationOfBenefit: ['type', 'status', 'created'],
  Immunization: ['vaccineCode', 'status', 'occurrenceDateTime'],
  MedicationAdministration: [...DRUG, 'dosage', 'effectiveDateTime'],
  MedicationDispense: [...DRUG, 'dosageInstruction', 'quantity'],
  MedicationRequest: [...DRUG, 'dosageInstruction', 'authoredOn'],
  MedicationStatement: [...DRUG, 'dosage', 'effectiveDateTime'],
  Observation: ['code', 'status', 'effectiveDateTime', 'valueQuantity'],
  Procedure: ['code', 'status', 'performedDateTime'],
  RelatedPerson: [],
  ServiceRequest: ['code', 'status', 'authoredOn', 'doNotPerform'],
  Specimen: ['type', 'status'],
  // With a fingerprint of its own.
  CarePlan: ['status', 'period'],
  CareTeam: ['status', 'period'],
  FamilyMemberHistory: ['status'],
  Goal: [],
  ImagingStudy: ['status'],
};
const ofType = (type: string, content: object): object =>
  Object.fromEntries(
    Object.entries(content).filter(
      ([name]) =>
        !(name in FACTS) || (ELEMENTS[type]?.includes(name as Fact) ?? true),
    ),
  );

/** Of one type at a time, for others never meet. */
const deliveriesOfOneType = fc
  .record({
    type: fc.constantFrom(
      ...[...CLINICAL_TYPES].filter((type) => type !== 'Patient'),
    ),
    all: fc.array(anyDelivery, { minLength: 2, maxLength: 8 }),
  })
  .map(({ type, all }) => {
    const unique = new Map(
      all.map((each) => [`${each.source} ${each.sourceId}`, each]),
    );
    return [...unique.values()].map(
      (each): Delivered => ({
        ...delivery(each.source, {
          ...ofType(type, each.content),
          resourceType: type,
          id: each.sourceId,
        }),
        isConverted: each.isConverted,
      }),
    );
  });

/** As it was said, more precisely, or as far as it has come since. */
function isFound(
  name: Fact,
  told: unknown,
  resource: Resource,
  isConverted: boolean,
): boolean {
  const found = resource[name];
  if (canonicalJson(found) === canonicalJson(told)) return true;
  if (name === 'doNotPerform') return told === (found ?? false);
  if (name === 'status') {
    if (told === 'preliminary' && found === 'final') return true;
    return (
      isConverted &&
      told === 'completed' &&
      resource.resourceType.startsWith('Medication')
    );
  }
  if (name === 'period')
    return (
      canonicalJson({ ...(found as object), end: undefined }) ===
      canonicalJson(told)
    );
  if (name !== 'valueQuantity') return false;
  const [coarse, fine] = [told, found].map(
    (each) => (each as { value?: number } | undefined)?.value ?? 0,
  );
  return Math.abs(Number(coarse) - Number(fine)) <= 0.05;
}

test('a drug that must not be given and one that was not given stay two', () => {
  const of = (source: 'hie' | 'lab', id: string, content: object) =>
    at(source, 'MedicationAdministration', id, {
      identifier: [{ system: 'urn:shared', value: '1000' }],
      medicationCodeableConcept: {
        coding: [{ system: 'http://snomed.info/sct', code: '1' }],
      },
      status: 'not-done',
      effectiveDateTime: '2024-01-01',
      ...content,
    });
  const prohibited = of('lab', '1', { doNotPerform: true });
  const notGiven = of('hie', '2', { doNotPerform: false });
  const { resources } = mergeDeliveries(
    personOf(sample),
    [prohibited, notGiven],
    ids,
  );
  expect(
    resources.filter(
      ({ resourceType }) => resourceType === 'MedicationAdministration',
    ),
  ).toHaveLength(2);
});

describe('nothing that a delivery says is lost', () => {
  property([deliveriesOfOneType], { numRuns: 150 })(
    'whatever number it shares with others: one resource says all of it',
    (deliveries) => {
      const { resources, excluded, superseded } = mergeDeliveries(
        personOf(sample),
        deliveries,
        ids,
      );
      // Of what is superseded, `merge-cases.test.ts` says by what.
      const aside = new Set(
        [...excluded, ...superseded].map(
          ({ source, sourceId }) => `${source} ${sourceId}`,
        ),
      );
      for (const { source, sourceId, content, isConverted } of deliveries) {
        if (aside.has(`${source} ${sourceId}`)) continue;
        const told = Object.entries(content).filter(([name]) => name in FACTS);
        const carriers = (resources as Resource[]).filter((resource) =>
          told.every(([name, fact]) =>
            isFound(name as Fact, fact, resource, isConverted),
          ),
        );
        expect(carriers, canonicalJson(content)).not.toHaveLength(0);
      }
    },
  );

  property(
    [
      deliveriesOfOneType.chain((all) =>
        fc.tuple(
          fc.constant(all),
          fc.shuffledSubarray(all, { minLength: all.length }),
        ),
      ),
    ],
    {
      numRuns: 150,
    },
  )('and their order changes nothing', ([all, shuffled]) => {
    expect(canonicalJson(merged(shuffled))).toBe(canonicalJson(merged(all)));
  });
});
