import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isJson, type Json } from '#record-summary/fhir';
import { foldPatient } from '../../../src/exchange/records/rules/fold-patient.ts';
import { provenanceOf } from '../../../src/exchange/records/rules/provenance.ts';
import { referencesIn } from '../../../src/exchange/records/rules/references.ts';
import {
  ELEMENT_WORDS,
  TYPE_WORDS,
} from '../../../src/exchange/records/rules/us-core/defect-words.ts';
import { ALL_PROFILES } from '../../../src/exchange/records/rules/us-core/profiles.ts';
import {
  ConformanceCount,
  examined,
  inUsCore,
} from '../../../src/exchange/records/rules/us-core/us-core.ts';
import {
  deliveriesOf,
  patientIdsOf,
  personOf,
  samples,
} from '../../support/deliveries.ts';
import { mergeDeliveries } from '../../support/merge-deliveries.ts';
import { property } from '../../support/property.ts';

const BASE = 'http://hl7.org/fhir/us/core/StructureDefinition/';
const both = (...names: string[]): string[] =>
  names.flatMap((name) => [`${BASE}${name}|8.0.0`, `${BASE}${name}|6.1.0`]);

const concept = (system: string, code: string) => ({
  coding: [{ system, code }],
});
const category = (code: string) => [
  concept('http://terminology.hl7.org/CodeSystem/observation-category', code),
];
const subject = { reference: 'Patient/p' };
const glucose: Json = {
  resourceType: 'Observation',
  id: 'o',
  status: 'final',
  category: category('laboratory'),
  code: concept('http://loinc.org', '2339-0'),
  subject,
  effectiveDateTime: '2024-03-07',
  valueQuantity: {
    value: 90,
    unit: 'mg/dL',
    system: 'http://unitsofmeasure.org',
    code: 'mg/dL',
  },
};
const without = (resource: Json, ...names: string[]): Json =>
  Object.fromEntries(
    Object.entries(resource).filter(([name]) => !names.includes(name)),
  );
const claimsOf = (resource: Json): string[] => examined(resource).claims;
const unknownElement = {
  extension: [
    {
      url: 'http://hl7.org/fhir/StructureDefinition/data-absent-reason',
      valueCode: 'unknown',
    },
  ],
};

test('a Patient of whom no source has one claims its profiles', () => {
  const [sample] = samples;
  if (sample === undefined) throw new Error('there are no samples');
  const ours = foldPatient(
    { ...personOf(sample), patientId: 'p' },
    [],
    () => undefined,
  );
  expect(examined(ours).claims).toEqual(both('us-core-patient'));
});

test('a result that conforms claims the profile in both versions and is not changed otherwise', () => {
  const { resource, defects } = examined(glucose);
  expect(resource.meta).toEqual({ profile: both('us-core-observation-lab') });
  expect(without(resource, 'meta')).toEqual(glucose);
  expect(defects).toEqual([]);
});

test('a result without a value says that it is unknown, and the defect is named', () => {
  const { resource, claims, defects } = examined(
    without(glucose, 'valueQuantity'),
  );
  expect(claims).toEqual(both('us-core-observation-lab'));
  expect(resource.dataAbsentReason).toMatchObject({
    coding: [{ code: 'unknown' }],
  });
  expect(defects).toEqual([
    { profile: 'us-core-observation-lab', element: 'value[x]', isStated: true },
  ]);
});

test('a vital sign over a period claims nothing: validators accept only a time', () => {
  const average = {
    ...without(glucose, 'effectiveDateTime'),
    category: category('vital-signs'),
    effectivePeriod: { start: '2024-03-07', end: '2024-03-09' },
  };
  expect(claimsOf(average)).toEqual([]);
  expect(claimsOf({ ...average, category: category('laboratory') })).toEqual(
    both('us-core-observation-lab'),
  );
});

