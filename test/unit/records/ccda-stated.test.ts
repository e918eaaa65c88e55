import { describe, expect, test } from 'vitest';
import { isAdvanceDirective } from '../../../packages/record-summary/src/observation.ts';
import {
  convertedSections,
  LOINC,
  SNOMED,
  section,
  TEMPLATE,
} from '../../support/ccda-sections.ts';

const PLACES = {
  allergies: [`${TEMPLATE}2.6.1`, '48765-2'],
  problems: [`${TEMPLATE}2.5.1`, '11450-4'],
  medications: [`${TEMPLATE}2.1.1`, '10160-0'],
  immunizations: [`${TEMPLATE}2.2.1`, '11369-6'],
  procedures: [`${TEMPLATE}2.7.1`, '47519-4'],
  plan: [`${TEMPLATE}2.10`, '18776-5'],
  results: [`${TEMPLATE}2.3.1`, '30954-2'],
  encounters: [`${TEMPLATE}2.22.1`, '46240-8'],
  family: [`${TEMPLATE}2.15`, '10157-6'],
  concerns: [`${TEMPLATE}2.58`, '75310-3'],
} as const;
type Place = keyof typeof PLACES;

const convert = (place: Place, ...entries: string[]) =>
  convertedSections(
    section(
      PLACES[place][0],
      PLACES[place][1],
      entries.map((entry) => `<entry>${entry}</entry>`).join(''),
    ),
  );
const codesIn = (concept: unknown): string[] =>
  [...JSON.stringify(concept ?? {}).matchAll(/"code":"([^"]+)"/g)].map(
    ([, code = '']) => code,
  );

const MI = `<value xsi:type="CD" code="22298006" ${SNOMED} displayName="Myocardial infarction"/>`;
const hemoglobin = (value: string, more = '', attributes = 'moodCode="EVN"') =>
  `<observation classCode="OBS" ${attributes}><templateId root="${TEMPLATE}4.2"/><id root="1.2.3" extension="o"/>
   <code code="718-7" ${LOINC} displayName="Hemoglobin"/>${more.includes('statusCode') ? '' : '<statusCode code="completed"/>'}
   ${more.includes('effectiveTime') ? '' : '<effectiveTime value="20240501"/>'}${value}${more}</observation>`;
const quantity = (value: string) =>
  `<value xsi:type="PQ" value="${value}" unit="g/dL"/>`;
const status = (value: string) =>
  `<entryRelationship typeCode="REFR"><observation classCode="OBS" moodCode="EVN"><code code="33999-4" ${LOINC}/>
   <statusCode code="completed"/><value xsi:type="CD" code="${value}" ${SNOMED}/></observation></entryRelationship>`;
const problem = (concern: string, more = '', value = MI) =>
  `<act classCode="ACT" moodCode="EVN"><templateId root="${TEMPLATE}4.3"/><id root="1.2.3" extension="c"/><statusCode code="${concern}"/>
   <entryRelationship typeCode="SUBJ"><observation classCode="OBS" moodCode="EVN"><templateId root="${TEMPLATE}4.4"/>
   <id root="1.2.3" extension="d"/><statusCode code="completed"/>${value}${more}</observation></entryRelationship></act>`;
const PENICILLIN =
  '<code code="7980" displayName="Penicillin" codeSystem="2.16.840.1.113883.6.88"/>';
const allergy = (concern: string, more = '', substance = PENICILLIN) =>
  `<act classCode="ACT" moodCode="EVN"><templateId root="${TEMPLATE}4.30"/><id root="1.2.3" extension="a"/><statusCode code="${concern}"/>
   <entryRelationship typeCode="SUBJ"><observation classCode="OBS" moodCode="EVN"><templateId root="${TEMPLATE}4.7"/>
   <id root="1.2.3" extension="b"/><statusCode code="completed"/><value xsi:type="CD" code="419511003" ${SNOMED} displayName="Drug allergy"/>
   <participant typeCode="CSM"><participantRole><playingEntity>${substance}</playingEntity></participantRole></participant>${more}
   </observation></entryRelationship></act>`;
