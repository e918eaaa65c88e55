import { describe, expect, test } from 'vitest';
import { convertCcda } from '../src/convert.ts';
import {
  ccdaOf,
  convertedSections,
  LOINC,
  SNOMED,
  section,
  TEMPLATE,
} from './sections.ts';

const RXNORM = 'codeSystem="2.16.840.1.113883.6.88"';
const person = (name: string) =>
  `<id root="2.16.840.1.113883.4.6" extension="1234567893"/><assignedPerson><name><given>${name}</given><family>Roe</family></name></assignedPerson>`;
const author = (name: string, time: string) =>
  `<author><time value="${time}"/><assignedAuthor>${person(name)}</assignedAuthor></author>`;
const performer = (name: string) => `<performer><assignedEntity>${person(name)}
  <representedOrganization><name>Clinic</name></representedOrganization></assignedEntity></performer>`;
const part = (type: string, content: string) =>
  `<entryRelationship typeCode="${type}">${content}</entryRelationship>`;
const stated = (code: string, value: string) =>
  `<observation classCode="OBS" moodCode="EVN">${code}<statusCode code="completed"/>${value}</observation>`;
const product = (code: string, more = '', name = 'consumable') =>
  `<${name}><manufacturedProduct><manufacturedMaterial>${code}</manufacturedMaterial>${more}</manufacturedProduct></${name}>`;
const ALBUTEROL = `<code code="745752" ${RXNORM} displayName="Albuterol inhaler"/>`;
const ofSection = (code: string, content: string) =>
  convertedSections(section('', code, content)).resources;
const entry = (content: string) => `<entry>${content}</entry>`;

/**
 * What HL7's guide C-CDA on FHIR maps, as facts of our own: an entry, its
 * section, and what must come of it.
 */
