import { describe, expect, test } from 'vitest';
import type { Json } from '#record-summary/fhir';
import { convertDatedCcda } from '../../../src/exchange/records/conversion/ccda-conversion.ts';
import { foldPatient } from '../../../src/exchange/records/rules/fold-patient.ts';
import { fhirJson } from '../../../src/lib/written-decimals.ts';
import {
  ccdaOf,
  convertedSections,
  LOINC,
  SNOMED,
  section,
  TEMPLATE,
} from '../../support/ccda-sections.ts';
import { personOf, samples } from '../../support/deliveries.ts';

// What documents of certified EHRs state and the guide's examples do not, as
// facts of our own (docs/ccda.md, "Measured").

const entry = (content: string) => `<entry>${content}</entry>`;
const part = (type: string, content: string) =>
  `<entryRelationship typeCode="${type}">${content}</entryRelationship>`;
const coded = (code: string, name: string) =>
  `<value xsi:type="CD" code="${code}" ${SNOMED} displayName="${name}"/>`;
const observation = (templates: string, content: string) =>
  `<observation classCode="OBS" moodCode="EVN">${templates}<code code="ASSERTION"/><statusCode code="completed"/>${content}</observation>`;
const template = (root: string) => `<templateId root="${TEMPLATE}${root}"/>`;
const concern = (root: string, content: string) =>
  entry(
    `<act classCode="ACT" moodCode="EVN">${template(root)}<statusCode code="active"/>${part('SUBJ', content)}</act>`,
  );
const made = (loinc: string, content: string): Json[] =>
  convertedSections(section('', loinc, content)).resources;

const FACTS: readonly (readonly [
  what: string,
  loinc: string,
  content: string,
  expected: object,
])[] = [
  [
    'a reaction under another relationship than MFST',
    '48765-2',
    concern(
      '4.30',
      observation(
        template('4.7'),
        `<participant typeCode="CSM"><participantRole><playingEntity><code code="7980" codeSystem="2.16.840.1.113883.6.88"/>
        <name>Penicillin</name></playingEntity></participantRole></participant>${part('SUBJ', observation(template('4.9'), coded('126485001', 'Hives')))}`,
      ),
    ),
    {
      code: { text: 'Penicillin' },
      reaction: [{ manifestation: [{ text: 'Hives' }] }],
    },
  ],
  [
    'the time of day of an end without an offset, and the age beside the date of onset',
    '11450-4',
    concern(
      '4.3',
      observation(
        template('4.4'),
        `<effectiveTime><low value="2001"/><high value="200706011226"/></effectiveTime>${coded('233604007', 'Pneumonia')}
        ${part('SUBJ', `<observation classCode="OBS" moodCode="EVN"><code code="445518008" ${SNOMED}/><value xsi:type="PQ" value="36.0" unit="a"/></observation>`)}`,
      ),
    ),
    {
      onsetDateTime: '2001',
      note: [{ text: 'Age at onset: 36 years' }],
      abatementDateTime: '2007-06-01',
      _abatementDateTime: {
        extension: [{ valuePeriod: { start: '2007-06-01T12:26:00+14:00' } }],
      },
    },
  ],
  [
    'a problem whose code only the referenced words name',
    '11450-4',
    `<text><content ID="p1">Fever of unknown origin</content></text>${concern('4.3', observation(template('4.4'), `<text><reference value="#p1"/></text><value xsi:type="CD" code="7520000" ${SNOMED}/>`))}`,
    {
      code: { coding: [{ code: '7520000' }], text: 'Fever of unknown origin' },
    },
  ],
  [
    'the refusal of a planned immunization',
    '11369-6',
    entry(`<substanceAdministration classCode="SBADM" moodCode="INT" negationInd="true">${template('4.52')}<statusCode code="completed"/>
      <consumable><manufacturedProduct><manufacturedMaterial><code code="166" codeSystem="2.16.840.1.113883.12.292" displayName="Influenza"/>
      </manufacturedMaterial></manufacturedProduct></consumable>${part('RSON', `<observation classCode="OBS" moodCode="EVN">${template('4.53')}<code code="PATOBJ" codeSystem="2.16.840.1.113883.5.8"/></observation>`)}</substanceAdministration>`),
    {
      resourceType: 'MedicationRequest',
      doNotPerform: true,
      statusReason: { coding: [{ code: 'PATOBJ' }] },
    },
  ],
  [
    'the day and place of a planned test',
    '18776-5',
    entry(`<observation classCode="OBS" moodCode="RQO"><code code="23426006" ${SNOMED} displayName="Spirometry"/>
      <effectiveTime><center value="20240421"/></effectiveTime>
      <participant typeCode="LOC"><participantRole><playingEntity><name>Good Clinic</name></playingEntity></participantRole></participant></observation>`),
    {
      occurrenceDateTime: '2024-04-21',
      locationReference: [{ display: 'Good Clinic' }],
    },
  ],
  [
    'the amount of a supply that is ordered without a name',
    '10160-0',
    entry(
      '<supply classCode="SPLY" moodCode="INT"><statusCode code="completed"/><quantity value="75"/></supply>',
    ),
    { resourceType: 'ServiceRequest', quantityQuantity: { value: 75 } },
  ],
  [
    'the day of a goal that is stated as the center of a time',
    '61146-7',
    entry(
      `<observation classCode="OBS" moodCode="GOL"><code code="410418004" ${SNOMED} displayName="Less stress"/><effectiveTime><center value="20240421"/></effectiveTime></observation>`,
    ),
    { startDate: '2024-04-21' },
  ],
  [
    'a relative of whom no illness is stated',
    '10157-6',
    entry(`<organizer classCode="CLUSTER" moodCode="EVN">${template('4.45')}<statusCode code="completed"/><subject><relatedSubject classCode="PRS">
      <code code="FTH" codeSystem="2.16.840.1.113883.5.111" displayName="father"/><subject><birthTime value="1910"/></subject></relatedSubject></subject></organizer>`),
    {
      resourceType: 'FamilyMemberHistory',
      relationship: { text: 'father' },
      bornDate: '1910',
    },
  ],
];