const drug = (
  state: string,
  mood = 'EVN',
  more = '',
  product = '<code code="1191" codeSystem="2.16.840.1.113883.6.88" displayName="Aspirin"/>',
) =>
  `<substanceAdministration classCode="SBADM" moodCode="${mood}"><templateId root="${TEMPLATE}4.16"/><id root="1.2.3" extension="e"/>
   <statusCode code="${state}"/>${more}<consumable><manufacturedProduct><manufacturedMaterial>${product}</manufacturedMaterial>
   </manufacturedProduct></consumable></substanceAdministration>`;
const done = (kind: string, state: string, mood: string, more = '') =>
  `<${kind} classCode="X" moodCode="${mood}"><templateId root="1.2"/><id root="1.2.3" extension="p"/>
   <code code="73761001" ${SNOMED} displayName="Colonoscopy"/><statusCode code="${state}"/><effectiveTime value="20300101"/>${more}</${kind}>`;
const relative = (code: string, observation: string) =>
  `<organizer classCode="CLUSTER" moodCode="EVN"><templateId root="${TEMPLATE}4.45"/><id root="1.2.3" extension="f"/><statusCode code="completed"/>
   <subject><relatedSubject classCode="PRS">${code}</relatedSubject></subject><component>${observation}</component></organizer>`;
const FATHER =
  '<code code="FTH" codeSystem="2.16.840.1.113883.5.111" displayName="Father"/>';

describe('what a C-CDA document says of other people', () => {
  test("is not the patient's: a relative's illness is family history", () => {
    const age = `<entryRelationship typeCode="SUBJ"><observation classCode="OBS" moodCode="EVN"><code code="445518008" ${SNOMED}/>
      <statusCode code="completed"/><value xsi:type="PQ" value="57" unit="a"/></observation></entryRelationship>`;
    const { resources, leftOutEntries } = convert(
      'family',
      relative(FATHER, hemoglobin(MI, age)),
    );
    expect(leftOutEntries).toBe(0);
    expect(resources).toMatchObject([
      {
        resourceType: 'FamilyMemberHistory',
        patient: { reference: 'Patient/p' },
        relationship: { text: 'Father' },
        condition: [
          {
            code: { text: 'Myocardial infarction' },
            onsetAge: { value: 57, unit: 'a' },
          },
        ],
      },
    ]);
  });

  test('is no illness of a relative that is said not to have it', () => {
    const { resources } = convert(
      'family',
      relative(
        FATHER,
        hemoglobin(MI, '', 'moodCode="EVN" negationInd="true"').replace(
          `${TEMPLATE}4.2"`,
          `${TEMPLATE}4.46"`,
        ),
      ),
    );
    expect(resources).toMatchObject([
      {
        resourceType: 'FamilyMemberHistory',
        note: [{ text: 'Not: Hemoglobin: Myocardial infarction' }],
      },
    ]);
    expect(resources[0]).not.toHaveProperty('condition');
  });

  test.each([
    ['an illness of an unnamed relative', relative('', hemoglobin(MI))],
    ['an illness of no relative', hemoglobin(MI)],
  ])('is left out and counted when it is %s', (_, entry) => {
    expect(convert('family', entry)).toMatchObject({
      resources: [],
      leftOutEntries: 1,
    });
  });

  test('is left out and counted wherever it is: the result of a fetus, also in a panel with results of the mother', () => {
    const fetus =
      '<subject><relatedSubject classCode="PRS"><code code="CHILD"/></relatedSubject></subject>';
    expect(convert('results', hemoglobin(quantity('17'), fetus))).toMatchObject(
      {
        resources: [],
        leftOutEntries: 1,
      },
    );
    const panel = `<organizer classCode="BATTERY" moodCode="EVN"><templateId root="${TEMPLATE}4.1"/><id root="1.2.3" extension="g"/>
      <statusCode code="completed"/><component>${hemoglobin(quantity('17'), fetus)}</component>
      <component>${hemoglobin(quantity('12'))}</component></organizer>`;
    const { resources, leftOutEntries } = convert('results', panel);
    expect(resources.map(({ valueQuantity }) => valueQuantity)).toEqual([
      expect.objectContaining({ value: 12 }),
    ]);
    expect(leftOutEntries).toBe(1);
  });

  test('as a risk is not a condition', () => {
    const risk = problem('active').replace('4.3"', '4.136"');
    expect(convert('concerns', risk)).toMatchObject({
      resources: [],
      leftOutEntries: 1,
    });
    expect(convert('concerns', problem('active')).resources).toHaveLength(1);
  });
});