const FACTS: readonly (readonly [
  what: string,
  loinc: string,
  content: string,
  expected: object[],
])[] = [
  [
    'a prescription: dose, rate, route, site, frequency, bounds, as needed, sig, instruction, refills, reason, vehicle',
    '10160-0',
    entry(`<substanceAdministration classCode="SBADM" moodCode="INT"><templateId root="${TEMPLATE}4.16"/><id root="1.2.3" extension="m"/>
      <statusCode code="active"/><effectiveTime xsi:type="IVL_TS"><low value="20240101"/><high value="20240301"/></effectiveTime>
      <effectiveTime xsi:type="PIVL_TS" operator="A"><period><low value="4" unit="h"/><high value="6" unit="h"/></period></effectiveTime>
      <routeCode code="C38216" codeSystem="2.16.840.1.113883.3.26.1.1" displayName="Inhalation"/>
      <doseQuantity value="2"/><administrationUnitCode code="C48501" codeSystem="2.16.840.1.113883.3.26.1.1" displayName="Puff dosing unit"/>
      <maxDoseQuantity><numerator value="6" unit="{puff}"/><denominator value="1" unit="d"/></maxDoseQuantity>
      ${product(ALBUTEROL)}${author('Ada', '20240102')}
      ${part('RSON', stated(`<code code="29308-4" ${LOINC}/>`, `<value xsi:type="CD" code="56018004" ${SNOMED} displayName="Wheezing"/>`))}
      ${part('COMP', `<substanceAdministration classCode="SBADM" moodCode="EVN"><code code="76662-6" ${LOINC}/><text>2 puffs every 4 to 6 hours</text></substanceAdministration>`)}
      ${part('SUBJ', `<act classCode="ACT" moodCode="INT"><templateId root="${TEMPLATE}4.20"/><code code="409073007" ${SNOMED}/><text>Shake well</text></act>`)}
      ${part('REFR', '<supply classCode="SPLY" moodCode="INT"><repeatNumber value="3"/><quantity value="1"/></supply>')}
      <precondition><criterion><value xsi:type="CD" code="56018004" ${SNOMED} displayName="Wheezing"/></criterion></precondition></substanceAdministration>`),
    [
      { resourceType: 'Practitioner' },
      {
        resourceType: 'MedicationRequest',
        status: 'active',
        intent: 'order',
        authoredOn: '2024-01-02',
        requester: { display: 'Ada Roe' },
        medicationCodeableConcept: {
          coding: [{ code: '745752' }],
          text: 'Albuterol inhaler',
        },
        reasonCode: [{ text: 'Wheezing' }],
        dispenseRequest: { numberOfRepeatsAllowed: 2, quantity: { value: 1 } },
        dosageInstruction: [
          {
            text: '2 puffs every 4 to 6 hours',
            patientInstruction: 'Shake well',
            timing: {
              repeat: {
                boundsPeriod: { start: '2024-01-01', end: '2024-03-01' },
                period: 4,
                periodMax: 6,
                periodUnit: 'h',
              },
            },
            asNeededCodeableConcept: { text: 'Wheezing' },
            route: {
              coding: [
                {
                  system: 'http://ncicb.nci.nih.gov/xml/owl/EVS/Thesaurus.owl',
                  code: 'C38216',
                },
              ],
            },
            doseAndRate: [{ doseQuantity: { value: 2, unit: 'Puff' } }],
            maxDosePerPeriod: {
              numerator: { value: 6, code: '{puff}' },
              denominator: { value: 1, code: 'd' },
            },
          },
        ],
      },
    ],
  ],
  [
    'what was taken three times a day and dispensed',
    '10160-0',
    entry(`<substanceAdministration classCode="SBADM" moodCode="EVN"><templateId root="${TEMPLATE}4.16"/><statusCode code="active"/>
      <effectiveTime xsi:type="IVL_TS"><low value="20240101"/></effectiveTime>
      <effectiveTime xsi:type="PIVL_TS" institutionSpecified="true" operator="A"><period value="8" unit="h"/></effectiveTime>
      <doseQuantity value="15.0" unit="1"/>${product(`<code nullFlavor="UNK"/><name>Insulin glargine</name>`)}
      ${part('REFR', `<supply classCode="SPLY" moodCode="EVN"><id root="1.2.3" extension="s"/><statusCode code="completed"/><effectiveTime value="20240103"/><quantity value="10" unit="mL"/></supply>`)}
      <precondition><criterion/></precondition></substanceAdministration>`),
    [
      {
        resourceType: 'MedicationStatement',
        status: 'active',
        effectivePeriod: { start: '2024-01-01' },
        medicationCodeableConcept: { text: 'Insulin glargine' },
        dosage: [
          {
            asNeededBoolean: true,
            doseAndRate: [{ doseQuantity: { value: 15 } }],
            timing: { repeat: { frequency: 3, period: 1, periodUnit: 'd' } },
          },
        ],
      },
      {
        resourceType: 'MedicationDispense',
        status: 'completed',
        whenHandedOver: '2024-01-03',
        quantity: { value: 10, code: 'mL' },
        medicationCodeableConcept: { text: 'Insulin glargine' },
      },
    ],
  ],
  [
    'an immunization: dose, route, lot, maker, dose number, who gave it',
    '11369-6',
    entry(`<substanceAdministration classCode="SBADM" moodCode="EVN"><templateId root="${TEMPLATE}4.52"/><statusCode code="completed"/>
      <effectiveTime value="20240101"/><repeatNumber value="2"/><doseQuantity value="60" unit="ug"/>
      ${product('<code code="88" codeSystem="2.16.840.1.113883.12.292"/><lotNumberText>L1</lotNumberText>', '<manufacturerOrganization><name>Maker</name></manufacturerOrganization>')}
      ${performer('Eve')}</substanceAdministration>`),
    [
      { resourceType: 'Organization', name: 'Maker' },
      { resourceType: 'Organization', name: 'Clinic' },
      { resourceType: 'Practitioner' },
      { resourceType: 'PractitionerRole' },
      {
        resourceType: 'Immunization',
        vaccineCode: {
          coding: [{ system: 'http://hl7.org/fhir/sid/cvx', code: '88' }],
        },
        occurrenceDateTime: '2024-01-01',
        lotNumber: 'L1',
        doseQuantity: { value: 60, code: 'ug' },
        protocolApplied: [{ doseNumberPositiveInt: 2 }],
        performer: [{ actor: { display: 'Eve Roe' } }],
      },
    ],
  ],
  [
    'an immunization that was refused, with the reason',
    '11369-6',
    entry(`<substanceAdministration classCode="SBADM" moodCode="EVN" negationInd="true"><templateId root="${TEMPLATE}4.52"/><statusCode code="completed"/>
      ${product('<code code="88" codeSystem="2.16.840.1.113883.12.292"/>')}
      ${part('RSON', `<observation classCode="OBS" moodCode="EVN"><templateId root="${TEMPLATE}4.53"/><code code="PATOBJ" codeSystem="2.16.840.1.113883.5.8"/></observation>`)}</substanceAdministration>`),
    [
      {
        resourceType: 'Immunization',
        status: 'not-done',
        statusReason: {
          coding: [
            {
              system: 'http://terminology.hl7.org/CodeSystem/v3-ActReason',
              code: 'PATOBJ',
            },
          ],
        },
      },
    ],
  ],
  [
    'an allergy: type, category, criticality, severity, abatement',
    '48765-2',
    entry(
      `<act classCode="ACT" moodCode="EVN"><templateId root="${TEMPLATE}4.30"/><statusCode code="completed"/>${part(
        'SUBJ',
        `<observation classCode="OBS" moodCode="EVN"><templateId root="${TEMPLATE}4.7"/><effectiveTime><low value="2001"/><high value="2010"/></effectiveTime>
       <value xsi:type="CD" code="414285001" ${SNOMED}/><participant typeCode="CSM"><participantRole><playingEntity><code nullFlavor="UNK"><translation code="226915003" ${SNOMED} displayName="Red wine"/></code></playingEntity></participantRole></participant>
       ${part('SUBJ', stated(`<code code="82606-5" ${LOINC}/>`, '<value xsi:type="CD" code="CRITH"/>'))}
       ${part('SUBJ', stated('<code code="SEV"/>', `<value xsi:type="CD" code="6736007" ${SNOMED}/>`))}
       ${part('MFST', stated('<code code="ASSERTION"/>', '<value xsi:type="CD" nullFlavor="OTH"><originalText>Flushed face</originalText></value>'))}</observation>`,
      )}</act>`,
    ),
    [
      {
        resourceType: 'AllergyIntolerance',
        type: 'allergy',
        category: ['food'],
        criticality: 'high',
        code: { coding: [{ code: '226915003' }], text: 'Red wine' },
        onsetDateTime: '2001',
        clinicalStatus: { coding: [{ code: 'resolved' }] },
        extension: [{ valueDateTime: '2010' }],
        reaction: [
          { manifestation: [{ text: 'Flushed face' }], severity: 'moderate' },
        ],
      },
    ],
  ],
  [
    'vital signs: the panel gives time and performer, two pressures are one measurement',
    '8716-3',
    entry(`<organizer classCode="CLUSTER" moodCode="EVN"><templateId root="${TEMPLATE}4.26"/><code code="46680005" ${SNOMED}/><statusCode code="completed"/>
      <effectiveTime value="20240101"/>${author('Ada', '20240101')}${[
        ['8480-6', '120', 'mm[Hg]'],
        ['8462-4', '80', 'mm[Hg]'],
        ['8867-4', '70', '/min'],
      ]
        .map(
          ([code, value, unit]) =>
            `<component>${stated(`<code code="${code}" ${LOINC}/>`, `<value xsi:type="PQ" value="${value}" unit="${unit}"/>`)}</component>`,
        )
        .join('')}</organizer>`),
    [
      { resourceType: 'Practitioner' },
      {
        code: { coding: [{ code: '85354-9' }] },
        effectiveDateTime: '2024-01-01',
        performer: [{ display: 'Ada Roe' }],
        component: [
          {
            code: { coding: [{ code: '8480-6' }] },
            valueQuantity: { value: 120 },
          },
          {
            code: { coding: [{ code: '8462-4' }] },
            valueQuantity: { value: 80 },
          },
        ],
      },
      {
        code: { coding: [{ code: '8867-4' }] },
        effectiveDateTime: '2024-01-01',
        valueQuantity: { value: 70 },
      },
      { code: { coding: [{ code: '85353-1' }] }, hasMember: [{}, {}] },
    ],
  ],
  [
    'results: a report, a value with a unit that is not UCUM, a value by reference',
    '30954-2',
    `<text><paragraph ID="r">No growth</paragraph></text>${entry(`<organizer classCode="BATTERY" moodCode="EVN"><code code="24357-6" ${LOINC} displayName="Urinalysis"/>
      <statusCode code="completed"/><effectiveTime value="20240101"/>
      <component>${stated(`<code code="1-1" ${LOINC} displayName="Count"/>`, '<value xsi:type="PQ" nullFlavor="OTH"><translation value="45" code="thou/mcl" codeSystem="2.16.840.1.113883.6.252"/></value>')}</component>
      <component>${stated(`<code code="1-2" ${LOINC} displayName="Culture"/>`, '<value xsi:type="ED"><reference value="#r"/></value>')}</component></organizer>`)}`,
    [
      {
        valueQuantity: { value: 45, unit: 'thou/mcl' },
        effectiveDateTime: '2024-01-01',
      },
      { valueString: 'No growth' },
      {
        resourceType: 'DiagnosticReport',
        code: { text: 'Urinalysis' },
        result: [{}, {}],
      },
    ],
  ],
  [
    'a procedure: performer, place, device with its UDI, reason',
    '47519-4',
    entry(`<procedure classCode="PROC" moodCode="EVN"><templateId root="${TEMPLATE}4.14"/><code code="73761001" ${SNOMED} displayName="Colonoscopy"/><statusCode code="completed"/>
      <effectiveTime><low value="20240101"/><high value="20240102"/></effectiveTime>${performer('Eve')}
      <participant typeCode="LOC"><participantRole><playingEntity><name>Ward 1</name></playingEntity></participantRole></participant>
      <participant typeCode="DEV"><participantRole><id root="2.16.840.1.113883.3.3719" extension="(01)00643169007222(17)160128"/><playingDevice><code code="1" ${SNOMED} displayName="Clip"/></playingDevice></participantRole></participant></procedure>`),
    [
      { resourceType: 'Organization' },
      { resourceType: 'Practitioner' },
      { resourceType: 'PractitionerRole' },
      { resourceType: 'Location', name: 'Ward 1' },
      {
        resourceType: 'Device',
        udiCarrier: [{ deviceIdentifier: '00643169007222' }],
      },
      {
        resourceType: 'Procedure',
        performedPeriod: { start: '2024-01-01', end: '2024-01-02' },
        location: { display: 'Ward 1' },
        usedReference: [{ display: 'Clip' }],
        performer: [{ actor: { display: 'Eve Roe' } }],
      },
    ],
  ],
  [
    'a policy as Coverage',
    '48768-6',
    entry(
      `<act classCode="ACT" moodCode="EVN"><templateId root="${TEMPLATE}4.60"/><code code="48768-6" ${LOINC}/>${part(
        'COMP',
        `<act classCode="ACT" moodCode="EVN"><templateId root="${TEMPLATE}4.61"/><id root="1.2.3" extension="g"/><code code="SELF" codeSystem="2.16.840.1.113883.5.110"/><statusCode code="completed"/>
       <performer typeCode="PRF"><templateId root="${TEMPLATE}4.87"/><assignedEntity><representedOrganization><name>Payer</name></representedOrganization></assignedEntity></performer>
       <participant typeCode="COV"><time><low value="20240101"/></time><participantRole><id root="1.2.4" extension="M1"/></participantRole></participant></act>`,
      )}</act>`,
    ),
    [
      { resourceType: 'Organization' },
      {
        resourceType: 'Coverage',
        subscriberId: 'M1',
        payor: [{ display: 'Payer' }],
        period: { start: '2024-01-01' },
      },
    ],
  ],
  [
    'a goal with its target, a care team with roles, an instruction',
    '61146-7',
    [
      `<observation classCode="OBS" moodCode="GOL"><templateId root="${TEMPLATE}4.121"/><code code="2708-6" ${LOINC} displayName="Oxygen saturation"/><statusCode code="active"/>
       <effectiveTime><low value="20240101"/><high value="20240601"/></effectiveTime><value xsi:type="PQ" value="92" unit="%"/></observation>`,
      `<organizer classCode="CLUSTER" moodCode="EVN"><templateId root="${TEMPLATE}4.500"/><statusCode code="active"/><component><act classCode="PCPR" moodCode="EVN">
       <performer><functionCode code="PCP" codeSystem="2.16.840.1.113883.5.88" displayName="Primary care physician"/><assignedEntity>${person('Eve')}</assignedEntity></performer></act></component></organizer>`,
      `<act classCode="ACT" moodCode="INT"><templateId root="${TEMPLATE}4.20"/><code code="311401005" ${SNOMED} displayName="Patient education"/><text>Rest for a week</text><statusCode code="completed"/></act>`,
    ]
      .map(entry)
      .join(''),
    [
      {
        resourceType: 'Goal',
        lifecycleStatus: 'active',
        startDate: '2024-01-01',
        target: [{ detailQuantity: { value: 92 }, dueDate: '2024-06-01' }],
      },
      { resourceType: 'Practitioner' },
      {
        resourceType: 'CareTeam',
        status: 'active',
        participant: [
          {
            role: [{ text: 'Primary care physician' }],
            member: { display: 'Eve Roe' },
          },
        ],
      },
      {
        resourceType: 'CommunicationRequest',
        payload: [{ contentString: 'Rest for a week' }],
      },
    ],
  ],
  [
    'a note with its words, its author and its type',
    '34109-9',
    `<text><paragraph ID="n">Feels well.<br/>Sleeps well.</paragraph></text>${entry(`<act classCode="ACT" moodCode="EVN"><templateId root="${TEMPLATE}4.202"/>
      <code code="34109-9" ${LOINC} displayName="Note"><translation code="11488-4" ${LOINC} displayName="Consult note"/></code><text><reference value="#n"/></text>
      <effectiveTime value="20240101"/>${author('Ada', '20240101101500-0500')}</act>`)}`,
    [
      { resourceType: 'Practitioner' },
      {
        resourceType: 'DocumentReference',
        type: { coding: [{ code: '11488-4' }] },
        date: '2024-01-01T10:15:00-05:00',
        author: [{ display: 'Ada Roe' }],
        content: [
          {
            attachment: {
              contentType: 'text/plain',
              data: Buffer.from('Feels well.\nSleeps well.').toString('base64'),
            },
          },
        ],
      },
    ],
  ],
  [
    'a section with words only, by its name',
    '10154-3',
    '<text>Chest pain since Monday</text>',
    [
      {
        resourceType: 'DocumentReference',
        description: 'Section',
        type: { coding: [{ code: '10154-3' }] },
        content: [
          {
            attachment: {
              data: Buffer.from('Chest pain since Monday').toString('base64'),
            },
          },
        ],
      },
    ],
  ],
];

