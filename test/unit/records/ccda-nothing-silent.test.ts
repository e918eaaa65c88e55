import { describe, expect, test } from 'vitest';
import {
  type CdaElement,
  elementsIn,
  readElements,
} from '../../../packages/ccda-to-fhir/src/element.ts';
import { convertDatedCcda } from '../../../src/exchange/records/conversion/ccda-conversion.ts';
import {
  ccdaOf,
  LOINC,
  SNOMED,
  section,
  TEMPLATE,
} from '../../support/ccda-sections.ts';

// No oracle says what a document means. But what nothing reads changes nothing
// when it is taken out: each part of an entry must be missed in what is made of
// the document and in its counts, or be left out on purpose (docs/ccda.md).

const KINDS = ['participant', 'qualifier', 'translation'];
const STATEMENTS = [
  'act',
  'encounter',
  'observation',
  'organizer',
  'procedure',
  'substanceAdministration',
  'supply',
];

/** An inner statement, participant, qualifier, translation, or words referred to. */
const isPart = (each: CdaElement, of: CdaElement): boolean =>
  KINDS.includes(each.name) ||
  (STATEMENTS.includes(each.name) && of.name !== 'entry') ||
  (each.name === 'reference' && each.attributes.value !== undefined);

/** The parts of all entries, each with what it is in. */
function partsIn(
  of: CdaElement,
  isInEntry = false,
): { part: CdaElement; around: CdaElement }[] {
  return elementsIn(of).flatMap((part) => [
    ...(isInEntry && isPart(part, of) ? [{ part, around: of }] : []),
    ...partsIn(part, isInEntry || part.name === 'entry'),
  ]);
}

const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('"', '&quot;');

const XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';

function xmlOf({ content }: CdaElement): string {
  return content
    .map((part) => {
      if (typeof part === 'string') return escaped(part);
      const attributes = Object.entries(part.attributes).map(
        ([name, value]) =>
          ` ${name === 'type' ? 'xsi:type' : name}="${escaped(value)}"`,
      );
      const space = part.name === 'ClinicalDocument' ? ` ${XSI}` : '';
      return `<${part.name}${space}${attributes.join('')}>${xmlOf(part)}</${part.name}>`;
    })
    .join('');
}

const madeOf = (document: CdaElement): string =>
  JSON.stringify(
    convertDatedCcda(Buffer.from(xmlOf(document)), {
      unit: 'u',
      patientId: 'p',
    }),
  );

/** The parts of a document's entries that nobody misses. */
function silentParts(bytes: Uint8Array): string[] {
  const document = readElements(Buffer.from(bytes).toString());
  const whole = madeOf(document);
  return partsIn(document).flatMap(({ part, around }) => {
    const { content } = around;
    around.content = content.filter((each) => each !== part);
    const isMissed = madeOf(document) !== whole;
    around.content = content;
    return isMissed ? [] : [`${part.name} in ${around.name}`];
  });
}

const relation = (type: string, content: string) =>
  `<entryRelationship typeCode="${type}">${content}</entryRelationship>`;
const observation = (template: string, content: string) =>
  `<observation classCode="OBS" moodCode="EVN"><templateId root="${TEMPLATE}${template}"/>${content}<statusCode code="completed"/></observation>`;
const coded = (code: string, name: string, inner = '') =>
  `<value xsi:type="CD" code="${code}" ${SNOMED} displayName="${name}">${inner}</value>`;
const measured = (code: string, name: string, value: string) =>
  observation(
    '4.2',
    `<code code="${code}" ${LOINC} displayName="${name}"/>${value}`,
  );
const concern = (template: string, inner: string) =>
  `<act classCode="ACT" moodCode="EVN"><templateId root="${TEMPLATE}${template}"/><code code="CONC"/><statusCode code="active"/>${inner}</act>`;