describe('what a C-CDA document plans', () => {
  test.each([
    ['plan', 'procedure', 'RQO', 'new', 'order', 'active'],
    ['plan', 'procedure', 'INT', 'active', 'plan', 'active'],
    ['plan', 'observation', 'RQO', 'active', 'order', 'active'],
    ['procedures', 'procedure', 'INT', 'completed', 'plan', 'completed'],
    ['procedures', 'act', 'PRP', 'cancelled', 'proposal', 'revoked'],
    ['results', 'observation', 'RQO', 'new', 'order', 'active'],
  ] as const)(
    'in %s as %s with %s and %s is a request, not something done',
    (place, kind, mood, state, intent, is) => {
      expect(convert(place, done(kind, state, mood)).resources).toMatchObject([
        {
          resourceType: 'ServiceRequest',
          intent,
          status: is,
          code: { text: 'Colonoscopy' },
          occurrenceDateTime: '2030-01-01',
        },
      ]);
    },
  );

  test('is a planned encounter, a request, a planned medication, a goal', () => {
    const { resources } = convert(
      'plan',
      done('encounter', 'active', 'INT'),
      done('act', 'active', 'INT'),
      drug('active', 'INT'),
      done('observation', 'active', 'GOL'),
    );
    expect(
      resources.map(({ resourceType, status, intent }) => [
        resourceType,
        status,
        intent,
      ]),
    ).toEqual([
      ['Encounter', 'planned', undefined],
      ['ServiceRequest', 'active', 'plan'],
      ['MedicationRequest', 'active', 'plan'],
      ['Goal', undefined, undefined],
    ]);
  });

  test('is not to be done when it is negated', () => {
    const negated = done('procedure', 'active', 'RQO').replace(
      'moodCode',
      'negationInd="true" moodCode',
    );
    expect(convert('plan', negated).resources).toMatchObject([
      { resourceType: 'ServiceRequest', doNotPerform: true },
    ]);
  });

  test('is no immunization that was given', () => {
    expect(convert('immunizations', drug('active', 'INT'))).toMatchObject({
      resources: [{ resourceType: 'MedicationRequest', intent: 'order' }],
      leftOutEntries: 0,
    });
  });
});

