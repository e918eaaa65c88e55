import { describe, expect, test } from 'vitest';
import {
  convertedSections,
  SNOMED,
  section,
  TEMPLATE,
} from '../../support/ccda-sections.ts';

const RXNORM = 'codeSystem="2.16.840.1.113883.6.88"';
const CELLS = `<text><table><tbody><tr><td ID="drug">Penicillin G</td>
  <td ID="reaction">Hives</td><td ID="sig">as needed</td></tr></tbody></table></text>`;
const written = (id: string) =>
  `<originalText><reference value="#${id}"/></originalText>`;

const madeOf = (loinc: string, entry: string) =>
  convertedSections(section('', loinc, `${CELLS}<entry>${entry}</entry>`))
    .resources[0];

const allergy = (substance: string, negation = '') =>
  `<observation classCode="OBS" moodCode="EVN" ${negation}>
   <templateId root="${TEMPLATE}4.7"/><code code="ASSERTION"/>
   <value xsi:type="CD" code="419199007" ${SNOMED}/>
   <participant typeCode="CSM"><participantRole><playingEntity>${substance}
   </playingEntity></participantRole></participant></observation>`;
const drug = (material: string) =>
  `<substanceAdministration classCode="SBADM" moodCode="EVN">
   <statusCode code="active"/><consumable><manufacturedProduct>
   <manufacturedMaterial>${material}</manufacturedMaterial>
   </manufacturedProduct></consumable></substanceAdministration>`;
const problem = (value: string, negation = '') =>
  `<observation classCode="OBS" moodCode="EVN" ${negation}>
   <templateId root="${TEMPLATE}4.4"/><code code="ASSERTION"/>
   ${value}</observation>`;

const substanceOf = (substance: string) =>
  madeOf('48765-2', allergy(substance))?.code;
const drugOf = (material: string) =>
  madeOf('10160-0', drug(material))?.medicationCodeableConcept;

describe('the name of a coded thing', () => {
  test('is that of its code, with the words beside it, if these name something else', () => {
    const penicillin = (inner: string) =>
      `<code code="7982" displayName="Penicillin G benzathine" ${RXNORM}>${inner}</code>`;
    expect(substanceOf(penicillin(written('reaction')))).toMatchObject({
      text: 'Penicillin G benzathine (Hives)',
    });
    expect(substanceOf(penicillin(written('drug')))).toMatchObject({
      text: 'Penicillin G',
    });
    expect(drugOf(penicillin(written('sig')))).toMatchObject({
      text: 'Penicillin G benzathine (as needed)',
    });
    const azithromycin = `<code code="18631" displayName="azithromycin 250 MG Oral Tablet" ${RXNORM}>
      <originalText>Viagra 100 mg oral tablet</originalText></code>`;
    expect(drugOf(azithromycin)).toMatchObject({
      text: 'azithromycin 250 MG Oral Tablet (Viagra 100 mg oral tablet)',
    });
  });

  test('is not another one because both have the same form, strength or salt', () => {
    const naproxen = `<code code="1" displayName="naproxen sodium 500 mg tablet" ${RXNORM}>
      <originalText>ceftriaxone sodium 500 mg</originalText></code>`;
    expect(drugOf(naproxen)).toMatchObject({
      text: 'naproxen sodium 500 mg tablet (ceftriaxone sodium 500 mg)',
    });
    const potassium = `<code code="1" displayName="Potassium Chloride 20 MEQ Oral Tablet" ${RXNORM}>
      <originalText>potassium chloride</originalText></code>`;
    expect(drugOf(potassium)).toMatchObject({ text: 'potassium chloride' });
  });

  test('is what the document calls it beside a code without a name', () => {
    const unnamed = `<code code="7982" ${RXNORM}>${written('sig')}</code>`;
    expect(drugOf(`${unnamed}<name>Penicillin V</name>`)).toMatchObject({
      text: 'Penicillin V (as needed)',
    });
    expect(substanceOf(`${unnamed}<name>Penicillin V</name>`)).toMatchObject({
      text: 'Penicillin V (as needed)',
    });
    expect(
      drugOf(`<code code="7982" ${RXNORM}>${written('drug')}</code>`),
    ).toMatchObject({ text: 'Penicillin G' });
  });

  test('is no code and no placeholder', () => {
    const named = (display: string, words: string) =>
      substanceOf(
        `<code code="733" displayName="${display}" ${RXNORM}>
         <originalText>${words}</originalText></code>`,
      );
    expect(named('Ampicillin', '733')).toMatchObject({ text: 'Ampicillin' });
    expect(named('null', 'Ampicillin')).toMatchObject({ text: 'Ampicillin' });
  });

  test('is so for procedures, problems and findings too', () => {
    const coded = (element: string) =>
      `<${element} code="73761001" displayName="Colonoscopy" ${SNOMED}>
       <originalText>Polypectomy</originalText></${element.split(' ')[0]}>`;
    const procedure = `<procedure classCode="PROC" moodCode="EVN">${coded('code')}</procedure>`;
    const text = 'Colonoscopy (Polypectomy)';
    expect(madeOf('47519-4', procedure)?.code).toMatchObject({ text });
    expect(
      madeOf('11450-4', problem(coded('value xsi:type="CD"')))?.code,
    ).toMatchObject({ text });
  });
});

describe('a denial', () => {
  const disease = (words: string) =>
    `<value xsi:type="CD" code="64572001" displayName="Disease" ${SNOMED}>
     <originalText>${words}</originalText></value>`;

  test('means what its own words say, also beside the code of a kind', () => {
    const denied = (words: string) =>
      madeOf('11450-4', problem(disease(words), 'negationInd="true"'));
    expect(denied('No known problems')?.code).toMatchObject({
      text: 'No current problems or disability',
    });
    expect(denied('Anemia')).toMatchObject({
      code: { text: 'Anemia' },
      verificationStatus: { coding: [{ code: 'refuted' }] },
    });
  });

  test('stays one denial in other words', () => {
    const none = `<code code="716186003" displayName="No known allergy" ${SNOMED}>
      <originalText>NKDA</originalText></code>`;
    expect(substanceOf(none)).toMatchObject({ text: 'NKDA' });
  });
});