test.each([
  [
    '8.0.0',
    { valueCoding: { system: 'http://snomed.info/sct', code: '248152002' } },
  ],
  ['6.1.0', { valueCode: 'female' }],
])(
  'a Patient whose sex has the form of %s claims that version only, and that is no defect',
  (version, value) => {
    const extension = [{ url: `${BASE}us-core-sex`, ...value }];
    const identifier = [{ system: 'urn:mercy', value: '1' }];
    const patient = {
      resourceType: 'Patient',
      id: 'p',
      identifier,
      name: [{ family: 'Li' }],
      gender: 'female',
    };
    expect(claimsOf(patient)).toEqual(both('us-core-patient'));
    const { claims, defects } = examined({ ...patient, extension });
    expect(claims).toEqual([`${BASE}us-core-patient|${version}`]);
    expect(defects).toEqual([]);
  },
);

test('a result with only a year claims nothing: its time is not exact to the day', () => {
  const { resource, claims, defects } = examined({
    ...glucose,
    effectiveDateTime: '2024',
  });
  expect(claims).toEqual([]);
  expect(resource).toEqual({ ...glucose, effectiveDateTime: '2024', meta: {} });
  expect(defects).toEqual([
    {
      profile: 'us-core-observation-lab',
      element: 'effectiveDateTime',
      isStated: false,
    },
  ]);
});

test('what cannot claim a profile gets no statements for it either', () => {
  const resource = without(
    { ...glucose, effectiveDateTime: '2024' },
    'valueQuantity',
  );
  expect(inUsCore(resource)).toEqual({ ...resource, meta: {} });
});

test('a vital sign in a unit that its own profile does not allow claims only the general profile', () => {
  const weight = {
    ...glucose,
    category: category('vital-signs'),
    code: concept('http://loinc.org', '29463-7'),
  };
  expect(claimsOf(weight)).toEqual(both('us-core-vital-signs'));
  const inKilograms = {
    value: 70,
    unit: 'kg',
    system: 'http://unitsofmeasure.org',
    code: 'kg',
  };
  expect(claimsOf({ ...weight, valueQuantity: inKilograms })).toEqual(
    both('us-core-vital-signs', 'us-core-body-weight'),
  );
});

test('a blood pressure needs both numbers', () => {
  const part = (code: string) => ({
    code: concept('http://loinc.org', code),
    valueQuantity: {
      value: 80,
      unit: 'mmHg',
      system: 'http://unitsofmeasure.org',
      code: 'mm[Hg]',
    },
  });
  const pressure = {
    ...without(glucose, 'valueQuantity'),
    category: category('vital-signs'),
    code: concept('http://loinc.org', '85354-9'),
  };
  const whole = { ...pressure, component: [part('8480-6'), part('8462-4')] };
  expect(claimsOf(whole)).toEqual(
    both('us-core-vital-signs', 'us-core-blood-pressure'),
  );
  expect(claimsOf({ ...pressure, component: [part('8480-6')] })).toEqual(
    both('us-core-vital-signs'),
  );
});

test('an ordered prescription says that its requester is unknown; a plan needs none', () => {
  const prescription = {
    resourceType: 'MedicationRequest',
    id: 'm',
    status: 'active',
    intent: 'order',
    medicationCodeableConcept: concept(
      'http://www.nlm.nih.gov/research/umls/rxnorm',
      '314076',
    ),
    subject,
  };
  expect(inUsCore(prescription).requester).toEqual(unknownElement);
  expect(inUsCore({ ...prescription, intent: 'plan' })).not.toHaveProperty(
    'requester',
  );
});

test('what ends before it starts is passed on as it is and claims nothing', () => {
  const reversed = {
    ...without(glucose, 'effectiveDateTime'),
    effectivePeriod: { start: '2023-10-04', end: '2023-10-01' },
  };
  const { resource, claims, defects } = examined(reversed);
  expect(resource).toEqual({ ...reversed, meta: {} });
  expect(claims).toEqual([]);
  expect(defects).toEqual([
    { profile: 'us-core-observation-lab', element: 'Period', isStated: false },
  ]);
});