describe('the status that a C-CDA document states', () => {
  test.each([
    ['active', '', 'active'],
    ['active', status('413322009'), 'resolved'],
    ['active', status('73425007'), 'inactive'],
    ['completed', status('55561003'), 'active'],
    ['completed', '', 'inactive'],
    ['aborted', '', 'inactive'],
    ['suspended', '', 'inactive'],
    [
      'active',
      '<effectiveTime><low value="2001"/><high value="2003"/></effectiveTime>',
      'resolved',
    ],
    [
      'active',
      `<effectiveTime><high value="2003"/></effectiveTime>${status('55561003')}`,
      'inactive',
    ],
    [
      'active',
      '<effectiveTime><low value="2001"/><high value="99991231"/></effectiveTime>',
      'active',
    ],
    [
      'active',
      `<effectiveTime><high value="20240601"/></effectiveTime>${status('55561003')}`,
      'active',
    ],
    [
      'active',
      `<effectiveTime><high value="20240601"/></effectiveTime>${status('413322009')}`,
      'resolved',
    ],
    [
      'active',
      '<effectiveTime><low value="2001"/><high nullFlavor="UNK"/></effectiveTime>',
      'active',
    ],
  ])(
    'of a problem, in a concern that is %s with "%s", is %s',
    (concern, more, is) => {
      const { resources } = convert('problems', problem(concern, more));
      expect(
        resources.map(({ clinicalStatus }) => codesIn(clinicalStatus)),
      ).toEqual([[is]]);
    },
  );

  test.each([
    ['active', '', 'active'],
    ['active', status('73425007'), 'inactive'],
    ['completed', status('55561003'), 'active'],
    ['completed', '', 'inactive'],
    [
      'active',
      '<effectiveTime><low value="2001"/><high value="20991231"/></effectiveTime>',
      'active',
    ],
    [
      'active',
      '<effectiveTime><low value="2001"/><high nullFlavor="UNK"/></effectiveTime>',
      'active',
    ],
  ])(
    'of an allergy, in a concern that is %s with "%s", is %s',
    (concern, more, is) => {
      const { resources } = convert('allergies', allergy(concern, more));
      expect(
        resources.map(({ clinicalStatus }) => codesIn(clinicalStatus)),
      ).toEqual([[is]]);
    },
  );

  test.each([
    ['medications', drug, 'suspended', 'on-hold'],
    ['medications', drug, 'held', 'on-hold'],
    ['medications', drug, 'aborted', 'stopped'],
    ['medications', drug, 'completed', 'unknown'],
    ['medications', drug, 'unheard', 'unknown'],
    [
      'procedures',
      (state: string) => done('procedure', state, 'EVN'),
      'active',
      'in-progress',
    ],
    [
      'procedures',
      (state: string) => done('act', state, 'EVN'),
      'cancelled',
      'not-done',
    ],
    [
      'procedures',
      (state: string) => done('procedure', state, 'EVN'),
      'unheard',
      'unknown',
    ],
    [
      'results',
      (state: string) =>
        hemoglobin(quantity('7'), `<statusCode code="${state}"/>`),
      'active',
      'preliminary',
    ],
    [
      'results',
      (state: string) =>
        hemoglobin(quantity('7'), `<statusCode code="${state}"/>`),
      'aborted',
      'cancelled',
    ],
    [
      'results',
      (state: string) =>
        hemoglobin(quantity('7'), `<statusCode code="${state}"/>`),
      'held',
      'registered',
    ],
  ] as const)('in %s is kept', (place, entry, state, is) => {
    expect(
      convert(place, entry(state)).resources.map((resource) => resource.status),
    ).toEqual([is]);
  });

  test.each([
    ['<low value="20230101"/>', 'unknown'],
    ['<low value="20230101"/><high nullFlavor="UNK"/>', 'unknown'],
    ['<low value="20230101"/><high value="20240430"/>', 'completed'],
    ['<low value="20230101"/><high value="20990101"/>', 'active'],
  ])(
    'as completed does not make a drug with the time "%s" a past one, unless it had ended: %s',
    (time, is) => {
      const period = `<effectiveTime>${time}</effectiveTime>`;
      expect(
        convert('medications', drug('completed', 'EVN', period)).resources,
      ).toMatchObject([{ status: is }]);
    },
  );

  test('as an error withdraws the statement, and only that', () => {
    expect(convert('allergies', allergy('nullified')).resources).toEqual([]);
    expect(
      convert('medications', drug('nullified'), drug('active')).resources,
    ).toHaveLength(1);
    const panel = `<organizer classCode="BATTERY" moodCode="EVN"><templateId root="${TEMPLATE}4.1"/><id root="1.2.3" extension="g"/>
      <statusCode code="completed"/><component>${hemoglobin(quantity('1'), '<statusCode code="nullified"/>')}</component>
      <component>${hemoglobin(quantity('12'))}</component></organizer>`;
    expect(
      convert('results', panel).resources.map(
        ({ valueQuantity }) => valueQuantity,
      ),
    ).toEqual([expect.objectContaining({ value: 12 })]);
  });

  const visit = (part: string) =>
    `<encounter classCode="ENC" moodCode="EVN"><templateId root="${TEMPLATE}4.49"/><id root="1.2.3" extension="n"/>
     <code code="99213" codeSystem="2.16.840.1.113883.6.12" displayName="Office visit"/><effectiveTime value="20120101"/>${part}</encounter>`;
  const finding = (time: string) =>
    `<observation classCode="OBS" moodCode="EVN"><templateId root="${TEMPLATE}4.19"/><id root="1.2.3" extension="i"/>${time}${MI}</observation>`;

  test('has an end that is still to come in words, because it has ended nothing', () => {
    const [expected] = convert(
      'problems',
      problem(
        'active',
        '<effectiveTime><low value="2024"/><high value="20240601"/></effectiveTime>',
      ),
    ).resources;
    expect(expected).toMatchObject({
      note: [{ text: 'Stated to end on 2024-06-01' }],
    });
    expect(expected).not.toHaveProperty('abatementDateTime');
  });

  test('of an illness listed as a past one is only what it states', () => {
    const pastIllness = (time: string) =>
      `<observation classCode="OBS" moodCode="EVN"><templateId root="${TEMPLATE}4.4"/>${time}${MI}</observation>`;
    const past = (time: string) =>
      convertedSections(
        section(
          `${TEMPLATE}2.20`,
          '11348-0',
          `<entry>${pastIllness(time)}</entry>`,
        ),
      ).resources[0];
    expect(past('')).toMatchObject({ resourceType: 'Condition' });
    expect(past('')).not.toHaveProperty('clinicalStatus');
    expect(
      codesIn(
        past('<effectiveTime><high value="2010"/></effectiveTime>')
          ?.clinicalStatus,
      ),
    ).toEqual(['resolved']);
  });

  test('of the diagnosis of an encounter is not that of an active problem', () => {
    const diagnosed = (time: string) =>
      visit(`<entryRelationship typeCode="COMP"><act classCode="ACT" moodCode="EVN"><templateId root="${TEMPLATE}4.80"/>
        <code code="29308-4" ${LOINC}/><statusCode code="active"/><entryRelationship typeCode="SUBJ">${finding(time)}</entryRelationship></act></entryRelationship>`);
    const [open, encounter] = convert('encounters', diagnosed('')).resources;
    expect(codesIn(open?.category)).toEqual(['encounter-diagnosis']);
    expect(open).not.toHaveProperty('clinicalStatus');
    expect(encounter).toMatchObject({
      period: { start: '2012-01-01' },
      status: 'finished',
      class: { code: 'AMB' },
      diagnosis: [{ condition: { reference: 'Condition/ccda.u.1' } }],
    });
    expect(JSON.stringify(encounter)).not.toContain('Admission');
    const ended = diagnosed(
      '<effectiveTime><high value="20120110"/></effectiveTime>',
    );
    const [over] = convert('encounters', ended).resources;
    expect(over).toMatchObject({ abatementDateTime: '2012-01-10' });
    expect(codesIn(over?.clinicalStatus)).toEqual(['resolved']);
  });

  test('of the reason for an encounter is the problem of the document that it names, otherwise only a reason', () => {
    const reason = visit(
      `<entryRelationship typeCode="RSON">${finding('')}</entryRelationship>`,
    );
    expect(convert('encounters', reason).resources).toMatchObject([
      {
        resourceType: 'Encounter',
        reasonCode: [{ text: 'Myocardial infarction' }],
      },
    ]);
    const listed = problem('active').replace('extension="d"', 'extension="i"');
    const sections = (['encounters', 'problems'] as const).map((place) =>
      section(
        PLACES[place][0],
        PLACES[place][1],
        `<entry>${place === 'problems' ? listed : reason}</entry>`,
      ),
    );
    expect(convertedSections(...sections).resources).toMatchObject([
      { resourceType: 'Condition' },
      {
        resourceType: 'Encounter',
        reasonReference: [{ reference: 'Condition/ccda.u.1' }],
      },
    ]);
  });
});

