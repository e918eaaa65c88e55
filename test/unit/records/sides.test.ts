import { describe, expect, test } from 'vitest';
import type { Json } from '#record-summary/fhir';
import {
  convertedSections,
  SNOMED,
  section,
  TEMPLATE,
} from '../../support/ccda-sections.ts';
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

// Two things of one code on two sides, or of two specimens, stay two.

const [sample] = samples;
if (sample === undefined) throw new Error('the samples are gone');
const ids = patientIdsOf(sample);

function merged(deliveries: readonly Delivered[], type: string): Json[] {
  const all = mergeDeliveries(personOf(sample as never), deliveries, ids);
  expect(all.excluded).toEqual([]);
  return all.resources.filter(({ resourceType }) => resourceType === type);
}
const of = (source: 'hie' | 'lab', id: string, resource: object): Delivered =>
  delivery(source, {
    id,
    subject: { reference: `Patient/${[...(ids.get(source) ?? [])][0]}` },
    ...resource,
  } as never);

const CPT = 'codeSystem="2.16.840.1.113883.6.12"';
const qualifier = (value: string, name = '272741003') =>
  `<qualifier>${name && `<name code="${name}" ${SNOMED}/>`}<value code="${value}" ${SNOMED}/></qualifier>`;
const LEFT = '7771000';
const RIGHT = '24028007';

const procedure = (code: string, more = '') =>
  `<entry><procedure classCode="PROC" moodCode="EVN"><templateId root="${TEMPLATE}4.14"/><id nullFlavor="UNK"/>
   ${code}<statusCode code="completed"/><effectiveTime value="20240301"/>${more}</procedure></entry>`;
const snomed = (inner: string) =>
  `<code code="52734007" ${SNOMED} displayName="Total replacement of hip">${inner}</code>`;
const cpt = (inner: string) =>
  `<code code="27130" ${CPT} displayName="Arthroplasty, hip">${inner}</code>`;
const site = (inner: string) =>
  `<targetSiteCode code="24136001" ${SNOMED} displayName="Hip joint structure">${inner}</targetSiteCode>`;

const hips = (...entries: string[]) =>
  convertedSections(section(`${TEMPLATE}2.7.1`, '47519-4', entries.join('')))
    .resources;
const ofDocument = (resources: readonly object[]): Delivered[] =>
  resources.map((resource) => ({
    ...of('hie', (resource as { id: string }).id, resource),
    isConverted: true,
    content: {
      ...resource,
      subject: { reference: `Patient/${[...(ids.get('hie') ?? [])][0]}` },
    },
  }));

describe('the side in a qualifier of C-CDA', () => {
  test('stands in the words, and as an expression beside the code', () => {
    const [made] = hips(procedure(snomed(qualifier(LEFT)), site('')));
    expect(made).toMatchObject({
      code: {
        text: 'Total replacement of hip, left',
        coding: [
          { code: '52734007' },
          {
            system: 'http://snomed.info/sct',
            code: '52734007:272741003=7771000',
          },
        ],
      },
    });
  });

  test.each([
    ['the code', (side: string) => procedure(snomed(qualifier(side)))],
    ['a code of CPT', (side: string) => procedure(cpt(qualifier(side)))],
    [
      'the site',
      (side: string) => procedure(snomed(''), site(qualifier(side))),
    ],
    [
      'the site, without an attribute',
      (side: string) => procedure(snomed(''), site(qualifier(side, ''))),
    ],
  ])('two hips that differ by %s are two procedures', (_, hip) => {
    const made = hips(hip(LEFT), hip(RIGHT));
    const procedures = merged(ofDocument(made), 'Procedure');
    expect(procedures).toHaveLength(2);
    const [one, other] = procedures.map((each) => JSON.stringify(each));
    expect(`${one}${other}`).toContain(', left');
    expect(`${one}${other}`).toContain(', right');
    expect(merged(ofDocument(hips(hip(LEFT), hip(LEFT))), 'Procedure')).toEqual(
      [expect.anything()],
    );
  });
});

describe('what two sources say with one code', () => {
  const hip = (text: string) => ({
    resourceType: 'Procedure',
    status: 'completed',
    code: { coding: [{ system: 'http://snomed.info/sct', code: '52734007' }] },
    performedDateTime: '2024-03-01',
    bodySite: [
      {
        coding: [{ system: 'http://snomed.info/sct', code: '24136001' }],
        text,
      },
    ],
  });
  const glucose = (text: string | undefined, more: object = {}) => ({
    resourceType: 'Observation',
    status: 'final',
    code: { coding: [{ system: 'urn:lab', code: 'GLU' }], text: 'Glucose' },
    effectiveDateTime: '2024-03-01T10:00:00Z',
    valueQuantity: { value: 94, unit: 'mg/dL' },
    ...(text && { specimen: { display: text } }),
    ...more,
  });
  const ofBoth = (one: object, other: object, type: string) =>
    merged([of('hie', 'a', one), of('lab', 'b', other)], type);

  test('of two sides stays two, also if one source says no side', () => {
    const [left, right, none] = ['Left hip', 'Right hip', 'Hip'].map(hip);
    expect(ofBoth(left ?? {}, right ?? {}, 'Procedure')).toHaveLength(2);
    expect(ofBoth(left ?? {}, left ?? {}, 'Procedure')).toHaveLength(1);
    const either = ofBoth(none ?? {}, left ?? {}, 'Procedure');
    expect(JSON.stringify(either)).toContain('Left hip');
  });

  test('is two, where the name of one says a side', () => {
    const lens = (text: string) => ({
      resourceType: 'Condition',
      code: {
        coding: [
          { system: 'http://hl7.org/fhir/sid/icd-10-cm', code: 'H26.9' },
        ],
        text,
      },
      onsetDateTime: '2024-03-01',
    });
    const names = ['Cataract', 'Cataract, left'].map(lens);
    for (const [one = {}, other = {}] of [names, names.toReversed()])
      expect(JSON.stringify(ofBoth(one, other, 'Condition'))).toContain('left');
  });

  test('of two specimens or by two methods stays two', () => {
    const by = (text: string) => glucose(undefined, { method: { text } });
    expect(
      ofBoth(glucose('CSF'), glucose('Blood'), 'Observation'),
    ).toHaveLength(2);
    expect(
      ofBoth(glucose('Urine specimen'), glucose('urine'), 'Observation'),
    ).toHaveLength(1);
    expect(ofBoth(by('Strip'), by('Hexokinase'), 'Observation')).toHaveLength(
      2,
    );
  });

  test('of two specimens is no correction of one by the other', () => {
    const numbered = (specimen: string, more: object) =>
      glucose(specimen, {
        identifier: [{ system: 'urn:order', value: '1' }],
        ...more,
      });
    const blood = numbered('Capillary blood', {
      issued: '2024-03-01T11:00:00Z',
    });
    const csf = numbered('CSF', {
      issued: '2024-03-01T12:00:00Z',
      valueQuantity: { value: 21, unit: 'mg/dL' },
    });
    expect(
      merged([of('lab', 'a', blood), of('lab', 'b', csf)], 'Observation'),
    ).toHaveLength(2);
  });
});