test.each(FACTS)('keeps %s', (_, loinc, content, expected) => {
  expect(made(loinc, content).at(-1)).toMatchObject(expected);
});

test('that a visit had no diagnosis is counted, and is no statement that there are no problems', () => {
  const diagnosis = observation('', coded('64572001', 'Disease')).replace(
    'moodCode="EVN"',
    'moodCode="EVN" negationInd="true"',
  );
  const visit = `<entry><encounter classCode="ENC" moodCode="EVN"><code code="99213" codeSystem="2.16.840.1.113883.6.12"/>${part('SUBJ', `<act classCode="ACT" moodCode="EVN">${template('4.80')}<code code="29308-4" ${LOINC}/>${part('SUBJ', diagnosis)}</act>`)}</encounter></entry>`;
  const { resources, leftOutEntries } = convertedSections(
    section('', '46240-8', visit),
  );
  expect(resources.map(({ resourceType }) => resourceType)).toEqual([
    'Encounter',
  ]);
  expect(leftOutEntries).toBe(1);
});

test('decimals stay as they are written: 5.00 is not 5, in values, ranges and doses', () => {
  const results = made(
    '30954-2',
    entry(`<observation classCode="OBS" moodCode="EVN"><code code="2823-3" ${LOINC} displayName="Potassium"/><statusCode code="completed"/>
      <value xsi:type="PQ" value="5.00" unit="mmol/L"/><referenceRange><observationRange><value xsi:type="IVL_PQ">
      <low value="3.50" unit="mmol/L"/><high value="05.1" unit="mmol/L"/></value></observationRange></referenceRange></observation>`),
  );
  const written = fhirJson(results);
  expect(written).toContain('"value":5.00,');
  expect(written).toContain('"value":3.50,');
  expect(written).toContain('"value":5.1,');
  const [drug] = made(
    '10160-0',
    entry(`<substanceAdministration classCode="SBADM" moodCode="EVN">${template('4.16')}<statusCode code="active"/><doseQuantity value="2.50" unit="1"/>
      <consumable><manufacturedProduct><manufacturedMaterial><code code="314076" codeSystem="2.16.840.1.113883.6.88" displayName="Lisinopril"/></manufacturedMaterial></manufacturedProduct></consumable></substanceAdministration>`),
  );
  expect(fhirJson(drug ?? {})).toContain('"doseQuantity":{"value":2.50}');
});