const drug =
  '<consumable><manufacturedProduct><manufacturedMaterial><code code="1" codeSystem="1.2.3" displayName="Lisinopril"><translation code="314076" codeSystem="2.16.840.1.113883.6.88"/></code></manufacturedMaterial></manufacturedProduct></consumable>';
const COMMENT = `<act classCode="ACT" moodCode="EVN"><code code="48767-8" ${LOINC}/><text>Lost the bottle</text></act>`;
const agent = (type: string) =>
  `<participant typeCode="${type}"><participantRole classCode="AGNT"><telecom value="tel:+1-555-0100"/><playingEntity><name><given>Martha</given><family>Jones</family></name></playingEntity></participantRole></participant>`;
const SIDE = `<qualifier><name code="272741003" ${SNOMED}/><value code="7771000" ${SNOMED} displayName="Left"/></qualifier>`;
const unexpected = observation(
  '4.999',
  `<code code="1" codeSystem="1.2.3" displayName="What no template names"/>${coded('2', 'Something')}`,
);

const ENTRIES: readonly (readonly [
  what: string,
  loinc: string,
  entry: string,
])[] = [
  [
    'an allergy: two substances, a reaction with a severity and its treatment, criticality',
    '48765-2',
    concern(
      '4.30',
      relation(
        'SUBJ',
        observation(
          '4.7',
          `<code code="ASSERTION"/>${coded('416098002', 'Drug allergy')}
          <participant typeCode="CSM"><participantRole><playingEntity><code code="7980" codeSystem="2.16.840.1.113883.6.88" displayName="Penicillin"/></playingEntity></participantRole></participant>
          <participant typeCode="CSM"><participantRole><playingEntity><code code="2670" codeSystem="2.16.840.1.113883.6.88" displayName="Codeine"/></playingEntity></participantRole></participant>
          ${relation(
            'MFST',
            observation(
              '4.9',
              `<code code="ASSERTION"/>${coded('126485001', 'Hives')}${relation('SUBJ', observation('4.8', `<code code="SEV"/>${coded('24484000', 'Severe')}`))}
              ${relation('RSON', `<substanceAdministration classCode="SBADM" moodCode="EVN"><templateId root="${TEMPLATE}4.16"/><statusCode code="completed"/>${drug}</substanceAdministration>`)}${relation('SUBJ', COMMENT)}`,
            ),
          )}${relation('SUBJ', unexpected)}${agent('INF')}`,
        ),
      ) + relation('SUBJ', COMMENT),
    ),
  ],
  [
    'a problem: its side, severity, prognosis, a translation',
    '11450-4',
    concern(
      '4.3',
      relation(
        'SUBJ',
        observation(
          '4.4',
          `<code code="55607006" ${SNOMED}/>${coded('71620000', 'Fracture of femur', `${SIDE}<translation code="S72.90XA" codeSystem="2.16.840.1.113883.6.90"/>`)}
          ${relation('SUBJ', observation('4.8', `<code code="SEV"/>${coded('24484000', 'Severe')}`))}
          ${relation('REFR', observation('4.113', `<code code="75328-5" ${LOINC} displayName="Prognosis"/>${coded('170968001', 'Good')}`))}
          ${relation('REFR', unexpected)}${agent('INF')}`,
        ),
      ),
    ),
  ],
  [
    'a drug: adherence, an instruction, a supply with a comment, words for it',
    '10160-0',
    `<substanceAdministration classCode="SBADM" moodCode="EVN"><templateId root="${TEMPLATE}4.16"/><statusCode code="active"/><effectiveTime xsi:type="IVL_TS"><low value="20240101"/></effectiveTime>${drug}
    ${relation('REFR', observation('4.508', `<code code="418633004" ${SNOMED} displayName="Compliance"/>${coded('713829007', 'Not as prescribed')}`))}
    ${relation('SUBJ', `<act classCode="ACT" moodCode="INT"><templateId root="${TEMPLATE}4.20"/><code code="409073007" ${SNOMED}/><text>With food</text></act>`)}
    ${relation('REFR', `<supply classCode="SPLY" moodCode="EVN"><templateId root="${TEMPLATE}4.18"/><statusCode code="completed"/><quantity value="30"/>${relation('SUBJ', COMMENT)}</supply>`)}
    ${relation('RSON', unexpected)}${agent('RESP')}</substanceAdministration>`,
  ],
  [
    'a procedure: what was measured and given with it, a device, a place',
    '47519-4',
    `<procedure classCode="PROC" moodCode="EVN"><templateId root="${TEMPLATE}4.14"/><code code="40701008" ${SNOMED} displayName="Echocardiography"/><statusCode code="completed"/>
    ${relation('REFR', measured('10230-1', 'Ejection fraction', '<value xsi:type="PQ" value="35" unit="%"/>'))}
    ${relation('COMP', `<substanceAdministration classCode="SBADM" moodCode="EVN"><templateId root="${TEMPLATE}4.16"/><statusCode code="completed"/>${drug}</substanceAdministration>`)}
    ${relation('COMP', unexpected)}${relation('SUBJ', COMMENT)}${agent('VRF')}
    <participant typeCode="DEV"><participantRole><playingDevice><code code="40388003" ${SNOMED} displayName="Implant"/></playingDevice></participantRole></participant></procedure>`,
  ],
  [
    'a result: its status at the laboratory, a comment, a part',
    '30954-2',
    `<organizer classCode="BATTERY" moodCode="EVN"><templateId root="${TEMPLATE}4.1"/><code code="24323-8" ${LOINC} displayName="Panel"/><statusCode code="completed"/>
    <component>${measured('2823-3', 'Potassium', `<value xsi:type="PQ" value="4.1" unit="mmol/L"/>${relation('SUBJ', observation('4.419', `<code code="92236-9" ${LOINC}/><value xsi:type="CD" code="P" codeSystem="2.16.840.1.113883.18.34"/>`))}${relation('SUBJ', COMMENT)}${relation('COMP', unexpected)}${agent('INF')}`)}</component>
    <component>${COMMENT}</component></organizer>`,
  ],
  [
    'a vaccination: its number in a series, a reaction',
    '11369-6',
    `<substanceAdministration classCode="SBADM" moodCode="EVN" negationInd="false"><templateId root="${TEMPLATE}4.52"/><statusCode code="completed"/><effectiveTime value="20240101"/>${drug}
    ${relation('SUBJ', `<observation classCode="OBS" moodCode="EVN"><code code="30973-2" ${LOINC}/><value xsi:type="INT" value="2"/></observation>`)}
    ${relation('MFST', observation('4.9', `<code code="ASSERTION"/>${coded('247472004', 'Wheal')}`))}${relation('SUBJ', COMMENT)}${relation('REFR', unexpected)}</substanceAdministration>`,
  ],
  [
    'a visit: its diagnosis, a reason, a place, a note',
    '46240-8',
    `<encounter classCode="ENC" moodCode="EVN"><templateId root="${TEMPLATE}4.49"/><code code="99213" codeSystem="2.16.840.1.113883.6.12" displayName="Visit"/><effectiveTime value="20240102"/>
    ${relation('SUBJ', `<act classCode="ACT" moodCode="EVN"><templateId root="${TEMPLATE}4.80"/><code code="29308-4" ${LOINC}/>${relation('SUBJ', observation('4.4', `<code code="282291009" ${SNOMED}/>${coded('38341003', 'Hypertension')}`))}</act>`)}
    ${relation('RSON', observation('4.19', `<code code="ASSERTION"/>${coded('25064002', 'Headache')}`))}${relation('SUBJ', COMMENT)}${relation('REFR', unexpected)}
    <participant typeCode="LOC"><participantRole><playingEntity><name>North Clinic</name></playingEntity></participantRole></participant>${agent('RESP')}</encounter>`,
  ],
  [
    'an advance directive: the agent, who verified it, its document',
    '42348-3',
    observation(
      '4.48',
      `<code code="304251008" ${SNOMED} displayName="Resuscitation"/>${coded('304253006', 'Do not resuscitate')}${agent('CST')}${agent('VRF')}
      <reference typeCode="REFR"><externalDocument><code code="371538006" ${SNOMED} displayName="Directive"/><text><reference value="directive.pdf"/></text></externalDocument></reference>`,
    ),
  ],
  [
    'a relative: an illness with an age, one that is denied',
    '10157-6',
    `<organizer classCode="CLUSTER" moodCode="EVN"><templateId root="${TEMPLATE}4.45"/><statusCode code="completed"/><subject><relatedSubject><code code="FTH" codeSystem="2.16.840.1.113883.5.111" displayName="Father"/></relatedSubject></subject>
    <component>${observation('4.46', `${coded('22298006', 'Infarction')}${relation('SUBJ', `<observation classCode="OBS" moodCode="EVN"><code code="445518008" ${SNOMED}/><value xsi:type="PQ" value="57" unit="a"/></observation>`)}${relation('REFR', unexpected)}`)}</component>
    <component>${observation('4.46', coded('73211009', 'Diabetes')).replace('moodCode="EVN"', 'moodCode="EVN" negationInd="true"')}</component></organizer>`,
  ],
  [
    'a care team: a member, a note about it',
    '85847-2',
    `<organizer classCode="CLUSTER" moodCode="EVN"><templateId root="${TEMPLATE}4.500"/><code code="86744-0" ${LOINC}/><statusCode code="active"/>
    <component><act classCode="PCPR" moodCode="EVN"><templateId root="${TEMPLATE}4.500.1"/><code code="85847-2" ${LOINC}/><performer><assignedEntity><assignedPerson><name><family>Prim</family></name></assignedPerson></assignedEntity></performer></act></component>
    <component><act classCode="ACT" moodCode="EVN"><templateId root="${TEMPLATE}4.202"/><code code="34109-9" ${LOINC} displayName="Note"/><text>Call her daughter</text></act></component></organizer>`,
  ],
];