describe('what a C-CDA document measured', () => {
  test.each([
    ['1,000', { valueString: '1,000 g/dL' }],
    ['120/80', { valueString: '120/80 g/dL' }],
    ['&lt;5', { valueString: '<5 g/dL' }],
    ['.5', { valueQuantity: { value: 0.5, unit: 'g/dL' } }],
    ['-3', { valueQuantity: { value: -3, unit: 'g/dL' } }],
  ])('as %s is neither cut off nor lost', (value, expected) => {
    expect(
      convert('results', hemoglobin(quantity(value))).resources,
    ).toMatchObject([expected]);
  });

  test.each([
    ['<value xsi:type="INT" value="3.5"/>', { valueQuantity: { value: 3.5 } }],
    ['<value xsi:type="INT" value="3"/>', { valueInteger: 3 }],
    [
      `<value xsi:type="CO" code="260348001" ${SNOMED} displayName="++"/>`,
      { valueCodeableConcept: { text: '++' } },
    ],
    [
      '<value xsi:type="IVL_PQ"><low value="5" unit="mg" inclusive="false"/></value>',
      { valueQuantity: { comparator: '>', value: 5, unit: 'mg' } },
    ],
    [
      '<value xsi:type="CD" nullFlavor="OTH"><originalText>Gram-positive rods</originalText></value>',
      { valueCodeableConcept: { text: 'Gram-positive rods' } },
    ],
  ])('is kept: %s', (value, expected) => {
    expect(convert('results', hemoglobin(value)).resources).toMatchObject([
      expected,
    ]);
  });

  test('has its flag, its reference range and its period', () => {
    const range = `<referenceRange><observationRange><text>for women</text><value xsi:type="IVL_PQ"><low value="12.0" unit="g/dL"/>
      <high value="15.5" unit="g/dL"/></value></observationRange></referenceRange>`;
    const flag =
      '<interpretationCode code="L" codeSystem="2.16.840.1.113883.5.83"/>';
    const time =
      '<effectiveTime><low value="20240501"/><high value="20240502"/></effectiveTime>';
    const [result] = convert(
      'results',
      hemoglobin(quantity('7'), `${time}${flag}${range}`),
    ).resources;
    expect(codesIn(result?.interpretation)).toEqual(['L']);
    expect(result).toMatchObject({
      effectivePeriod: { start: '2024-05-01', end: '2024-05-02' },
      referenceRange: [
        {
          low: { value: 12, unit: 'g/dL' },
          high: { value: 15.5 },
          text: 'for women',
        },
      ],
    });
  });

  test('has a meaning for each reference range: a critical one is not the normal one', () => {
    const range = (flag: string, low: string, high: string) =>
      `<referenceRange><observationRange><value xsi:type="IVL_PQ"><low value="${low}" unit="g/dL"/><high value="${high}" unit="g/dL"/></value>
       <interpretationCode code="${flag}" codeSystem="2.16.840.1.113883.5.83"/></observationRange></referenceRange>`;
    const ranges =
      range('N', '12', '15') + range('LL', '1', '7') + range('H', '15', '20');
    expect(
      convert('results', hemoglobin(quantity('7'), ranges)).resources,
    ).toMatchObject([
      {
        referenceRange: [
          {
            low: { value: 12 },
            type: { coding: [{ code: 'normal' }], text: 'Normal' },
          },
          {
            low: { value: 1 },
            type: { coding: [{ code: 'LL' }], text: 'Critically low' },
          },
          {
            low: { value: 15 },
            type: { coding: [{ code: 'H' }], text: 'High' },
          },
        ],
      },
    ]);
  });

  test('in a panel of a panel is kept', () => {
    const inner = `<organizer classCode="BATTERY" moodCode="EVN"><component>${hemoglobin(quantity('7'))}</component></organizer>`;
    const outer = `<organizer classCode="BATTERY" moodCode="EVN"><component>${inner}</component></organizer>`;
    expect(convert('results', outer).resources).toMatchObject([
      { valueQuantity: { value: 7 } },
    ]);
  });
});

