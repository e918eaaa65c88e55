import { describe, expect, test } from 'vitest';
import { absencesIn } from '#record-summary/fhir';
import { convertDatedCcda } from '../../../src/exchange/records/conversion/ccda-conversion.ts';
import { fhirIssues } from '../../support/fhir-issues.ts';

const SNOMED = 'codeSystem="2.16.840.1.113883.6.96"';
const HEADER = `<?xml version="1.0"?><ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <id root="1.2.3"/><effectiveTime value="20240501"/><recordTarget><patientRole><id root="1.2.3" extension="7"/>
  <patient><name><given>Ann</given><family>Example</family></name><administrativeGenderCode code="F"/>
  <birthTime value="19700102"/></patient></patientRole></recordTarget>`;

const SECTIONS = {
  allergies: ['2.16.840.1.113883.10.20.22.2.6.1', '48765-2'],
  problems: ['2.16.840.1.113883.10.20.22.2.5.1', '11450-4'],
  medications: ['2.16.840.1.113883.10.20.22.2.1.1', '10160-0'],
  immunizations: ['2.16.840.1.113883.10.20.22.2.2.1', '11369-6'],
  procedures: ['2.16.840.1.113883.10.20.22.2.7.1', '47519-4'],
  results: ['2.16.840.1.113883.10.20.22.2.3.1', '30954-2'],
} as const;

function convert(
  name: keyof typeof SECTIONS,
  content: string,
  attributes = '',
) {
  const [template, code] = SECTIONS[name];
  const conversion = convertDatedCcda(
    Buffer.from(`${HEADER}<component><structuredBody><component><section ${attributes}><templateId root="${template}"/>
      <code code="${code}" codeSystem="2.16.840.1.113883.6.1"/><title>${name}</title>${content}
      </section></component></structuredBody></component></ClinicalDocument>`),
    { unit: 'u', patientId: 'p' },
  );
  if (conversion.kind !== 'converted')
    throw new Error(JSON.stringify(conversion));
  expect(conversion.resources.flatMap(fhirIssues)).toEqual([]);
  return conversion.resources as Record<string, never>[];
}
const statements = (resources: readonly object[]) =>
  resources
    .flatMap((resource) => absencesIn(resource as Record<string, unknown>))
    .map(({ text }) => text);
const codesIn = (resource: unknown): string[] =>
  [...JSON.stringify(resource ?? {}).matchAll(/"code":"([^"]+)"/g)].map(
    ([, code = '']) => code,
  );

const allergy = (
  value: string,
  substance: string,
  negation = 'negationInd="true"',
  act = '',
) =>
  `<entry><act classCode="ACT" moodCode="EVN" ${act}><templateId root="2.16.840.1.113883.10.20.22.4.30"/><id root="1.2.3" extension="a"/>
   <statusCode code="active"/><entryRelationship typeCode="SUBJ"><observation classCode="OBS" moodCode="EVN" ${negation}>
   <templateId root="2.16.840.1.113883.10.20.22.4.7"/><id root="1.2.3" extension="b"/><statusCode code="completed"/>
   <value xsi:type="CD" code="${value}" ${SNOMED} displayName="Type"/>
   <participant typeCode="CSM"><participantRole classCode="MANU"><playingEntity classCode="MMAT">${substance}</playingEntity></participantRole></participant>
   </observation></entryRelationship></act></entry>`;
const problem = (value: string, negation = 'negationInd="true"', more = '') =>
  `<entry><act classCode="ACT" moodCode="EVN"><templateId root="2.16.840.1.113883.10.20.22.4.3"/><id root="1.2.3" extension="c"/>
   <statusCode code="active"/><entryRelationship typeCode="SUBJ"><observation classCode="OBS" moodCode="EVN" ${negation}>
   <id root="1.2.3" extension="d"/><statusCode code="completed"/>${value}</observation></entryRelationship>${more}</act></entry>`;