describe('what C-CDA on FHIR maps is in the record', () => {
  test.each(FACTS)('%s', (_, loinc, content, expected) => {
    expect(ofSection(loinc, content)).toMatchObject(expected);
  });

  test('of the header: race, ethnicity, language, marital status, telecom; what is not stated is not invented', () => {
    const text = ccdaOf()
      .toString()
      .replace(
        '<birthTime',
        `<maritalStatusCode code="M" codeSystem="2.16.840.1.113883.5.2" displayName="Married"/>
        <raceCode code="2106-3" codeSystem="2.16.840.1.113883.6.238" displayName="White"/><ethnicGroupCode code="2186-5" codeSystem="2.16.840.1.113883.6.238"/>
        <languageCommunication><languageCode code="en"/><preferenceInd value="true"/></languageCommunication><birthTime`,
      )
      .replace(
        '<patient>',
        '<telecom use="MC" value="tel:+1(555)555-0100"/><patient>',
      );
    const conversion = convertCcda(Buffer.from(text), {
      unit: 'u',
      patientId: 'p',
    });
    expect(conversion).toMatchObject({
      kind: 'converted',
      patient: {
        maritalStatus: {
          coding: [
            {
              system: 'http://terminology.hl7.org/CodeSystem/v3-MaritalStatus',
              code: 'M',
            },
          ],
        },
        communication: [
          {
            language: { coding: [{ system: 'urn:ietf:bcp:47', code: 'en' }] },
            preferred: true,
          },
        ],
        telecom: [{ system: 'phone', value: '+1(555)555-0100', use: 'mobile' }],
        extension: [
          { url: expect.stringContaining('us-core-ethnicity') },
          { url: expect.stringContaining('us-core-race') },
        ],
      },
    });
    expect(JSON.stringify(conversion)).not.toMatch(/confirmed|PPRF|deceased/);
  });

  test.each([
    ['2.16.840.1.113883.6.90', 'http://hl7.org/fhir/sid/icd-10-cm'],
    ['2.16.840.1.113883.6.103', 'http://hl7.org/fhir/sid/icd-9-cm'],
    ['2.16.840.1.113883.6.4', 'http://www.cms.gov/Medicare/Coding/ICD10'],
    [
      '2.16.840.1.113883.6.285',
      'http://www.cms.gov/Medicare/Coding/HCPCSReleaseCodeSets',
    ],
    ['2.16.840.1.113883.6.12', 'http://www.ama-assn.org/go/cpt'],
    [
      '2.16.840.1.113883.5.4',
      'http://terminology.hl7.org/CodeSystem/v3-ActCode',
    ],
    ['1.2.3.4', 'urn:oid:1.2.3.4'],
    ['no system', undefined],
  ])('the code system %s is written as %s', (root, system) => {
    const [made] = ofSection(
      '47519-4',
      entry(
        `<procedure classCode="PROC" moodCode="EVN"><code code="1" codeSystem="${root}" displayName="One"/><statusCode code="completed"/></procedure>`,
      ),
    );
    expect(made).toHaveProperty('code.coding.0.code', '1');
    if (system === undefined)
      expect(made).not.toHaveProperty('code.coding.0.system');
    else expect(made).toHaveProperty('code.coding.0.system', system);
  });
});
