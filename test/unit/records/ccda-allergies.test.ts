import { describe, expect, test } from 'vitest';
import { allergyReactions } from '../../../packages/record-summary/src/problems.ts';
import {
  convertedSections,
  LOINC,
  SNOMED,
  section,
  TEMPLATE,
} from '../../support/ccda-sections.ts';

const observation = (template: string, code: string, content: string) =>
  `<observation classCode="OBS" moodCode="EVN">
   <templateId root="${TEMPLATE}${template}"/>${code}${content}</observation>`;
const part = (type: string, content: string) =>
  `<entryRelationship typeCode="${type}">${content}</entryRelationship>`;
const coded = (code: string) =>
  `<value xsi:type="CD" code="${code}" ${SNOMED}/>`;

const severity = (value: string) =>
  part('SUBJ', observation('4.8', '<code code="SEV"/>', value));
const status = (value: string) =>
  part('REFR', observation('4.28', `<code code="33999-4" ${LOINC}/>`, value));
const reaction = (content: string) =>
  part('MFST', observation('4.9', '<code code="ASSERTION"/>', content));
const HIVES = `<value xsi:type="CD" code="126485001" displayName="Hives" ${SNOMED}/>`;
const ENDED =
  '<effectiveTime><low value="2001"/><high value="2003"/></effectiveTime>';

const PENICILLIN = `<participant typeCode="CSM"><participantRole><playingEntity>
  <code code="7980" displayName="Penicillin" codeSystem="2.16.840.1.113883.6.88"/>
  </playingEntity></participantRole></participant>`;
const allergy = (content: string) =>
  observation('4.7', '<code code="ASSERTION"/>', `${content}${PENICILLIN}`);
const concern = (state: string, content: string, more = '') =>
  `<act classCode="ACT" moodCode="EVN"><templateId root="${TEMPLATE}4.30"/>
   <statusCode code="${state}"/>${part('SUBJ', allergy(content))}${more}</act>`;
const converted = (entry: string) =>
  convertedSections(section('', '48765-2', `<entry>${entry}</entry>`))
    .resources[0] as Record<string, unknown> | undefined;

describe('an allergy', () => {
  test.each([
    ['active', ENDED, 'active'],
    ['completed', ENDED, 'resolved'],
    ['completed', `${ENDED}${status(coded('55561003'))}`, 'active'],
    ['active', `${ENDED}${status(coded('55561003'))}`, 'active'],
    ['active', `${ENDED}${status(coded('73425007'))}`, 'inactive'],
    [
      'active',
      status(
        '<value xsi:type="CD" nullFlavor="OTH"><originalText>Resolved</originalText></value>',
      ),
      'resolved',
    ],
    ['active', status('<text>Inactive</text>'), 'inactive'],
  ])(
    'in a concern that is %s has the status that is stated; a past end alone resolves nothing: "%s"',
    (state, content, is) => {
      expect(converted(concern(state, content))).toMatchObject({
        clinicalStatus: { coding: [{ code: is }] },
      });
    },
  );

  test('that is stated by itself with a past end goes on, with its end', () => {
    expect(converted(allergy(ENDED))).toMatchObject({
      clinicalStatus: { coding: [{ code: 'active' }] },
      extension: [{ valueDateTime: '2003' }],
    });
  });
});

describe('the severity of an allergy', () => {
  const reactionsOf = (content: string, ofConcern = '') =>
    converted(concern('active', content, ofConcern))?.reaction;
  const SEVERE = coded('24484000');
  const MILD = coded('255604002');

  test('stays without a reaction, whether the allergy or its concern states it', () => {
    const unstated = [
      { manifestation: [{ extension: [{ valueCode: 'unknown' }] }] },
    ];
    expect(reactionsOf(severity(SEVERE))).toMatchObject(unstated);
    expect(reactionsOf(severity(SEVERE))).toMatchObject([
      { severity: 'severe' },
    ]);
    expect(reactionsOf('', severity(SEVERE))).toMatchObject([
      { severity: 'severe' },
    ]);
    expect(allergyReactions({ reaction: reactionsOf(severity(SEVERE)) })).toBe(
      'severe',
    );
    expect(reactionsOf('')).toBeUndefined();
  });

  test('stays with a reaction that is not named', () => {
    const unnamed = '<value xsi:type="CD" nullFlavor="UNK"/>';
    expect(
      reactionsOf(reaction(`${unnamed}${severity(SEVERE)}`)),
    ).toMatchObject([{ severity: 'severe' }]);
    expect(reactionsOf(reaction(unnamed))).toBeUndefined();
  });

  test('is that of its reactions that state none (the guide)', () => {
    const both = `${severity(SEVERE)}${reaction(`${HIVES}${severity(MILD)}`)}${reaction(HIVES)}`;
    expect(reactionsOf(both)).toMatchObject([
      { manifestation: [{ text: 'Hives' }], severity: 'mild' },
      { manifestation: [{ text: 'Hives' }], severity: 'severe' },
    ]);
  });

  test('is the greatest of several', () => {
    expect(
      reactionsOf(reaction(`${HIVES}${severity(MILD)}${severity(SEVERE)}`)),
    ).toMatchObject([{ severity: 'severe' }]);
    expect(reactionsOf(`${severity(MILD)}${severity(SEVERE)}`)).toMatchObject([
      { severity: 'severe' },
    ]);
  });

  test('that is life threatening is severe, and its words are shown', () => {
    const threatening = reactionsOf(
      reaction(`${HIVES}${severity(coded('442452003'))}`),
    );
    expect(threatening).toMatchObject([
      { severity: 'severe', description: 'Severity: Life threatening' },
    ]);
    expect(allergyReactions({ reaction: threatening })).toBe(
      'Hives, severe, Severity: Life threatening',
    );
  });

  test.each([
    ['<value xsi:type="ST">Severe</value>', 'severe', undefined],
    [
      '<value xsi:type="CD" nullFlavor="UNK"/><text>moderate</text>',
      'moderate',
      undefined,
    ],
    [
      '<value xsi:type="CD" nullFlavor="OTH"><originalText>mild to moderate</originalText></value>',
      'moderate',
      undefined,
    ],
    [
      '<value xsi:type="ST">Life-threatening</value>',
      'severe',
      'Severity: Life-threatening',
    ],
    ['<value xsi:type="ST">High</value>', undefined, 'Severity: High'],
    ['<value xsi:type="ST">Unknown</value>', undefined, undefined],
  ])('is read from words: %s', (value, is, description) => {
    const [one] = reactionsOf(reaction(`${HIVES}${severity(value)}`)) as Record<
      string,
      unknown
    >[];
    expect(one?.severity).toBe(is);
    expect(one?.description).toBe(description);
  });
});