describe('a C-CDA document', () => {
  const reaction = (name: string) =>
    `<entryRelationship typeCode="MFST"><observation classCode="OBS" moodCode="EVN"><value xsi:type="CD" code="1" ${SNOMED} displayName="${name}"/></observation></entryRelationship>`;

  test('keeps every reaction of an allergy, and the substance beside other participants', () => {
    const other =
      '<participant typeCode="LOC"><participantRole/></participant>';
    const both = allergy(
      'active',
      reaction('Hives') + reaction('Anaphylaxis'),
    ).replace('<participant', `${other}<participant`);
    const [found] = convert('allergies', both).resources;
    expect(found).toMatchObject({ code: { text: 'Penicillin' } });
    expect(JSON.stringify(found?.reaction)).toMatch(/Hives.*Anaphylaxis/);
  });

  test('may name a substance only in its text', () => {
    const text =
      '<text><table><tr><td ID="a1">codeine sulfate</td><td ID="a2">rash</td></tr></table></text>';
    const substance =
      '<code nullFlavor="NA"><originalText><reference value="#a1"/></originalText></code>';
    const { resources } = convertedSections(
      section(
        PLACES.allergies[0],
        PLACES.allergies[1],
        `${text}<entry>${allergy('active', '', substance)}</entry>`,
      ),
    );
    expect(resources).toMatchObject([
      { resourceType: 'AllergyIntolerance', code: { text: 'codeine sulfate' } },
    ]);
  });

  test('may say in its text that there is none', () => {
    const text =
      '<text><paragraph ID="m1">No known medications</paragraph></text>';
    const product =
      '<code nullFlavor="NI"><originalText><reference value="#m1"/></originalText></code>';
    const { resources } = convertedSections(
      section(
        PLACES.medications[0],
        PLACES.medications[1],
        `${text}<entry>${drug('completed', 'EVN', '', product)}</entry>`,
      ),
    );
    expect(resources).toMatchObject([
      { medicationCodeableConcept: { text: 'No known medications' } },
    ]);
  });

  test('may give a dose as a range, and the time of an immunization as a period', () => {
    const dose =
      '<doseQuantity><low value="1" unit="mg"/><high value="2" unit="mg"/></doseQuantity>';
    expect(
      convert('medications', drug('active', 'EVN', dose)).resources,
    ).toMatchObject([
      {
        dosage: [
          {
            doseAndRate: [
              {
                doseRange: {
                  low: { value: 1, code: 'mg' },
                  high: { value: 2, unit: 'mg' },
                },
              },
            ],
          },
        ],
      },
    ]);
    const time = '<effectiveTime><low value="20200101"/></effectiveTime>';
    expect(
      convert('immunizations', drug('completed', 'EVN', time)).resources,
    ).toMatchObject([
      { status: 'completed', occurrenceDateTime: '2020-01-01' },
    ]);
  });
});

