import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from '#record-summary/fhir';
import { provenanceOf } from '../../../src/exchange/records/rules/provenance.ts';
import {
  deliveriesOf,
  delivery,
  patientIdsOf,
  personOf,
  samples,
} from '../../support/deliveries.ts';
import { fhirIssues } from '../../support/fhir-issues.ts';
import {
  type Delivered,
  mergeDeliveries,
} from '../../support/merge-deliveries.ts';
import { property } from '../../support/property.ts';

type Resource = Record<string, unknown> & { resourceType: string; id: string };
const merged = (deliveries: readonly Delivered[], sample = samples[0]) => {
  if (sample === undefined) throw new Error('the samples are gone');
  return mergeDeliveries(personOf(sample), deliveries, patientIdsOf(sample))
    .resources as Resource[];
};

describe.each(samples.map((sample) => [sample.key, sample] as const))(
  'the record of %s',
  (_, sample) => {
    const whole = deliveriesOf(sample);
    const record = merged(whole, sample);

    property(
      [
        fc.shuffledSubarray(whole, { minLength: whole.length }),
        fc.subarray(whole),
      ],
      {
        // With six samples, and other orders in each run of the tests.
        numRuns: 1,
      },
    )(
      'is the same byte for byte, whatever the order and however many doubles',
      (shuffled, doubles) => {
        expect(canonicalJson(merged([...shuffled, ...doubles], sample))).toBe(
          canonicalJson(record),
        );
      },
    );

    test('holds what three sources tell of once, and nothing is lost', () => {
      const counts = (
        resources: readonly { resourceType: string }[],
        type: string,
      ) => resources.filter(({ resourceType }) => resourceType === type).length;
      const ofHie = whole.filter(({ source }) => source === 'hie');
      // Pharmacy and laboratory tell of nothing of these types that the
      // exchange network does not know.
      for (const type of [
        'Observation',
        'DiagnosticReport',
        'MedicationRequest',
        'Condition',
        'Encounter',
        'Procedure',
      ])
        expect([type, counts(record, type)]).toEqual([
          type,
          counts(ofHie, type),
        ]);
      expect(counts(record, 'MedicationDispense')).toBe(
        counts(whole, 'MedicationDispense'),
      );
      expect(record.length).toBeLessThan(whole.length);
    });

    test('refers to nothing that it does not hold', () => {
      const names = new Set(
        record.map(({ resourceType, id }) => `${resourceType}/${id}`),
      );
      for (const [, reference = ''] of JSON.stringify(record).matchAll(
        /"reference":"([^"]+)"/g,
      ))
        expect(names).toContain(reference);
    });

    test('is valid FHIR, as its deliveries are', () => {
      expect(record.flatMap(fhirIssues)).toEqual([]);
      expect(new Set(record.map(({ id }) => id)).size).toBe(record.length);
    });

    test('has of another person’s deliveries not one', () => {
      const stranger = samples.find(({ key }) => key !== sample.key) ?? sample;
      const theirs = deliveriesOf(stranger).filter(
        ({ resourceType }) =>
          ![
            'Organization',
            'Practitioner',
            'Location',
            'Medication',
            'Device',
          ].includes(resourceType),
      );
      const deliveries = [...whole, ...theirs];
      const { excluded, resources } = mergeDeliveries(
        personOf(sample),
        deliveries,
        patientIdsOf(sample),
      );
      expect(
        excluded.every(({ exclusion }) => exclusion === 'names-another'),
      ).toBe(true);
      expect(excluded).toHaveLength(theirs.length);
      expect(canonicalJson(resources)).toBe(canonicalJson(record));
    });
  },
);