const diabetes = `<value xsi:type="CD" code="73211009" ${SNOMED} displayName="Diabetes mellitus"/>`;
const drug = (code: string, negation: string, mood = 'EVN', time = '') =>
  `<entry><substanceAdministration classCode="SBADM" moodCode="${mood}" ${negation}><templateId root="2.16.840.1.113883.10.20.22.4.16"/>
   <id root="1.2.3" extension="e"/><statusCode code="active"/>${time}<consumable><manufacturedProduct><manufacturedMaterial>${code}
   </manufacturedMaterial></manufacturedProduct></consumable></substanceAdministration></entry>`;
const aspirin =
  '<code code="1191" codeSystem="2.16.840.1.113883.6.88" displayName="Aspirin"/>';

describe('what a C-CDA document says is not so', () => {
  test('about allergies becomes "none known" with the day of the document, or a refuted allergy', () => {
    const [none] = convert(
      'allergies',
      allergy('419199007', '<code nullFlavor="NA"/>'),
    );
    expect(none).toMatchObject({
      resourceType: 'AllergyIntolerance',
      recordedDate: '2024-05-01',
    });
    expect(statements([none ?? {}])).toEqual(['No known allergies']);
    expect(
      statements(
        convert('allergies', allergy('416098002', '<code nullFlavor="NA"/>')),
      ),
    ).toEqual(['No known drug allergies']);
    expect(
      statements(
        convert(
          'allergies',
          allergy('716186003', '<code nullFlavor="NA"/>', ''),
        ),
      ),
    ).toEqual(['No known allergies']);
    const latex = `<code code="111088007" ${SNOMED} displayName="Latex"/>`;
    const [refuted, ...others] = convert(
      'allergies',
      allergy('419199007', latex),
    );
    expect(others).toEqual([]);
    expect(codesIn(refuted?.verificationStatus)).toEqual(['refuted']);
    expect(codesIn(refuted?.code)).toEqual(['111088007']);
    expect(statements([refuted ?? {}])).toEqual([]);
  });

  test('about problems becomes "none", or a refuted problem', () => {
    const any = `<value xsi:type="CD" code="55607006" ${SNOMED} displayName="Problem"/>`;
    expect(statements(convert('problems', problem(any)))).toEqual([
      'No current problems or disability',
    ]);
    const [refuted, ...others] = convert('problems', problem(diabetes));
    expect(others).toEqual([]);
    expect(codesIn(refuted?.verificationStatus)).toEqual(['refuted']);
    // What is negated is not said.
    expect(
      statements(
        convert('problems', problem('<value xsi:type="CD" nullFlavor="UNK"/>')),
      ),
    ).toEqual(['No information on problems']);
  });

  test('about medications becomes "none known", "not taken" or "not to be given"', () => {
    const any = `<code nullFlavor="OTH"><translation code="410942007" ${SNOMED} displayName="drug or medication"/></code>`;
    const [none] = convert('medications', drug(any, 'negationInd="true"'));
    expect(none).toMatchObject({
      resourceType: 'MedicationStatement',
      dateAsserted: '2024-05-01',
    });
    expect(statements([none ?? {}])).toEqual(['No known medications']);
    expect(
      convert('medications', drug(aspirin, 'negationInd="true"')),
    ).toMatchObject([
      { resourceType: 'MedicationStatement', status: 'not-taken' },
    ]);
    expect(
      convert('medications', drug(aspirin, 'negationInd="true"', 'INT')),
    ).toMatchObject([
      { resourceType: 'MedicationRequest', doNotPerform: true },
    ]);
    expect(
      convert('medications', drug(aspirin, 'negationInd="false"')),
    ).toMatchObject([
      { resourceType: 'MedicationStatement', status: 'active' },
    ]);
  });

  test('about immunizations, procedures and results is not done, and a value that was not found', () => {
    const vaccine = drug(
      '<code code="88" codeSystem="2.16.840.1.113883.12.292"/>',
      'negationInd="true"',
      'EVN',
      '<effectiveTime value="20240501"/>',
    );
    expect(
      convert('immunizations', vaccine.replace('22.4.16', '22.4.52')),
    ).toMatchObject([{ resourceType: 'Immunization', status: 'not-done' }]);
    const procedure = `<entry><procedure classCode="PROC" moodCode="EVN" negationInd="true"><id root="1.2.3" extension="f"/>
      <code code="80146002" ${SNOMED} displayName="Appendectomy"/><statusCode code="completed"/></procedure></entry>`;
    expect(convert('procedures', procedure)).toMatchObject([
      { resourceType: 'Procedure', status: 'not-done' },
    ]);
    const observation = (value: string, negation: string, code = '600-7') =>
      `<observation classCode="OBS" moodCode="EVN" ${negation}><templateId root="2.16.840.1.113883.10.20.22.4.2"/><id root="1.2.3" extension="${code}"/>
       <code code="${code}" codeSystem="2.16.840.1.113883.6.1" displayName="Culture"/><statusCode code="completed"/>
       <effectiveTime value="20240501"/>${value}</observation>`;
    const found = `<value xsi:type="CD" code="3092008" ${SNOMED} displayName="Staphylococcus aureus"/>`;
    const [notFound] = convert(
      'results',
      `<entry>${observation(found, 'negationInd="true"')}</entry>`,
    );
    expect(notFound).toMatchObject({
      valueString: 'Not: Staphylococcus aureus',
    });
    expect(notFound).not.toHaveProperty('valueCodeableConcept');
    const panel = `<entry><organizer classCode="BATTERY" moodCode="EVN"><templateId root="2.16.840.1.113883.10.20.22.4.1"/><id root="1.2.3" extension="g"/>
      <code code="1-1" codeSystem="2.16.840.1.113883.6.1"/><statusCode code="completed"/>
      <component>${observation(found, 'negationInd="true"')}</component>
      <component>${observation('<value xsi:type="PQ" value="7" unit="g"/>', '', '718-7')}</component></organizer></entry>`;
    const values = convert('results', panel).map(
      ({ valueString, valueQuantity }) => valueString ?? valueQuantity,
    );
    expect(values.filter(Boolean)).toEqual([
      expect.objectContaining({ value: 7 }),
      'Not: Staphylococcus aureus',
    ]);
  });

  test('never comes out as a positive statement, whatever is negated', () => {
    const kinds = [
      'encounter',
      'observation',
      'procedure',
      'supply',
      'act',
    ] as const;
    for (const name of Object.keys(SECTIONS) as (keyof typeof SECTIONS)[]) {
      for (const kind of kinds) {
        const entry = `<entry><${kind} classCode="X" moodCode="EVN" negationInd="true"><templateId root="1.2"/><id root="1.2.3" extension="z"/>
          <code code="1" ${SNOMED} displayName="Thing"/><statusCode code="completed"/></${kind}></entry>`;
        for (const resource of convert(name, entry)) {
          expect(['not-done', 'final'], `${kind} in ${name}`).toContain(
            resource.status,
          );
          if (resource.status === 'final')
            expect(resource.dataAbsentReason).toBeDefined();
        }
      }
    }
  });
});