describe('a section of a C-CDA document', () => {
  const MEDICATIONS = '10160-0';
  const aspirin = `<entry>${drug('active')}</entry>`;

  test.each([
    ['entries are optional', `${TEMPLATE}2.1`, MEDICATIONS],
    [
      'the first template is of HITSP',
      `2.16.840.1.113883.3.88.11.83.112 ${TEMPLATE}2.1.1`,
      MEDICATIONS,
    ],
    ['the template is of CCD', '2.16.840.1.113883.10.20.1.8', 'unknown'],
    ['there is no template, only a LOINC code', '', MEDICATIONS],
    ['the template is unknown', '1.2.3', MEDICATIONS],
  ])('is read when %s', (_, templates, code) => {
    const { resources, ...rest } = convertedSections(
      section(templates, code, aspirin),
    );
    expect(resources).toMatchObject([{ resourceType: 'MedicationStatement' }]);
    expect(rest).toMatchObject({ skippedSections: 0, leftOutEntries: 0 });
  });

  test('is read inside another section', () => {
    const outer = `<component><section><code code="1" ${LOINC}/>${section('', MEDICATIONS, aspirin)}</section></component>`;
    expect(convertedSections(outer).resources).toHaveLength(1);
  });

  test('of discharge medications is read, though an act is around each', () => {
    const act = `<entry><act classCode="ACT" moodCode="EVN"><templateId root="${TEMPLATE}4.35"/>
      <entryRelationship typeCode="SUBJ">${drug('active')}</entryRelationship></act></entry>`;
    expect(
      convertedSections(section(`${TEMPLATE}2.11`, '10183-2', act)).resources,
    ).toMatchObject([
      { resourceType: 'MedicationStatement', status: 'active' },
    ]);
  });

  test('of administered medications says what was given', () => {
    const administered = section(`${TEMPLATE}2.38`, '29549-3', aspirin);
    expect(convertedSections(administered).resources).toMatchObject([
      { resourceType: 'MedicationAdministration', status: 'in-progress' },
    ]);
  });

  test('has no entry that leaves no sign; an empty element harms nothing', () => {
    const media = `<entry><observationMedia classCode="OBS" moodCode="EVN"><templateId root="${TEMPLATE}4.99"/></observationMedia></entry>`;
    expect(
      convertedSections(section(`${TEMPLATE}2.3.1`, '30954-2', media)),
    ).toMatchObject({
      resources: [],
      leftOutEntries: 1,
      leftOutTemplates: { '4.99': 1 },
    });
    const empty = section(
      '',
      '30954-2',
      `<entry><observation/></entry><entry>${hemoglobin(quantity('7'))}</entry>`,
    );
    expect(convertedSections(empty)).toMatchObject({
      skippedSections: 0,
      resources: [{}],
    });
  });
});