test('a care plan that is not of the kind "assess-plan" claims 8.0.0 only', () => {
  const plan = {
    resourceType: 'CarePlan',
    status: 'active',
    intent: 'plan',
    subject,
    text: {
      status: 'generated',
      div: '<div xmlns="http://www.w3.org/1999/xhtml">Plan</div>',
    },
    category: [concept('http://snomed.info/sct', '734163000')],
  };
  expect(claimsOf(plan)).toEqual([`${BASE}us-core-careplan|8.0.0`]);
});

test("a source's claim to US Core is not kept without our check; one to another guide is", () => {
  const other =
    'http://hl7.org/fhir/us/carin-bb/StructureDefinition/C4BB-Coverage';
  const claiming = {
    resourceType: 'Coverage',
    id: 'c',
    status: 'active',
    meta: { profile: [`${BASE}us-core-coverage`, other], source: 'hie-1.json' },
  };
  expect(inUsCore(claiming).meta).toEqual({
    profile: [other],
    source: 'hie-1.json',
  });
});

test('a person without any number is known by ours; a number without a system says so', () => {
  const person: Json = {
    resourceType: 'Patient',
    id: 'p',
    name: [{ family: 'Lovelace' }],
    gender: 'female',
  };
  expect(inUsCore(person).identifier).toEqual([
    { system: 'urn:medical-exchange:patient', value: 'p' },
  ]);
  expect(
    inUsCore({ ...person, identifier: [{ value: '7' }] }).identifier,
  ).toEqual([{ value: '7', _system: unknownElement }]);
});

test('a practitioner with a malformed NPI claims no profile', () => {
  const practitioner = (npi: string) => ({
    resourceType: 'Practitioner',
    name: [{ family: 'Blackwell' }],
    identifier: [{ system: 'http://hl7.org/fhir/sid/us-npi', value: npi }],
  });
  expect(claimsOf(practitioner('1234567893'))).toEqual(
    both('us-core-practitioner'),
  );
  expect(claimsOf(practitioner('1234567890'))).toEqual([]);
});

test('a generated Provenance claims US Core, and its agents are found inside it', () => {
  const origin = {
    sourceId: 'x',
    fileName: 'f',
    collectedAt: new Date(0),
    isConverted: false,
  };
  const provenance = provenanceOf(
    {
      id: 'o',
      resourceType: 'Observation',
      origins: [
        { ...origin, source: 'hie' },
        { ...origin, source: 'lab' },
      ],
    },
    'p',
  );
  expect(claimsOf(provenance)).toEqual(both('us-core-provenance'));
  // It says so itself, and is not examined when it is given out.
  expect(inUsCore(provenance)).toEqual(provenance);
  expect(JSON.stringify(inUsCore(provenance))).toBe(JSON.stringify(provenance));
  expect(claimsOf(without(provenance, 'contained'))).toEqual([]);
});

test.each([
  ['an element that R4 does not know', { comment: 'x' }],
  ['a code that R4 does not know', { status: 'done' }],
  ['an element in another form', { code: [{ text: 'Glucose' }] }],
  ['a list in which R4 has one', { subject: [{ reference: 'Patient/p' }] }],
  ['a text in which R4 has a number', { valueQuantity: { value: '5' } }],
  [
    'two categories of which the profile allows one',
    { category: [glucose.category, glucose.category].flat() },
  ],
])('a result with %s claims nothing', (_, change) => {
  expect(claimsOf({ ...glucose, ...change })).toEqual([]);
});

test('a range in units of another system claims 6.1.0 only', () => {
  const referenceRange = [{ low: { value: 1, system: 'urn:local' } }];
  expect(claimsOf({ ...glucose, referenceRange })).toEqual([
    both('us-core-observation-lab')[1],
  ]);
});