describe('a section of a C-CDA document without entries', () => {
  const emptyReason = (resources: readonly Record<string, never>[]) => {
    expect(resources).toHaveLength(1);
    expect(resources[0]).toMatchObject({
      resourceType: 'List',
      date: '2024-05-01',
    });
    return resources[0]?.emptyReason as unknown as { text?: string };
  };

  test('keeps what it says, in its own words when they can be quoted whole', () => {
    const words =
      "<text>There are no current allergies at the time of this document's creation.</text>";
    const ofWords = convert('allergies', words, 'nullFlavor="NI"');
    expect(emptyReason(ofWords).text).toMatch(
      /^There are no current allergies/,
    );
    // No information is not "none".
    expect(statements(ofWords)).toEqual(['The list of allergies is empty']);
    expect(
      statements(
        convert(
          'allergies',
          '<text><list><item>No known allergies.</item></list></text>',
        ),
      ),
    ).toEqual(['No known allergies']);
    const mixed =
      '<text>There are <content styleCode="Bold">no</content> known allergies</text>';
    expect(emptyReason(convert('allergies', mixed)).text).toBe(
      'There are no known allergies',
    );
    const long = `<text>${'The patient reports many things. '.repeat(20)}</text>`;
    const [list, ...texts] = convert('allergies', long);
    expect(emptyReason([list ?? {}]).text).toBe(
      'The section has free text only; see the document',
    );
    expect(texts).toMatchObject([
      { resourceType: 'DocumentReference', description: 'allergies' },
    ]);
  });

  test('is one, too, when its entries are null', () => {
    const entry = allergy(
      '419199007',
      '<code nullFlavor="NA"/>',
      '',
      'nullFlavor="NI"',
    );
    expect(
      statements(convert('allergies', `<text>Nothing recorded</text>${entry}`)),
    ).toEqual(['The list of allergies is empty']);
  });

  test('that says nothing at all states nothing', () => {
    expect(convert('allergies', '')).toEqual([]);
    expect(convert('results', '<text>None</text>', 'nullFlavor="NI"')).toEqual(
      [],
    );
  });
});