test('a resuscitation order without an end (`high` NA) is in force since its beginning, wherever it stands', () => {
  const order = `<observation classCode="OBS" moodCode="EVN"><templateId root="${TEMPLATE}4.48"/><id root="1.2.3" extension="r"/>
    <code code="304251008" ${SNOMED} displayName="Resuscitation"/><statusCode code="completed"/>
    <effectiveTime><low value="20120506"/><high nullFlavor="NA"/></effectiveTime>
    <value xsi:type="CD" code="304253006" ${SNOMED} displayName="Not for resuscitation"/></observation>`;
  for (const [template, code] of [
    [`${TEMPLATE}2.21.1`, '42348-3'],
    [`${TEMPLATE}2.3.1`, '30954-2'],
  ] as const) {
    const { resources } = convertedSections(
      section(template, code, `<entry>${order}</entry>`),
    );
    const [directive] = resources.filter(
      ({ resourceType }) => String(resourceType) === 'Observation',
    );
    expect(directive).toMatchObject({
      effectivePeriod: { start: '2012-05-06' },
      valueCodeableConcept: { text: 'Not for resuscitation' },
    });
    expect(isAdvanceDirective(directive ?? {})).toBe(true);
  }
});

test('what a document or a section says above the usual confidentiality is labelled, also in sections within', () => {
  const of = (level: string, inner = '') =>
    section(
      PLACES.problems[0],
      PLACES.problems[1],
      `<confidentialityCode code="${level}"/><entry>${problem('active')}</entry>${inner}`,
    );
  const labels = (...sections: string[]) =>
    convertedSections(...sections)
      .resources.filter(({ resourceType }) =>
        ['Condition', 'Procedure'].includes(String(resourceType)),
      )
      .map(({ resourceType, meta }) => [
        resourceType,
        codesIn((meta as { security?: unknown } | undefined)?.security),
      ]);
  const procedure = section(
    PLACES.procedures[0],
    PLACES.procedures[1],
    `<entry>${done('procedure', 'completed', 'EVN')}</entry>`,
  );
  expect(labels(of('N'), procedure)).toEqual([
    ['Condition', []],
    ['Procedure', []],
  ]);
  expect(labels(of('R'), procedure)).toEqual([
    ['Condition', ['R']],
    ['Procedure', []],
  ]);
  expect(labels(of('V', procedure))).toEqual([
    ['Condition', ['V']],
    ['Procedure', ['V']],
  ]);
});