describe('what is the same', () => {
  const sample = samples[0];
  const subject = {
    reference: `Patient/${sample === undefined ? '' : [...(patientIdsOf(sample).get('hie') ?? [])][0]}`,
  };
  const atLab = {
    reference: `Patient/${sample === undefined ? '' : [...(patientIdsOf(sample).get('lab') ?? [])][0]}`,
  };
  const loinc = (code: string) => ({
    coding: [{ system: 'http://loinc.org', code }],
  });
  const result = (id: string, rest: object = {}) =>
    delivery('hie', {
      resourceType: 'Observation',
      id,
      status: 'final',
      subject,
      code: loinc('718-7'),
      effectiveDateTime: '2024-05-01T10:00:00Z',
      valueQuantity: { value: 13.5, unit: 'g/dL' },
      ...rest,
    });
  const atLabToo = (rest: object) =>
    delivery('lab', {
      ...result('b').content,
      subject: atLab,
      ...rest,
      id: 'b',
      resourceType: 'Observation',
    });
  const others = (deliveries: Delivered[]) => merged(deliveries).slice(1);

  test.each<[string, number, Delivered[]]>([
    [
      'one instant written in two zones',
      1,
      [
        result('a'),
        result('b', { effectiveDateTime: '2024-05-01T05:00:00-05:00' }),
      ],
    ],
    [
      'one unit in two spellings',
      1,
      [result('a'), atLabToo({ valueQuantity: { value: 13.5, unit: 'G/DL' } })],
    ],
    [
      'another value',
      2,
      [
        result('a'),
        result('b', { valueQuantity: { value: 13.6, unit: 'g/dL' } }),
      ],
    ],
    [
      'another unit',
      2,
      [
        result('a'),
        result('b', { valueQuantity: { value: 13.5, unit: 'mmol/L' } }),
      ],
    ],
    [
      'another time',
      2,
      [result('a'), result('b', { effectiveDateTime: '2024-05-01T10:00:01Z' })],
    ],
    [
      'the other arm',
      2,
      [result('a'), result('b', { bodySite: { text: 'left arm' } })],
    ],
    [
      'one that was taken back',
      2,
      [result('a'), result('b', { status: 'entered-in-error' })],
    ],
    [
      'one order number, two analytes',
      2,
      [
        result('a', { identifier: [{ system: 'urn:o', value: '77' }] }),
        result('b', {
          identifier: [{ system: 'urn:o', value: '77' }],
          code: loinc('4544-3'),
        }),
      ],
    ],
    [
      'one order number, two values: a correction or a second one',
      2,
      [
        result('a', { identifier: [{ system: 'urn:o', value: '77' }] }),
        atLabToo({
          identifier: [{ system: 'urn:o', value: '77' }],
          valueQuantity: { value: 14, unit: 'g/dL' },
        }),
      ],
    ],
    [
      'a number that says nothing',
      2,
      [
        result('a', { identifier: [{ system: 'urn:o', value: 'unknown' }] }),
        result('b', {
          identifier: [{ system: 'urn:o', value: 'unknown' }],
          valueQuantity: { value: 14, unit: 'g/dL' },
        }),
      ],
    ],
    [
      'one coarse code, two fine ones',
      2,
      ['1', '2'].map((fine) =>
        delivery('hie', {
          resourceType: 'Condition',
          id: fine,
          subject,
          onsetDateTime: '2024-01-01',
          code: {
            coding: [
              { system: 'http://hl7.org/fhir/sid/icd-10-cm', code: 'R69' },
              { system: 'http://snomed.info/sct', code: fine },
            ],
          },
        }),
      ),
    ],
    [
      'no date: nothing to tell two results apart by',
      2,
      [
        result('a', { effectiveDateTime: undefined, note: [{ text: '1' }] }),
        result('b', { effectiveDateTime: undefined, note: [{ text: '2' }] }),
      ],
    ],
  ])('%s', (_, count, deliveries) => {
    expect(others(deliveries)).toHaveLength(count);
  });

  test('are statements that there is none of one day; of two days they are two', () => {
    const none = (source: string, patient: object, recordedDate: string) =>
      delivery(source, {
        resourceType: 'AllergyIntolerance',
        id: source,
        patient,
        code: {
          coding: [{ system: 'http://snomed.info/sct', code: '716186003' }],
        },
        recordedDate,
      });
    const day = '2024-03-07';
    expect(
      others([none('hie', subject, day), none('lab', atLab, day)]),
    ).toHaveLength(1);
    expect(
      others([none('hie', subject, day), none('lab', atLab, '2019-01-02')]),
    ).toHaveLength(2);
  });

  test('a report without a category gets that of another source, and none from the section of a document', () => {
    const lab = 'http://terminology.hl7.org/CodeSystem/v2-0074';
    const report = (source: string, rest: object = {}) =>
      delivery(source, {
        resourceType: 'DiagnosticReport',
        id: 'panel',
        status: 'final',
        subject: source === 'hie' ? subject : atLab,
        code: loinc('55757-9'),
        effectiveDateTime: '2024-05-01T10:00:00Z',
        ...rest,
      });
    const category = [{ coding: [{ system: lab, code: 'LAB' }] }];
    const converted = {
      ...report('hie', { id: 'from-document', category }),
      isConverted: true,
    };
    expect(others([report('hie'), converted])).toMatchObject([
      { resourceType: 'DiagnosticReport' },
    ]);
    expect(others([report('hie'), converted])[0]).not.toHaveProperty(
      'category',
    );
    expect(others([report('hie'), report('lab', { category })])).toMatchObject([
      { category },
    ]);
    expect(others([converted])).toMatchObject([{ category }]);
  });

  test('flagged as normal by one source and as high by another stays two; a missing flag is added', () => {
    const flagged = (source: 'hie' | 'lab', code?: string) =>
      delivery(source, {
        ...result('x').content,
        subject: source === 'lab' ? atLab : subject,
        id: source,
        ...(code && { interpretation: [{ coding: [{ code }] }] }),
      });
    expect(others([flagged('hie', 'N'), flagged('lab', 'H')])).toHaveLength(2);
    expect(others([flagged('hie', 'H'), flagged('lab', 'H')])).toHaveLength(1);
    expect(others([flagged('hie'), flagged('lab', 'H')])).toMatchObject([
      { interpretation: [{ coding: [{ code: 'H' }] }] },
    ]);
  });

  test('from two sources keeps what each knows; labels of both; the newer one’s word', () => {
    const label = {
      system: 'http://terminology.hl7.org/CodeSystem/v3-Confidentiality',
      code: 'R',
    };
    const older = result('a', {
      status: 'preliminary',
      identifier: [{ system: 'urn:o', value: '1' }],
      interpretation: [{ text: 'low' }],
      meta: { lastUpdated: '2024-05-01T10:00:00Z', security: [label] },
    });
    const newer = delivery('lab', {
      ...result('b').content,
      subject: atLab,
      id: 'b',
      identifier: [{ system: 'urn:l', value: '2' }],
      meta: { lastUpdated: '2024-05-02T10:00:00Z' },
    });
    const [both] = others([older, newer]);
    expect(both).toMatchObject({
      status: 'final',
      interpretation: [{ text: 'low' }],
      identifier: [{ value: '2' }, { value: '1' }],
      meta: {
        source: 'lab-page.json',
        security: [label],
        lastUpdated: '2024-05-02T10:00:00Z',
      },
    });
    const origin = {
      fileName: 'x',
      collectedAt: new Date(0),
      isConverted: false,
    };
    const provenance = provenanceOf(
      {
        ...both,
        resourceType: 'Observation',
        id: String(both?.id),
        origins: [
          {
            ...origin,
            source: 'lab',
            sourceId: 'b',
            fileName: 'lab-page.json',
          },
          { ...origin, source: 'hie', sourceId: 'a' },
        ],
      },
      'p',
    );
    expect(fhirIssues(provenance)).toEqual([]);
    expect(provenance).toMatchObject({
      meta: { source: 'lab-page.json' },
      agent: [{ who: { display: 'hie' } }, { who: { display: 'lab' } }],
      entity: [{}, {}],
    });
  });

  test('what was not delivered is referred to by its name at the source; nobody else is named', () => {
    const [observation] = others([
      result('a', {
        performer: [
          { reference: 'Practitioner/9', display: 'Dr. A' },
          { reference: 'Practitioner?identifier=urn:npi|123' },
          { reference: 'https://elsewhere.example/Practitioner/1' },
          { reference: 'Patient/somebody', display: 'Her Mother' },
          { reference: '#c' },
        ],
        contained: [
          { resourceType: 'Practitioner', id: 'c', name: [{ family: 'C' }] },
        ],
      }),
    ]);
    expect(observation).toMatchObject({
      performer: [
        {
          type: 'Practitioner',
          display: 'Dr. A',
          identifier: {
            system: 'urn:medical-exchange:source:hie',
            value: 'Practitioner/9',
          },
        },
        {
          type: 'Practitioner',
          identifier: { system: 'urn:npi', value: '123' },
        },
        {
          identifier: {
            system: 'urn:ietf:rfc:3986',
            value: 'https://elsewhere.example/Practitioner/1',
          },
        },
        { type: 'Patient', display: 'Another person' },
        { reference: '#c' },
      ],
      contained: [{ id: 'c' }],
    });
    expect(JSON.stringify(observation)).not.toContain('Mother');
  });

  test.each([
    [
      'a type that no record holds',
      { resourceType: 'Parameters', id: 'x' },
      'type',
    ],
    [
      'a result of nobody',
      { resourceType: 'Observation', id: 'x', code: loinc('1') },
      'names-nobody',
    ],
    [
      'a result of nothing',
      { resourceType: 'Observation', id: 'x', subject },
      'incomplete',
    ],
    [
      'a result of somebody else',
      {
        resourceType: 'Observation',
        id: 'x',
        code: loinc('1'),
        subject: { reference: 'Patient/other' },
      },
      'names-another',
    ],
    [
      'a result of somebody else at another address',
      {
        resourceType: 'Observation',
        id: 'x',
        code: loinc('1'),
        subject: {
          reference: `https://elsewhere.example/${subject.reference}`,
        },
      },
      'names-another',
    ],
  ])('%s is excluded and counted', (_, resource, exclusion) => {
    if (sample === undefined) throw new Error('the samples are gone');
    const { resources, excluded } = mergeDeliveries(
      personOf(sample),
      [delivery('hie', resource)],
      patientIdsOf(sample),
    );
    expect(excluded).toMatchObject([{ exclusion }]);
    expect(resources).toHaveLength(1);
  });

  property(
    [
      fc.dictionary(
        fc.constantFrom(
          'code',
          'status',
          'valueQuantity',
          'effectiveDateTime',
          'identifier',
          'meta',
          'component',
          'performer',
          'category',
        ),
        fc.jsonValue({ maxDepth: 4 }),
      ),
    ],
    { numRuns: 100 },
  )('any shape is merged or excluded, and merging goes on', (odd) => {
    const record = merged([
      result('a'),
      delivery('hie', {
        ...odd,
        resourceType: 'Observation',
        id: 'b',
        subject,
      }),
    ]);
    expect(record.length).toBeGreaterThanOrEqual(2);
  });
});