test('an allergy whose substance has a name and no code keeps it, and is not one to food', () => {
  const [named] = convert(
    'allergies',
    allergy('416098002', '<code nullFlavor="UNK"/><name>Penicillin</name>', ''),
  );
  // By its own kind, 416098002: an allergy to a drug.
  expect(named).toMatchObject({
    code: { text: 'Penicillin' },
    category: ['medication'],
  });
  expect(
    convert('allergies', allergy('91936005', '<code nullFlavor="UNK"/>', '')),
  ).toMatchObject([{ code: { text: 'Type' } }]);
});

test('a concern about two problems is two problems', () => {
  const second = `<entryRelationship typeCode="SUBJ"><observation classCode="OBS" moodCode="EVN"><id root="1.2.3" extension="h"/>
    <value xsi:type="CD" code="38341003" ${SNOMED} displayName="Hypertension"/></observation></entryRelationship>`;
  const resources = convert('problems', problem(diabetes, '', second));
  expect(resources.map(({ code }) => codesIn(code)[0])).toEqual([
    '73211009',
    '38341003',
  ]);
});

describe('a negated kind ("problem", "drug") whose words say something else', () => {
  const said = (code: string, name: string, words: string) =>
    `<value xsi:type="CD" code="${code}" ${SNOMED} displayName="${name}"><originalText>${words}</originalText></value>`;
  const anyDrug = (words: string) =>
    `<code code="410942007" ${SNOMED} displayName="drug or medication"><originalText>${words}</originalText></code>`;

  test.each([
    ['No known health problems', ['No current problems or disability']],
    ['Problem not documented', ['No information on problems']],
    ['No known discharge diagnosis', []],
    ['Patient has no chronic problems', []],
    ['Anemia', []],
  ])('is never more than they say of problems: %s', (words, expected) => {
    const [made, ...others] = convert(
      'problems',
      problem(said('64572001', 'Disease', words)),
    );
    expect(others).toEqual([]);
    expect(statements([made ?? {}])).toEqual(expected);
    expect(codesIn(made?.verificationStatus)).toEqual(
      words === 'Anemia' ? ['refuted'] : [],
    );
    if (expected.length === 0) expect(made?.code).toEqual({ text: words });
  });

  test.each([
    ['NKDA', ['NKDA']],
    ['Patient has no known allergies', []],
    ['Denies any allergy', ['Denies any allergy']],
  ])(
    'is never refuted by words that deny it themselves: %s',
    (words, expected) => {
      const [made] = convert(
        'allergies',
        allergy(
          '419199007',
          `<code nullFlavor="NA"><originalText>${words}</originalText></code>`,
        ),
      );
      expect(statements([made ?? {}])).toEqual(expected);
      expect(codesIn(made?.verificationStatus)).toEqual([]);
      if (expected.length === 0) expect(made?.code).toEqual({ text: words });
    },
  );

  test.each([
    ['Takes no medications', ['No known medications']],
    ['Medications excluded/not available', ['No information on medications']],
    ['No known discharge medications', []],
  ])('is never more than they say of drugs: %s', (words, expected) => {
    const [made] = convert(
      'medications',
      drug(anyDrug(words), 'negationInd="true"'),
    );
    expect(statements([made ?? {}])).toEqual(expected);
    expect(made?.status).toBe('unknown');
  });
});