test('every requirement has words, so that each defect can be reported in plain words', () => {
  const requirements = ALL_PROFILES.flatMap(({ requires, bounds }) => [
    ...requires,
    ...bounds,
  ]);
  const unnamed = requirements
    .map(({ element }) => element)
    .filter((element) => !Object.hasOwn(ELEMENT_WORDS, element));
  expect(unnamed).toEqual([]);
  expect(
    ALL_PROFILES.filter(({ type }) => !Object.hasOwn(TYPE_WORDS, type)),
  ).toEqual([]);
});

test('a report counts what conforms, what was left out and by whom', () => {
  const count = new ConformanceCount();
  count.add(glucose, 'lab');
  count.add(without(glucose, 'valueQuantity'), 'lab');
  count.add(without(glucose, 'valueQuantity'), 'hie');
  count.add({ ...glucose, effectiveDateTime: '2024' }, 'hie');
  count.add({ resourceType: 'SupplyDelivery' }, 'hie');
  expect(count.report('p')).toEqual({
    patientId: 'p',
    resources: 5,
    claiming: 3,
    summary:
      '3 of 5 entries meet the US standard for health records (US Core); in 3 entries a source left something out, or wrote it in another form.',
    profiles: both('us-core-observation-lab')
      .sort()
      .map((profile) => ({ profile, resources: 3 })),
    defects: [
      {
        resourceType: 'Observation',
        profile: 'us-core-observation-lab',
        element: 'value[x]',
        handling: 'stated-as-unknown',
        resources: 2,
        sources: ['hie', 'lab'],
        text: '2 results or measurements without a value or a reason for its absence; the record says that it is unknown.',
      },
      {
        resourceType: 'Observation',
        profile: 'us-core-observation-lab',
        element: 'effectiveDateTime',
        handling: 'profile-not-claimed',
        resources: 1,
        sources: ['hie'],
        text: '1 result or measurement without a time that is exact to the day; it does not claim us-core-observation-lab.',
      },
    ],
    withoutProfile: [{ resourceType: 'SupplyDelivery', resources: 1 }],
  });
});

const records = samples.map(
  (sample) =>
    mergeDeliveries(
      personOf(sample),
      deliveriesOf(sample),
      patientIdsOf(sample),
    ).resources,
);

test('in each sample record, every reference points to a resource of the record', () => {
  for (const resources of records) {
    const names = new Set(
      resources.map(
        ({ resourceType, id }) => `${String(resourceType)}/${String(id)}`,
      ),
    );
    const dangling = referencesIn(resources).filter(
      (each) => !each.startsWith('#') && !names.has(each),
    );
    expect(dangling).toEqual([]);
  }
});

/** Whether everything in `before` is in `after`, at the same place. */
function keeps(before: unknown, after: unknown): boolean {
  if (Array.isArray(before))
    return (
      Array.isArray(after) &&
      before.every((item, index) => keeps(item, after[index]))
    );
  if (!isJson(before)) return before === after;
  return (
    isJson(after) &&
    Object.entries(before).every(([name, value]) => keeps(value, after[name]))
  );
}

property([
  fc.constantFrom(...records.flat()),
  fc.array(fc.nat(30), { maxLength: 6 }),
])(
  'whatever a source leaves out, nothing that it says is changed, and a second look finds the same',
  (resource, gaps) => {
    const left = Object.keys(resource).filter(
      (name) => !['resourceType', 'id', 'meta'].includes(name),
    );
    const cut = without(resource, ...gaps.flatMap((gap) => left[gap] ?? []));
    const { resource: given, claims } = examined(cut);
    expect(keeps(without(cut, 'meta'), given)).toBe(true);
    expect(examined(given)).toEqual({
      resource: given,
      claims,
      defects: examined(given).defects,
    });
    expect(examined(given).defects.every(({ isStated }) => !isStated)).toBe(
      true,
    );
  },
);