describe('of an entry, nothing disappears without a sign', () => {
  test.each(ENTRIES)('of %s', (_, loinc, entry) => {
    const document = ccdaOf(section('', loinc, `<entry>${entry}</entry>`));
    expect(silentParts(document)).toEqual([]);
  });

  test('but what is left out on purpose: a reference to another entry, words that only name what a code names', () => {
    const pointing = `<act classCode="ACT" moodCode="EVN"><templateId root="${TEMPLATE}4.122"/><id root="1.2.3"/><code nullFlavor="NP"/></act>`;
    const named = observation(
      '4.4',
      `<code code="55607006" ${SNOMED}/><text><reference value="#p"/></text>${coded('38341003', 'Hypertension')}${relation('REFR', pointing)}`,
    );
    const document = ccdaOf(
      section(
        '',
        '11450-4',
        `<text><content ID="p">Hypertension</content></text><entry>${concern('4.3', relation('SUBJ', named))}</entry>`,
      ),
    );
    expect(silentParts(document)).toEqual([
      'reference in text',
      'act in entryRelationship',
    ]);
  });

  test('and what nothing is made of is counted by its template', () => {
    const nameless = `<act classCode="ACT" moodCode="EVN"><templateId root="${TEMPLATE}4.777"/><code nullFlavor="UNK"/></act>`;
    const document = ccdaOf(
      section(
        '',
        '47519-4',
        `<entry><procedure classCode="PROC" moodCode="EVN"><code code="1" ${SNOMED} displayName="Biopsy"/>${relation('REFR', nameless)}</procedure></entry>`,
      ),
    );
    expect(
      convertDatedCcda(document, { unit: 'u', patientId: 'p' }),
    ).toMatchObject({ leftOutParts: { '4.777': 1 } });
  });
});
