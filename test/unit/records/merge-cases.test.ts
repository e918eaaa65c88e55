import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { directions } from '#record-summary';
import { isJson, type Json, objectsOf } from '#record-summary/fhir';
import { valueWithUnit } from '../../../packages/record-summary/src/observation.ts';
import { withStatedOn } from '../../../src/exchange/records/rules/provenance.ts';
import {
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

// What several sources, or several documents of one source, say of one person,
// and what the record must then say: neither may two facts become one, nor may
// an earlier state of one stand beside its present state.

const [sample] = samples;
if (sample === undefined) throw new Error('the samples are gone');
const ids = patientIdsOf(sample);
const subjectAt = (source: string) => ({
  reference: `Patient/${[...(ids.get(source) ?? [])][0]}`,
});

type Fact = (source: string) => Json;
const fact =
  (resourceType: string, ...parts: object[]): Fact =>
  (source) =>
    Object.assign(
      {
        resourceType,
        [resourceType === 'AllergyIntolerance' ||
        resourceType === 'Immunization'
          ? 'patient'
          : 'subject']: subjectAt(source),
      },
      ...parts,
    );

/** As the source answers it; `updated` is its `meta.lastUpdated`. */
const fhir = (
  source: string,
  id: string,
  of: Fact,
  updated?: string,
): Delivered =>
  delivery(source, {
    ...of(source),
    id,
    ...(updated && { meta: { lastUpdated: updated } }),
  });
/** As a document of a day states it. */
const inDocument = (
  source: string,
  day: string,
  of: Fact,
  number = 1,
): Delivered => {
  const unit = day.replaceAll(/\D/g, '');
  const resource = { ...of(source), id: `ccda.${unit}.${number}` };
  return {
    ...delivery(source, withStatedOn(resource, day), `${unit}.xml`),
    isConverted: true,
  };
};

const LOINC = 'http://loinc.org';
const SNOMED = 'http://snomed.info/sct';
const RXNORM = 'http://www.nlm.nih.gov/research/umls/rxnorm';
const coded = (system: string, code: string) => ({
  coding: [{ system, code }],
});
const numbered = (value: string, system = 'urn:oid:1.2.3') => ({
  identifier: [{ system, value }],
});
const TERMS = 'http://terminology.hl7.org/CodeSystem';

const LISINOPRIL = { medicationCodeableConcept: coded(RXNORM, '314076') };
const dose = (value: number, unit = 'mg') => ({
  dosageInstruction: [{ doseAndRate: [{ doseQuantity: { value, unit } }] }],
});
const order = (...parts: object[]) =>
  fact(
    'MedicationRequest',
    { status: 'active', intent: 'order', authoredOn: '2022-01-01' },
    LISINOPRIL,
    ...parts,
  );
const problem = (state: string, ...parts: object[]) =>
  fact(
    'Condition',
    {
      clinicalStatus: coded(`${TERMS}/condition-clinical`, state),
      code: coded(SNOMED, '44054006'),
      onsetDateTime: '2020-02-03',
    },
    ...parts,
  );
const ofKind = (code: string, text: string, ...parts: object[]) =>
  allergy('active', { code: { ...coded(SNOMED, code), text } }, ...parts);
const unspecified = (text: string, state = 'active') =>
  problem(state, {
    code: { ...coded('http://hl7.org/fhir/sid/icd-10-cm', 'R69'), text },
    onsetDateTime: undefined,
  });
const kneeReplacement = (text: string) =>
  fact('Procedure', {
    status: 'completed',
    code: { ...coded('http://www.ama-assn.org/go/cpt', '27447'), text },
    performedDateTime: '2024-01-01',
  });
const vaccination = (occurrenceDateTime: string) =>
  fact('Immunization', {
    status: 'completed',
    vaccineCode: coded('http://hl7.org/fhir/sid/cvx', '141'),
    occurrenceDateTime,
  });
const report = (status: string, ...parts: object[]) =>
  fact(
    'DiagnosticReport',
    {
      status,
      code: coded(LOINC, '24323-8'),
      effectiveDateTime: '2024-05-01T10:00:00Z',
      result: [{ display: 'Glucose' }],
    },
    ...parts,
  );
const allergy = (state: string, ...parts: object[]) =>
  fact(
    'AllergyIntolerance',
    {
      clinicalStatus: coded(`${TERMS}/allergyintolerance-clinical`, state),
      code: coded(RXNORM, '7980'),
    },
    ...parts,
  );
const result = (value: number, ...parts: object[]) =>
  fact(
    'Observation',
    {
      status: 'final',
      code: coded(LOINC, '2345-7'),
      effectiveDateTime: '2024-05-01T10:00:00Z',
      valueQuantity: { value, unit: 'mg/dL' },
    },
    ...parts,
  );
const measured = (value: number, unit: string, code = '718-7') =>
  result(value, { code: coded(LOINC, code), valueQuantity: { value, unit } });
const both = (...codes: [system: string, code: string][]) => ({
  coding: codes.map(([system, code]) => ({ system, code })),
});
const NDC = 'http://hl7.org/fhir/sid/ndc';
const ICD = 'http://hl7.org/fhir/sid/icd-10-cm';
const taken = (doseQuantity: object, route: string, repeat: object) => ({
  dosageInstruction: [
    {
      doseAndRate: [{ doseQuantity }],
      route: { coding: [{ display: route }] },
      timing: { repeat },
    },
  ],
});
const every = (frequency: number, more: object = {}) => ({
  dosageInstruction: [
    { timing: { repeat: { frequency, period: 1, periodUnit: 'd' } }, ...more },
  ],
});
const verified = (type: string, code: string) => ({
  verificationStatus: coded(`${TERMS}/${type}`, code),
});
const inError = verified('condition-ver-status', 'entered-in-error');

/** What a reader sees of a resource: its status, value and directions. */
function shown(resource: Json): string {
  const {
    clinicalStatus,
    verificationStatus,
    status,
    dosageInstruction,
    dosage,
  } = resource;
  const codes = [clinicalStatus, verificationStatus].flatMap((concept) =>
    objectsOf(isJson(concept) ? concept.coding : undefined).map(
      ({ code }) => code,
    ),
  );
  const value = valueWithUnit(resource);
  return [
    ...(codes.length > 0 ? codes : [status]),
    value &&
      `${value.value} ${value.unit === 'mg/dL' ? value.unit : ''}`.trim(),
    directions(dosageInstruction ?? dosage),
  ]
    .filter(Boolean)
    .join(' ')
    .trim();
}
const recordOf = (deliveries: readonly Delivered[]) =>
  (
    mergeDeliveries(personOf(sample), deliveries, ids).resources.slice(
      1,
    ) as Json[]
  )
    .map(shown)
    .sort();

type Case = readonly [name: string, deliveries: Delivered[], record: string[]];
/** Two pressures, as a panel or each by itself. */
const PRESSURES = { systolic: '8480-6', diastolic: '8462-4' };
const pressure = (code: string, value: number) => ({
  code: coded(LOINC, code),
  valueQuantity: { value, unit: 'mm[Hg]' },
});
const pressureAlone = (code: string, value: number, ...parts: object[]) =>
  result(value, pressure(code, value), ...parts);
const pressurePanel = (systolic: number, diastolic: number) =>
  result(0, {
    code: coded(LOINC, '85354-9'),
    valueQuantity: undefined,
    component: [
      pressure(PRESSURES.systolic, systolic),
      pressure(PRESSURES.diastolic, diastolic),
    ],
  });
const stay = (status: string, ...parts: object[]) =>
  fact(
    'Encounter',
    {
      status,
      class: { system: `${TERMS}/v3-ActCode`, code: 'IMP' },
      period: { start: '2024-05-01T10:00:00Z' },
    },
    numbered('V1'),
    ...parts,
  );
const reacting = (
  ...reactions: (readonly [code: string, severity?: string])[]
) =>
  allergy('active', {
    reaction: reactions.map(([code, severity]) => ({
      manifestation: [coded(SNOMED, code)],
      severity,
    })),
  });
const HIVES = '126485001';

const ACROSS_SOURCES: readonly Case[] = [
  [
    'a drug of a document without an author, by the start of its use',
    [
      inDocument(
        'hie',
        '2024-03-01',
        order(every(1), {
          authoredOn: undefined,
          dosageInstruction: [
            {
              timing: {
                repeat: {
                  frequency: 1,
                  period: 1,
                  periodUnit: 'd',
                  boundsPeriod: { start: '2022-01-01' },
                },
              },
            },
          ],
        }),
      ),
      fhir('pharmacy', 'a', order(every(1))),
    ],
    ['active once a day'],
  ],
  [
    'a preliminary value and the final one, under one number',
    [
      fhir('hie', 'a', result(95, numbered('7'), { status: 'preliminary' })),
      fhir('lab', 'b', result(120, numbered('7'))),
    ],
    ['final 120 mg/dL'],
  ],
  [
    'a preliminary value that was issued after the final one stays',
    [
      fhir(
        'hie',
        'a',
        result(95, numbered('7'), {
          status: 'preliminary',
          issued: '2024-05-03T00:00:00Z',
        }),
      ),
      fhir(
        'lab',
        'b',
        result(120, numbered('7'), { issued: '2024-05-02T00:00:00Z' }),
      ),
    ],
    ['final 120 mg/dL', 'preliminary 95 mg/dL'],
  ],
  [
    'two final values under one number stay two',
    [
      fhir('hie', 'a', result(95, numbered('7'))),
      fhir('lab', 'b', result(120, numbered('7'))),
    ],
    ['final 120 mg/dL', 'final 95 mg/dL'],
  ],
  [
    'a registered result and the final one, under one number',
    [
      fhir(
        'hie',
        'a',
        result(0, numbered('7'), {
          status: 'registered',
          valueQuantity: undefined,
        }),
      ),
      fhir('lab', 'b', result(120, numbered('7'))),
    ],
    ['final 120 mg/dL'],
  ],
  [
    'a stay in progress and the finished one, under one number',
    [
      fhir('hie', 'a', stay('in-progress')),
      fhir(
        'lab',
        'b',
        stay('finished', {
          period: {
            start: '2024-05-01T10:00:00Z',
            end: '2024-05-03T10:00:00Z',
          },
        }),
      ),
    ],
    ['finished'],
  ],
  [
    'a drug that goes on and was stopped, under one number',
    [
      fhir('hie', 'a', order(numbered('7'), dose(10))),
      fhir(
        'pharmacy',
        'b',
        order(numbered('7'), dose(10), { status: 'stopped' }),
      ),
    ],
    ['stopped 10 mg'],
  ],
  [
    'another dose was stopped: two stay two',
    [
      fhir('hie', 'a', order(numbered('7'), dose(10))),
      fhir(
        'pharmacy',
        'b',
        order(numbered('7'), dose(20), { status: 'stopped' }),
      ),
    ],
    ['active 10 mg', 'stopped 20 mg'],
  ],
  [
    'it was changed after it was stopped elsewhere: two stay two',
    [
      fhir('hie', 'a', order(numbered('7')), '2024-04-01T00:00:00Z'),
      fhir(
        'pharmacy',
        'b',
        order(numbered('7'), { status: 'stopped' }),
        '2024-03-01T00:00:00Z',
      ),
    ],
    ['active', 'stopped'],
  ],
  [
    'a panel of blood pressure of a document and the two pressures by themselves',
    [
      inDocument('hie', '2024-06-01', pressurePanel(120, 80)),
      fhir('lab', 'a', pressureAlone(PRESSURES.systolic, 120)),
      fhir('lab', 'b', pressureAlone(PRESSURES.diastolic, 80)),
    ],
    ['final'],
  ],
  [
    'a panel and a pressure of another value or time stay',
    [
      fhir('hie', 'a', pressurePanel(120, 80)),
      fhir('lab', 'b', pressureAlone(PRESSURES.systolic, 130)),
      fhir(
        'lab',
        'c',
        pressureAlone(PRESSURES.diastolic, 80, {
          effectiveDateTime: '2024-05-01T16:00:00Z',
        }),
      ),
    ],
    ['final', 'final 130', 'final 80'],
  ],
  [
    'an allergy whose reaction has a severity at one source only',
    [
      inDocument(
        'hie',
        '2024-03-01',
        reacting([HIVES, 'severe'], ['271807003']),
      ),
      fhir('lab', 'a', reacting([HIVES])),
    ],
    ['active'],
  ],
  [
    'one reaction with two severities at two sources stays two',
    [
      fhir('hie', 'a', reacting([HIVES, 'severe'])),
      fhir('lab', 'b', reacting([HIVES, 'mild'])),
    ],
    ['active', 'active'],
  ],
  [
    'a procedure whose code has a translation in the same code system',
    [
      inDocument(
        'hie',
        '2024-03-01',
        fact('Procedure', {
          status: 'completed',
          performedDateTime: '2024-01-01',
          code: both([SNOMED, '234745004'], [SNOMED, '234754001']),
        }),
      ),
      fhir(
        'lab',
        'a',
        fact('Procedure', {
          status: 'completed',
          performedDateTime: '2024-01-01',
          code: coded(SNOMED, '234745004'),
        }),
      ),
    ],
    ['completed'],
  ],
];

test.each(ACROSS_SOURCES)(
  'of several sources: %s',
  (_, deliveries, expected) => {
    expect(recordOf(deliveries)).toEqual(expected);
    expect(recordOf(deliveries.toReversed())).toEqual(expected);
  },
);

const CASES: readonly Case[] = [
  [
    'an active drug of an old document, stopped in the new one',
    [
      inDocument('hie', '2023-05-01', order(numbered('7'))),
      inDocument(
        'hie',
        '2024-03-01',
        order(numbered('7'), { status: 'stopped' }),
      ),
    ],
    ['stopped'],
  ],
  [
    'a stopped drug of an old document that goes on in the new one',
    [
      inDocument(
        'hie',
        '2023-05-01',
        order(numbered('7'), { status: 'stopped' }),
      ),
      inDocument('hie', '2024-03-01', order(numbered('7'))),
    ],
    ['active'],
  ],
  [
    'another dose in the new document',
    [
      inDocument('hie', '2023-05-01', order(numbered('7'), dose(10))),
      inDocument('hie', '2024-03-01', order(numbered('7'), dose(20))),
    ],
    ['active 20 mg'],
  ],
  [
    'a drug that the new document dates otherwise',
    [
      inDocument('hie', '2023-05-01', order(numbered('7'))),
      inDocument(
        'hie',
        '2024-03-01',
        order(numbered('7'), { authoredOn: '2023-01-01' }),
      ),
    ],
    ['active'],
  ],
  [
    'the same in three documents, changed in the last one',
    [
      inDocument('hie', '2022-05-01', order(numbered('7'))),
      inDocument('hie', '2023-05-01', order(numbered('7'))),
      inDocument(
        'hie',
        '2024-03-01',
        order(numbered('7'), { status: 'stopped' }),
      ),
    ],
    ['stopped'],
  ],
  [
    'documents without numbers: the same drug and start, stopped in the new one',
    [
      inDocument('hie', '2023-05-01', order()),
      inDocument('hie', '2024-03-01', order({ status: 'stopped' })),
    ],
    ['stopped'],
  ],
  [
    'two entries with numbers of their own stay two',
    [
      inDocument('hie', '2023-05-01', order(numbered('7'))),
      inDocument(
        'hie',
        '2024-03-01',
        order(numbered('8'), { status: 'stopped' }),
      ),
    ],
    ['active', 'stopped'],
  ],
  [
    'documents of two sources stay two',
    [
      inDocument('hie', '2023-05-01', order(numbered('7'))),
      inDocument(
        'lab',
        '2024-03-01',
        order(numbered('7'), { status: 'stopped' }),
      ),
    ],
    ['active', 'stopped'],
  ],
  [
    'two documents of one day: it is not known which is newer',
    [
      inDocument('hie', '2024-03-01', order(numbered('7'))),
      inDocument(
        'hie',
        '2024-03-01T10:00:00Z',
        order(numbered('7'), { status: 'stopped' }),
      ),
    ],
    ['active', 'stopped'],
  ],
  [
    'a number that one document gives to two entries',
    [
      inDocument('hie', '2023-05-01', order(numbered('7'), dose(10))),
      inDocument('hie', '2023-05-01', order(numbered('7'), dose(20)), 2),
      inDocument('hie', '2024-03-01', order(numbered('7'), dose(40))),
    ],
    ['active 10 mg', 'active 20 mg', 'active 40 mg'],
  ],
  [
    'a number that the new document gives to two entries',
    [
      inDocument('hie', '2023-05-01', order(numbered('7'), dose(10))),
      inDocument('hie', '2024-03-01', order(numbered('7'), dose(20))),
      inDocument('hie', '2024-03-01', order(numbered('7'), dose(40)), 2),
    ],
    ['active 10 mg', 'active 20 mg', 'active 40 mg'],
  ],
  [
    'one number on two drugs',
    [
      inDocument('hie', '2023-05-01', order(numbered('7'))),
      inDocument(
        'hie',
        '2024-03-01',
        order(numbered('7'), {
          status: 'stopped',
          medicationCodeableConcept: coded(RXNORM, '1'),
        }),
      ),
    ],
    ['active', 'stopped'],
  ],
  [
    'a drug that the source has stopped, and its older document',
    [
      fhir(
        'hie',
        'm',
        order(numbered('7'), { status: 'stopped' }),
        '2024-01-01T00:00:00Z',
      ),
      inDocument('hie', '2023-05-01', order(numbered('7'))),
    ],
    ['stopped'],
  ],
  [
    'the same without numbers: drug and time agree',
    [
      fhir('hie', 'm', order({ status: 'stopped' }), '2024-01-01T00:00:00Z'),
      inDocument('hie', '2023-05-01', order()),
    ],
    ['stopped'],
  ],
  [
    'a document newer than the last change at its source: in doubt two',
    [
      fhir('hie', 'm', order(numbered('7')), '2022-01-01T00:00:00Z'),
      inDocument(
        'hie',
        '2023-05-01',
        order(numbered('7'), { status: 'stopped' }),
      ),
    ],
    ['active', 'stopped'],
  ],
  [
    'two orders of one day, and the older document with the second one',
    [
      fhir('hie', 'm', order(dose(10))),
      fhir('hie', 'n', order(dose(20))),
      inDocument('hie', '2023-05-01', order(dose(20))),
    ],
    ['active 10 mg', 'active 20 mg'],
  ],
  [
    'two orders of one day, and a document with a third dose: it is not known which of them it was',
    [
      fhir('hie', 'm', order(dose(10))),
      fhir('hie', 'n', order(dose(20))),
      inDocument('hie', '2023-05-01', order(dose(40))),
    ],
    ['active 10 mg', 'active 20 mg', 'active 40 mg'],
  ],
  [
    'a problem resolved in the new document',
    [
      inDocument('hie', '2023-05-01', problem('active', numbered('7'))),
      inDocument(
        'hie',
        '2024-03-01',
        problem('resolved', numbered('7'), { abatementDateTime: '2024-02-01' }),
      ),
    ],
    ['resolved'],
  ],
  [
    'a problem that another source has resolved stays two',
    [
      fhir('hie', 'p', problem('active')),
      fhir('lab', 'p', problem('resolved')),
    ],
    ['active', 'resolved'],
  ],
  [
    'a problem with another onset in the new document',
    [
      inDocument('hie', '2023-05-01', problem('active', numbered('7'))),
      inDocument(
        'hie',
        '2024-03-01',
        problem('active', numbered('7'), { onsetDateTime: '2019-01-01' }),
      ),
    ],
    ['active'],
  ],
  [
    'an allergy refuted in the new document',
    [
      inDocument('hie', '2023-05-01', allergy('active', numbered('7'))),
      inDocument(
        'hie',
        '2024-03-01',
        fact(
          'AllergyIntolerance',
          { code: coded(RXNORM, '7980') },
          numbered('7'),
          verified('allergyintolerance-verification', 'refuted'),
        ),
      ),
    ],
    ['refuted'],
  ],
  [
    'an allergy that another source has refuted stays two',
    [
      fhir('hie', 'a', allergy('active')),
      fhir(
        'lab',
        'a',
        fact(
          'AllergyIntolerance',
          { code: coded(RXNORM, '7980') },
          verified('allergyintolerance-verification', 'refuted'),
        ),
      ),
    ],
    ['active', 'refuted'],
  ],
  [
    'an allergy with more reactions in the new document',
    [
      inDocument(
        'hie',
        '2023-05-01',
        allergy('active', numbered('7'), { criticality: 'low' }),
      ),
      inDocument(
        'hie',
        '2024-03-01',
        allergy('active', numbered('7'), { criticality: 'high' }),
      ),
    ],
    ['active'],
  ],
  [
    'a result corrected in the new document under its number',
    [
      inDocument('hie', '2023-05-01', result(95, numbered('9'))),
      inDocument('hie', '2024-06-01', result(59, numbered('9'))),
    ],
    ['final 59 mg/dL'],
  ],
  [
    'a result that its source marks as corrected under the same number',
    [
      fhir('lab', 'r1', result(95, numbered('9'))),
      fhir('lab', 'r2', result(59, numbered('9'), { status: 'corrected' })),
    ],
    ['corrected 59 mg/dL'],
  ],
  [
    'a corrected result, and the first value at another source under the same number',
    [
      fhir('hie', 'r1', result(4.1, numbered('9')), '2025-01-01T00:00:00Z'),
      fhir(
        'lab',
        'r2',
        result(4.5, numbered('9'), { status: 'corrected' }),
        '2024-05-02T00:00:00Z',
      ),
    ],
    ['corrected 4.5 mg/dL'],
  ],
  [
    'a result issued again with another value under the same number',
    [
      fhir(
        'lab',
        'r1',
        result(4.1, numbered('9'), { issued: '2024-05-01T11:00:00Z' }),
      ),
      fhir(
        'lab',
        'r2',
        result(4.5, numbered('9'), { issued: '2024-05-01T15:00:00Z' }),
      ),
    ],
    ['final 4.5 mg/dL'],
  ],
  [
    'a final result after a preliminary one with another value',
    [
      fhir('lab', 'r1', result(4.1, numbered('9'), { status: 'preliminary' })),
      fhir('lab', 'r2', result(4.5, numbered('9'))),
    ],
    ['final 4.5 mg/dL'],
  ],
  [
    'two results under one number, of which nothing says that one is the correction',
    [
      fhir('lab', 'r1', result(4.1, numbered('9'))),
      fhir('lab', 'r2', result(4.5, numbered('9'))),
    ],
    ['final 4.1 mg/dL', 'final 4.5 mg/dL'],
  ],
  [
    'a corrected result of another time under the same number',
    [
      fhir('lab', 'r1', result(95, numbered('9'))),
      fhir(
        'lab',
        'r2',
        result(59, numbered('9'), {
          status: 'corrected',
          effectiveDateTime: '2024-05-02T10:00:00Z',
        }),
      ),
    ],
    ['corrected 59 mg/dL', 'final 95 mg/dL'],
  ],
  [
    'a corrected result without a number',
    [
      fhir('lab', 'r1', result(95)),
      fhir('lab', 'r2', result(59, { status: 'corrected' })),
    ],
    ['corrected 59 mg/dL', 'final 95 mg/dL'],
  ],
  [
    'results of one order whose number they carry',
    ['95', '59'].map((value, index) =>
      fhir(
        'lab',
        `r${index}`,
        result(Number(value), {
          status: index === 0 ? 'final' : 'corrected',
          identifier: [
            {
              type: { coding: [{ code: 'PLAC' }] },
              system: 'urn:o',
              value: '1',
            },
          ],
        }),
      ),
    ),
    ['corrected 59 mg/dL', 'final 95 mg/dL'],
  ],
  [
    'entered in error at the source, while its document still has it, by number',
    [
      fhir('hie', 'p', problem('active', numbered('7'), inError)),
      inDocument('hie', '2024-03-01', problem('active', numbered('7'))),
    ],
    ['active entered-in-error'],
  ],
  [
    'entered in error at the source, while its document still has it, by content',
    [
      fhir('hie', 'p', problem('active', inError)),
      inDocument('hie', '2024-03-01', problem('active')),
    ],
    ['active entered-in-error'],
  ],
  [
    'a result entered in error at the source, while its document still has it',
    [
      fhir('hie', 'r', result(95, { status: 'entered-in-error' })),
      inDocument('hie', '2024-06-01', result(95)),
    ],
    ['entered-in-error 95 mg/dL'],
  ],
  [
    'a result entered in error at the source, while its document has another value',
    [
      fhir('hie', 'r', result(95, { status: 'entered-in-error' })),
      inDocument('hie', '2024-06-01', result(59)),
    ],
    ['entered-in-error 95 mg/dL', 'final 59 mg/dL'],
  ],
  [
    'entered in error and entered anew at the source: its document has the valid one',
    [
      fhir('hie', 'p', problem('active', inError)),
      fhir('hie', 'q', problem('active')),
      inDocument('hie', '2024-03-01', problem('active')),
    ],
    ['active', 'active entered-in-error'],
  ],
  [
    'entered in error at one source, while the document of another has it',
    [
      fhir('hie', 'p', problem('active', numbered('7'), inError)),
      inDocument('lab', '2024-03-01', problem('active', numbered('7'))),
    ],
    ['active', 'active entered-in-error'],
  ],
  [
    'a drug that its source has stopped and a document of another one calls completed',
    [
      fhir('hie', 'm', order({ status: 'stopped' })),
      inDocument('lab', '2024-03-01', order({ status: 'completed' })),
    ],
    ['stopped'],
  ],
  [
    'a drug that the source has ordered and its document states as taken, with one dose: an order is no use',
    [
      fhir('hie', '1', order(dose(10))),
      inDocument(
        'hie',
        '2024-03-01',
        fact(
          'MedicationStatement',
          { status: 'active', effectivePeriod: { start: '2022-01-01' } },
          LISINOPRIL,
          {
            dosage: dose(10).dosageInstruction,
          },
        ),
      ),
    ],
    ['active 10 mg', 'active 10 mg'],
  ],
  [
    'a drug that is active in the old document and completed in the new one',
    [
      inDocument('hie', '2023-05-01', order()),
      inDocument('hie', '2024-03-01', order({ status: 'completed' })),
    ],
    ['completed'],
  ],
  // Units.
  ...[
    [
      'K/uL',
      '10*9/L',
      'x10E3/uL',
      'thou/mcL',
      '10*3/uL',
      '10^3/µL',
      'Thousand/uL',
    ],
    ['g/L', 'G/L', 'gm/L'],
    ['mm[Hg]', 'mmHg', 'mm Hg'],
    ['mcg/L', 'ug/L', 'ng/mL'],
    ['U/L', 'IU/L', 'units/L'],
  ].flatMap(([one = '', ...others]) =>
    others.map(
      (other): Case => [
        `one result in ${one} and ${other}`,
        [
          fhir('hie', 'r', measured(4.52, one)),
          fhir('lab', 'r', measured(4.52, other)),
        ],
        ['final 4.52'],
      ],
    ),
  ),
  [
    'g/L and mg/dL, with the number that belongs to each',
    [
      fhir('hie', 'r', measured(13.5, 'g/dL')),
      fhir('lab', 'r', measured(135, 'g/L')),
    ],
    ['final 13.5'],
  ],
  [
    'g/L and mg/dL with the same number',
    [
      fhir('hie', 'r', measured(135, 'ug/L')),
      fhir('lab', 'r', measured(135, 'g/L')),
    ],
    ['final 135', 'final 135'],
  ],
  [
    'mEq/L and mmol/L of sodium',
    [
      fhir('hie', 'r', measured(140, 'mEq/L', '2951-2')),
      fhir('lab', 'r', measured(140, 'mmol/L', '2951-2')),
    ],
    ['final 140'],
  ],
  [
    'mEq/L and mmol/L of calcium',
    [
      fhir('hie', 'r', measured(5, 'mEq/L', '17864-0')),
      fhir('lab', 'r', measured(5, 'mmol/L', '17864-0')),
    ],
    ['final 5', 'final 5'],
  ],
  [
    'a result that one source flags as normal and the other as high',
    [
      fhir(
        'hie',
        'r',
        result(95, { interpretation: [{ coding: [{ code: 'N' }] }] }),
      ),
      fhir(
        'lab',
        'r',
        result(95, { interpretation: [{ coding: [{ code: 'H' }] }] }),
      ),
    ],
    ['final 95 mg/dL', 'final 95 mg/dL'],
  ],
  [
    'a result that a document dates to the day',
    [
      fhir('lab', 'r', result(95)),
      inDocument(
        'hie',
        '2024-06-01',
        result(95, { effectiveDateTime: '2024-05-01' }),
      ),
    ],
    ['final 95 mg/dL'],
  ],
  [
    'a result in the evening, of which UTC has the next day',
    [
      fhir(
        'lab',
        'r',
        result(95, { effectiveDateTime: '2024-05-02T01:30:00Z' }),
      ),
      inDocument(
        'hie',
        '2024-06-01',
        result(95, { effectiveDateTime: '2024-05-01' }),
      ),
    ],
    ['final 95 mg/dL'],
  ],
  [
    'a result that a document dates to another day',
    [
      fhir('lab', 'r', result(95)),
      inDocument(
        'hie',
        '2024-06-01',
        result(95, { effectiveDateTime: '2024-05-03' }),
      ),
    ],
    ['final 95 mg/dL', 'final 95 mg/dL'],
  ],
  [
    'two results of one day',
    [
      fhir('lab', 'r', result(95)),
      fhir(
        'hie',
        'r',
        result(95, { effectiveDateTime: '2024-05-01T18:00:00Z' }),
      ),
    ],
    ['final 95 mg/dL', 'final 95 mg/dL'],
  ],
  // Codes.
  ...[
    ['0071-0155-23', '00071015523'],
    ['0071-0155-23', '00071-0155-23'],
    ['0071015523', '00071015523'],
    ['54868-423-1', '54868042301'],
  ].map(
    ([one = '', other = '']): Case => [
      `one drug as NDC ${one} and ${other}`,
      [one, other].map((code, index) =>
        fhir(
          index === 0 ? 'hie' : 'pharmacy',
          'm',
          order({ medicationCodeableConcept: coded(NDC, code) }),
        ),
      ),
      ['active'],
    ],
  ),
  [
    'two drugs with near NDCs',
    ['00071015523', '00071-0155-24'].map((code, index) =>
      fhir(
        index === 0 ? 'hie' : 'pharmacy',
        'm',
        order({ medicationCodeableConcept: coded(NDC, code) }),
      ),
    ),
    ['active', 'active'],
  ],
  [
    'a drug with RxNorm and NDC, and one with the NDC only',
    [
      fhir(
        'hie',
        'm',
        order({
          medicationCodeableConcept: both(
            [RXNORM, '314076'],
            [NDC, '0071-0155-23'],
          ),
        }),
      ),
      fhir(
        'pharmacy',
        'm',
        order({ medicationCodeableConcept: coded(NDC, '00071015523') }),
      ),
    ],
    ['active'],
  ],
  [
    'a problem with SNOMED CT and ICD-10, and one with the ICD-10 only',
    [
      fhir(
        'hie',
        'p',
        problem('active', { code: both([SNOMED, '44054006'], [ICD, 'E11.9']) }),
      ),
      fhir('lab', 'p', problem('active', { code: coded(ICD, 'E11.9') })),
    ],
    ['active'],
  ],
  [
    'two problems with one ICD-10 code and two SNOMED CT codes',
    [
      fhir(
        'hie',
        'p',
        problem('active', { code: both([SNOMED, '44054006'], [ICD, 'E11.9']) }),
      ),
      fhir(
        'lab',
        'p',
        problem('active', { code: both([SNOMED, '73211009'], [ICD, 'E11.9']) }),
      ),
    ],
    ['active', 'active'],
  ],
  // Directions.
  [
    'the directions of a document and of FHIR, in other words for the same',
    [
      fhir(
        'hie',
        'm',
        order(
          taken({ value: 2, unit: 'capsule' }, 'Oral route', {
            frequency: 1,
            period: 6,
            periodUnit: 'h',
          }),
        ),
      ),
      inDocument(
        'lab',
        '2024-03-01',
        order(
          taken({ value: 2, unit: '{capsule}', code: '{capsule}' }, 'ORAL', {
            frequency: 4,
            period: 1,
            periodUnit: 'd',
          }),
        ),
      ),
    ],
    ['active 2 capsule by mouth every 6 hours'],
  ],
  [
    '500 mg and 0.5 g',
    [
      fhir('hie', 'm', order(dose(500))),
      fhir('pharmacy', 'm', order(dose(0.5, 'g'))),
    ],
    ['active 500 mg'],
  ],
  [
    'another frequency',
    [fhir('hie', 'm', order(every(2))), fhir('pharmacy', 'm', order(every(3)))],
    ['active 3 times a day', 'active twice a day'],
  ],
  [
    'an order that one source dates to the day and the other to the minute',
    [
      fhir('pharmacy', 'm', order()),
      fhir('hie', 'm', order({ authoredOn: '2022-01-01T15:04:00Z' })),
    ],
    ['active'],
  ],
  [
    'two allergies of two sources, each coded as a drug allergy',
    [
      fhir('hie', 'a', ofKind('416098002', 'Penicillin')),
      fhir('lab', 'b', ofKind('416098002', 'Sulfa')),
    ],
    ['active', 'active'],
  ],
  [
    'two allergies of two documents, each coded as an allergy',
    [
      inDocument('hie', '2023-05-01', ofKind('419199007', 'Peanut')),
      inDocument(
        'hie',
        '2024-03-01',
        ofKind('419199007', 'Shellfish', { criticality: 'high' }),
      ),
    ],
    ['active', 'active'],
  ],
  [
    'one allergy of two sources, each coded as a food allergy',
    [
      fhir('hie', 'a', ofKind('414285001', 'Peanut')),
      fhir('lab', 'b', ofKind('414285001', 'PEANUT')),
    ],
    ['active'],
  ],
  [
    'two problems without a date, coded as unspecified',
    [
      fhir('hie', 'a', unspecified('Back pain')),
      inDocument('hie', '2024-03-01', unspecified('Asthma', 'resolved')),
    ],
    ['active', 'resolved'],
  ],
  [
    'an operation on either side, with one code',
    [
      fhir('hie', 'l', kneeReplacement('Left total knee replacement')),
      fhir('lab', 'r', kneeReplacement('Right total knee replacement')),
    ],
    ['completed', 'completed'],
  ],
  [
    'an operation of which one source does not name the side',
    [
      fhir('hie', 'l', kneeReplacement('Total knee replacement')),
      fhir('lab', 'r', kneeReplacement('Left total knee replacement')),
    ],
    ['completed'],
  ],
  [
    'a drug to be taken as needed for pain, and regularly',
    [
      fhir(
        'hie',
        'n',
        order(every(3, { asNeededCodeableConcept: { text: 'pain' } })),
      ),
      fhir('pharmacy', 'r', order(every(3))),
    ],
    ['active 3 times a day', 'active 3 times a day as needed for pain'],
  ],
  [
    'a result of the patient and one of a donor',
    [
      fhir('hie', 'p', result(95)),
      fhir('lab', 'd', result(95, { focus: [{ display: 'Donor' }] })),
    ],
    ['final 95 mg/dL', 'final 95 mg/dL'],
  ],
  [
    'a result that the laboratory has corrected, and the document of another source from before',
    [
      fhir('lab', 'r', result(120, numbered('9'), { status: 'corrected' })),
      inDocument('hie', '2024-06-01', result(95, numbered('9'))),
    ],
    ['corrected 120 mg/dL'],
  ],
  [
    'a vaccination of the evening, of which a document has only the day',
    [
      fhir('pharmacy', 'v', vaccination('2024-10-05T19:30:00-05:00')),
      inDocument('hie', '2024-12-01', vaccination('2024-10-05')),
    ],
    ['completed'],
  ],
  [
    'vaccinations of two days, the first in the evening',
    [
      fhir('pharmacy', 'v', vaccination('2024-10-05T19:30:00-05:00')),
      fhir('hie', 'w', vaccination('2024-10-06')),
    ],
    ['completed', 'completed'],
  ],
  [
    'a problem that began in the evening, of which a document has only the day',
    [
      fhir(
        'hie',
        'p',
        problem('active', { onsetDateTime: '2020-02-03T20:00:00-05:00' }),
      ),
      inDocument('lab', '2024-12-01', problem('active')),
    ],
    ['active'],
  ],
  [
    'a report that was partial and is now final',
    [
      fhir('lab', 'r', report('partial'), '2024-05-02T10:00:00Z'),
      fhir('hie', 's', report('final'), '2024-05-03T10:00:00Z'),
    ],
    ['final'],
  ],
  [
    'a final report to which the laboratory has appended',
    [
      fhir(
        'lab',
        'r',
        report('appended', numbered('9')),
        '2024-05-03T10:00:00Z',
      ),
      inDocument('hie', '2024-06-01', report('final', numbered('9'))),
    ],
    ['appended'],
  ],
  [
    'what belongs to another person',
    [
      fhir('hie', 'r', result(95)),
      fhir('lab', 'r', (source) => ({
        ...result(95)(source),
        subject: { reference: 'Patient/another' },
      })),
    ],
    ['final 95 mg/dL'],
  ],
  [
    'one result in FHIR, in a document and in a message',
    [
      fhir('lab', 'r', result(95, numbered('9'))),
      inDocument('hie', '2024-06-01', result(95)),
      fhir('lab', 'm-1', result(95, numbered('9'))),
    ],
    ['final 95 mg/dL'],
  ],
];

describe('of several statements the record says', () => {
  test.each(CASES)('%s', (_, deliveries, record) => {
    expect(recordOf(deliveries)).toEqual(record);
    expect(recordOf([...deliveries].reverse())).toEqual(record);
  });
});

describe('versions of statements', () => {
  const all = CASES.flatMap(([, deliveries]) => deliveries);
  const unique = [
    ...new Map(
      all.map((each) => [
        `${each.source} ${each.resourceType}/${each.sourceId}`,
        each,
      ]),
    ).values(),
  ];
  property(
    [
      fc.subarray(unique, { maxLength: 9 }),
      fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
    ],
    { numRuns: 100 },
  )(
    'in any mixture and order give one record, in which each delivery is once',
    (some, random) => {
      const shuffled = some
        .map((each) => ({ each, at: random.next().value as number }))
        .sort((left, right) => left.at - right.at)
        .map(({ each }) => each);
      expect(recordOf(shuffled)).toEqual(recordOf(some));
    },
  );
});
