import { type Json, objectsOf } from '../rules/json.ts';
import { conceptText, conceptTexts, firstDay, statusText, unique } from '../rules/words.ts';
import { isActive, isOfEncounter, onset, stateOf } from './condition.ts';
import { row } from './parts.ts';
import { type Denial, ORIGIN, type SectionRule } from './section.ts';
import { isSocial } from './social-findings.ts';

const hasProblem: Denial = (entry) =>
  entry.content.resourceType === 'Condition' && isActive(entry) && !isSocial(entry.content);

/** An allergy without a category may be one of those that are denied, so it contradicts the statement. */
const hasAllergy: Denial = (entry, { category }) => {
  const categories = Array.isArray(entry.content.category) ? entry.content.category : [];
  const isOfAnother = categories.length > 0 && !categories.includes(category);
  return (
    entry.content.resourceType === 'AllergyIntolerance' &&
    isActive(entry) &&
    (category === undefined || (category !== 'latex' && !isOfAnother))
  );
};

export const problems: SectionRule = {
  id: 'problems',
  title: 'Problems',
  empty: 'The sources have delivered no problems.',
  statements: { topic: 'problems', denies: hasProblem },
  tables: [
    {
      caption: 'Active problems',
      types: ['Condition'],
      columns: [{ title: 'Problem' }, { title: 'Since' }, { title: 'Status' }, ORIGIN],
      row: (entry) =>
        isActive(entry) && !isSocial(entry.content)
          ? row(conceptText(entry.content.code), onset(entry), stateOf(entry), entry.origin)
          : undefined,
    },
    {
      caption: 'Past problems',
      types: ['Condition'],
      columns: [{ title: 'Problem' }, { title: 'From' }, { title: 'Until' }, { title: 'Status' }, ORIGIN],
      row: (entry) =>
        isActive(entry) || isOfEncounter(entry) || isSocial(entry.content)
          ? undefined
          : row(
              conceptText(entry.content.code),
              onset(entry),
              firstDay(entry.content, 'abatementDateTime', 'abatementPeriod'),
              stateOf(entry),
              entry.origin,
            ),
    },
    {
      caption: 'Diagnoses at encounters, of which the sources do not say whether they are active',
      types: ['Condition'],
      columns: [{ title: 'Diagnosis' }, { title: 'Date' }, ORIGIN],
      row: (entry) =>
        isOfEncounter(entry) && !isSocial(entry.content)
          ? row(conceptText(entry.content.code), onset(entry), entry.origin)
          : undefined,
    },
  ],
};

export const allergyReactions = (content: Json): string =>
  objectsOf(content.reaction)
    .map((reaction) =>
      unique([conceptTexts(reaction.manifestation), statusText(reaction.severity)?.toLowerCase()]).join(', '),
    )
    .filter((text) => text !== '')
    .join('; ');

export const allergies: SectionRule = {
  id: 'allergies',
  title: 'Allergies and intolerances',
  empty: 'The sources have delivered no allergies; that does not mean that there are none.',
  statements: { topic: 'allergies', denies: hasAllergy },
  tables: [
    {
      caption: 'Allergies and intolerances, newest first',
      types: ['AllergyIntolerance'],
      columns: [
        { title: 'Substance' },
        { title: 'Reactions' },
        { title: 'Criticality' },
        { title: 'Status' },
        { title: 'Noted' },
        ORIGIN,
      ],
      row: ({ content, origin }) => {
        const criticality = statusText(content.criticality);
        return row(
          conceptText(content.code),
          allergyReactions(content),
          content.criticality === 'high' ? { text: 'High', tone: 'alert' } : criticality,
          stateOf({ content, origin }),
          firstDay(content, 'onsetDateTime', 'onsetPeriod', 'recordedDate'),
          origin,
        );
      },
    },
  ],
};