describe('the numbers of statements in words and in entries', () => {
  const drug = (name: string) =>
    entry(`<substanceAdministration classCode="SBADM" moodCode="EVN">${template('4.16')}<statusCode code="active"/><consumable><manufacturedProduct>
      <manufacturedMaterial><code nullFlavor="UNK"><originalText>${name}</originalText></code></manufacturedMaterial></manufacturedProduct></consumable></substanceAdministration>`);
  const row = (name: string) => `<tr><td>${name}</td></tr>`;
  const table = (...rows: string[]) =>
    `<table><thead><tr><th>Drug</th></tr></thead><tbody>${rows.join('')}</tbody></table>`;
  const uneven = (words: string, ...drugs: string[]) =>
    convertedSections(
      section(
        '',
        '10160-0',
        `<text>${words}</text>${drugs.map(drug).join('')}`,
      ),
    ).unevenSections;

  test('are said where they differ', () => {
    expect(uneven(table(row('A'), row('B')), 'A')).toEqual([
      'medications (2 in words, 1 as entries)',
    ]);
    expect(uneven('<list><item>A</item></list>', 'A', 'B')).toEqual([
      'medications (1 in words, 2 as entries)',
    ]);
  });

  test('are not compared where they agree, or where words are not listed once', () => {
    expect(
      uneven(table(row('A'), row('B'), '<tr><td/></tr>'), 'A', 'B'),
    ).toEqual([]);
    expect(uneven(`${table(row('A'))}${table(row('B'))}`, 'A')).toEqual([]);
    expect(uneven('A and B', 'A')).toEqual([]);
    expect(uneven(table(row('none')))).toEqual([]);
  });
});

describe('the person in the header of a document', () => {
  const header = (more: string) =>
    Buffer.from(
      ccdaOf()
        .toString()
        .replace('</patient>', `${more}</patient>`)
        .replace(
          '<patientRole>',
          '<patientRole><addr><city>Oldtown</city></addr>',
        ),
    );
  const MARRIED =
    '<maritalStatusCode code="M" codeSystem="2.16.840.1.113883.5.2" displayName="Married"/>';
  const race = (code: string, name: string) =>
    `<raceCode code="${code}" codeSystem="2.16.840.1.113883.6.238" displayName="${name}"/>`;
  const language =
    '<languageCommunication><languageCode code="es"/><preferenceInd value="true"/></languageCommunication>';
  const patientOf = (more: string): Json => {
    const conversion = convertDatedCcda(header(more), {
      unit: 'u',
      patientId: 'p',
    });
    if (conversion.kind !== 'converted') throw new Error(conversion.kind);
    return (
      conversion.resources.find(
        ({ resourceType }) => resourceType === 'Patient',
      ) ?? {}
    );
  };
  const [sample] = samples;
  if (sample === undefined) throw new Error('the samples are gone');
  const folded = (
    ...members: (readonly [source: string, content: Json])[]
  ): Json =>
    foldPatient(
      personOf(sample),
      members.map(([source, content]) => ({
        source,
        content,
        fileName: `${source}.xml`,
      })),
      () => undefined,
    );

  test('adds race, language and marital status to the record, and no address or name', () => {
    const stated = patientOf(`${MARRIED}${race('2106-3', 'White')}${language}`);
    expect(Object.keys(stated).sort()).toEqual([
      'communication',
      'extension',
      'id',
      'maritalStatus',
      'meta',
      'resourceType',
    ]);
    expect(folded(['hie', stated])).toMatchObject({
      maritalStatus: { text: 'Married' },
      communication: [
        { language: { coding: [{ code: 'es' }] }, preferred: true },
      ],
      extension: [
        {
          extension: [
            { valueCoding: { code: '2106-3' } },
            { valueString: 'White' },
          ],
        },
      ],
    });
    expect(patientOf('')).toEqual({});
  });

  test('never replaces what another source states: both stay, the other one with its source', () => {
    const native = {
      resourceType: 'Patient',
      id: '1',
      maritalStatus: { text: 'Divorced' },
      communication: [{ language: { coding: [{ code: 'en' }] } }],
    };
    const stated = patientOf(`${MARRIED}${race('2106-3', 'White')}${language}`);
    const other = patientOf(`${MARRIED}${race('2028-9', 'Asian')}`);
    const person = folded(
      ['lab', native],
      ['hie', stated],
      ['pharmacy', other],
    );
    expect(person.maritalStatus).toEqual({ text: 'Divorced' });
    expect(person.communication).toMatchObject([
      { language: { coding: [{ code: 'en' }] } },
      { language: { coding: [{ code: 'es' }] } },
    ]);
    const also = (person.extension as Json[]).filter(
      ({ url }) => url === 'urn:medical-exchange:also-stated',
    );
    expect(
      also.map(({ extension }) =>
        (extension as Json[]).map(
          ({ valueCode, valueString }) => valueCode ?? valueString,
        ),
      ),
    ).toEqual([
      ['maritalStatus', 'hie', 'Married'],
      ['maritalStatus', 'pharmacy', 'Married'],
      ['race', 'pharmacy', 'Asian'],
    ]);
    expect(
      folded(['hie', stated], ['lab', patientOf(MARRIED)]).extension,
    ).toHaveLength(1);
  });
});
